import better.files.{File => BetterFile}
import sbt._
import stryker4s.config.Config
import stryker4s.log.Logger
import stryker4s.model.MutationsInSource
import stryker4s.mutants.findmutants.{MutantFinder, MutantMatcher}

/** @param text the place, the code, and what it is changed to */
final case class Change(id: Int, pkg: String, text: String)

/** The mutants that Stryker4s finds in some packages, and a copy of the sources with all of them. */
final class Mutants(sources: File, copy: File, packages: Seq[String], log: sbt.util.Logger) {
  private implicit val config: Config = Config.default.copy(excludedMutations = Mutants.Excluded)
  private implicit val logger: Logger = new ToSbt(log)

  private val found: Seq[(File, MutationsInSource)] = {
    val finder = new MutantFinder(new MutantMatcher)
    packages.flatMap(p =>
      IO.listFiles(sources / p).toSeq.filterNot(f => Mutants.OnBrokers(f.getName)).sorted
    ).map {
      file => file -> finder.mutantsInFile(BetterFile(file.toPath))
    }
  }

  val all: Seq[Change] = found.flatMap { case (file, in) =>
    in.mutants.map { m =>
      val line = m.original.pos.startLine + 1
      val pkg = IO.relativize(sources, file.getParentFile).get.replace('/', '.')
      Change(m.id, pkg, s"${file.getName}:$line  ${short(m.original.syntax)}  ->  ${short(m.mutated.syntax)}")
    }
  }

  private def short(code: String) = {
    val line = code.linesIterator.map(_.trim).mkString(" ")
    if (line.length <= 100) line else line.take(100) + "..."
  }

  /** Writes the sources that have mutants, without those that do not compile. */
  def write(without: Set[Int]): Seq[File] = {
    IO.delete(copy)
    found.map { case (file, in) =>
      val to = copy / IO.relativize(sources, file).get
      IO.write(to, Schemata(IO.read(file), in.mutants.filterNot(m => without(m.id))))
      to
    }
  }

  /** The mutant whose code has this place of the copy. */
  def at(file: File, line: Int, column: Int): Option[Int] = {
    val (before, from) = IO.readLines(file).splitAt(line - 1)
    val text = (before :+ from.head.take(column)).mkString("\n")
    Schemata.Active.findAllMatchIn(text).map(_.group(1).toInt).toSeq.lastOption
  }
}

object Mutants {

  /** Texts of logs and errors, whose words are not tested. */
  private val Excluded = Set("StringLiteral")

  /** Files whose tests need brokers. */
  private val OnBrokers = Set("KafkaTransactionAdmin.scala")
}

private final class ToSbt(log: sbt.util.Logger) extends Logger {
  override def debug(msg: => String): Unit = ()
  override def debug(msg: => String, e: Throwable): Unit = ()
  override def debug(e: Throwable): Unit = ()
  override def info(msg: => String): Unit = log.info(msg)
  override def info(msg: => String, e: Throwable): Unit = log.info(msg)
  override def info(e: Throwable): Unit = log.info(e.toString)
  override def warn(msg: => String): Unit = log.warn(msg)
  override def warn(msg: => String, e: Throwable): Unit = log.warn(msg)
  override def warn(e: Throwable): Unit = log.warn(e.toString)
  override def error(msg: => String): Unit = log.error(msg)
  override def error(msg: => String, e: Throwable): Unit = log.error(msg)
  override def error(e: Throwable): Unit = log.error(e.toString)
}
