import scala.sys.process.{Process, ProcessLogger}

import sbt.Keys._
import sbt._

/**
 * The command `mutation offset sink/commit`: the share of mutants that the suites of the same package notice, and those
 * that they do not. Stryker4s makes the mutants. Its plugin does not run here: docs/dev/test-quality.md.
 */
object Mutation extends AutoPlugin {
  override def trigger = allRequirements
  override def globalSettings: Seq[Setting[_]] = Seq(commands += mutation)

  private val connector = LocalProject("connector")
  // With suites about classes of the connector, and the connector's suites on its class path.
  private val admin = LocalProject("admin")
  private val root = "io/github/dynamickafka/"
  private val GraceMs = 15000L

  private lazy val mutation = Command.args("mutation", "<package>...") { (state, packages) =>
    val extracted = Project.extract(state)
    val folder =
      extracted.get(ThisBuild / baseDirectory) / "target" / "mutation" / packages.mkString("-").replace(
        '/',
        '.'
      )
    val sources = extracted.get(connector / Compile / scalaSource)
    val mutants = new Mutants(sources, folder / "sources", packages.map(root + _), state.log)
    val classpath = value(state, admin / Test / fullClasspath).files
    val compiler = Seq("java", "-Xss4m", "-XX:+UseSerialGC") ++
      classpathOf(value(state, connector / scalaInstance).allJars.toSeq) ++
      Seq("scala.tools.nsc.Main", "-nowarn", "-d", (folder / "classes").toString) ++ classpathOf(classpath)
    val broken = compile(compiler, folder / "classes", mutants, Set.empty, state.log)
    val worker = extracted.get(ThisBuild / baseDirectory) / "project" / "mutation" / "Worker.java"
    val run = ("java" +: value(state, connector / Test / javaOptions)) ++
      classpathOf((folder / "classes") +: classpath) :+ worker.toString
    val suites = Seq(connector, admin).flatMap(project => value(state, project / Test / definedTests))
      .map(_.name).groupBy(_.split('.').init.mkString("."))
    val lines = mutants.all.groupBy(_.pkg).toSeq.sortBy(_._1).flatMap { case (pkg, of) =>
      val workers = new Workers(run, suites(pkg))
      try report(
          pkg,
          of,
          broken,
          verdicts(pkg, of.filterNot(m => broken(m.id)), suites(pkg), workers, state.log)
        )
      finally workers.close()
    }
    lines.foreach(println)
    IO.writeLines(folder / "report.txt", lines)
    state
  }

  private def classpathOf(files: Seq[File]) = Seq("-cp", files.mkString(java.io.File.pathSeparator))

  private def value[A](state: State, key: TaskKey[A]): A = Project.runTask(key, state) match {
    case Some((_, Value(result))) => result
    case other => sys.error(s"${key.key.label}: $other")
  }

  /**
   * Compiles the sources with all mutants against the classes without any, and again without the mutants that have
   * errors.
   */
  @annotation.tailrec
  private def compile(
      command: Seq[String],
      classes: File,
      mutants: Mutants,
      without: Set[Int],
      log: Logger
  ): Set[Int] = {
    IO.delete(classes)
    IO.createDirectory(classes)
    var output = Vector.empty[String]
    val exit = Process(command ++ mutants.write(without).map(_.toString)) !
      ProcessLogger(line => output.synchronized(output :+= line))
    if (exit == 0) without
    else {
      val broken = errors(output).flatMap { case (file, line, column) =>
        mutants.at(file, line, column)
      }.toSet -- without
      if (broken.isEmpty) sys.error(output.mkString("no mutant has made these errors:\n", "\n", ""))
      log.info(s"${broken.size} mutants do not compile")
      compile(command, classes, mutants, without ++ broken, log)
    }
  }

  /** The file, the line and the column of each error: `^` marks the column two lines below, or later. */
  private def errors(output: Seq[String]): Seq[(File, Int, Int)] = output.tails.flatMap {
    case Error(path, line) +: rest =>
      rest.takeWhile(Error.findFirstIn(_).isEmpty).find(_.trim == "^").map(mark =>
        (file(path), line.toInt, mark.indexOf('^'))
      )
    case _ => None
  }.toSeq

  private val Error = """^(/.+\.scala):(\d+): error: .*""".r

  private def verdicts(
      pkg: String,
      mutants: Seq[Change],
      suites: Seq[String],
      workers: Workers,
      log: Logger
  ): Seq[(Change, Verdict)] = {
    val limits = suites.map { suite =>
      workers.run(-1, suite, 10 * 60 * 1000L) match {
        case (Verdict.Survived, ms) => suite -> ms
        case (verdict, _) => sys.error(s"$suite without any mutant: $verdict")
      }
    }.sortBy(_._2).map { case (suite, ms) => suite -> (GraceMs + 3 * ms) }
    // The suite that killed the last mutant comes first, because it often kills its neighbours, then the short ones.
    var order = limits
    mutants.zipWithIndex.map { case (mutant, i) =>
      val ended = order.iterator.map { case (suite, limitMs) =>
        workers.run(mutant.id, suite, limitMs)._1 -> suite
      }
        .find(_._1 != Verdict.Survived)
      ended.foreach { case (_, suite) => order = order.sortBy(_._1 != suite) }
      val verdict = ended.fold[Verdict](Verdict.Survived)(_._1)
      log.info(s"$pkg ${i + 1}/${mutants.size}: $verdict, ${mutant.text}")
      mutant -> verdict
    }
  }

  private def report(
      pkg: String,
      all: Seq[Change],
      broken: Set[Int],
      of: Seq[(Change, Verdict)]
  ): Seq[String] = {
    val survived = of.collect { case (mutant, Verdict.Survived) => mutant.text }
    val late = of.count(_._2 == Verdict.TimedOut)
    val score = 100.0 * (of.size - survived.size) / of.size
    f"$pkg: ${of.size} mutants, ${of.size - survived.size - late} killed, $late timed out, ${survived.size} survived: $score%.1f %%" +:
      (survived.map("  survived       " + _) ++
        all.filter(m => broken(m.id)).map("  does not compile  " + _.text))
  }
}
