package io.github.dynamickafka.admin

import java.io.{FileInputStream, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path => LocalPath}
import java.util.Properties

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileUtil, Path, UnsupportedFileSystemException}

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.kafka.ClusterClients
import io.github.dynamickafka.option.Suggestions
import io.github.dynamickafka.source.checkpoint.Refusal
import io.github.dynamickafka.source.cluster.ClusterConfigs

/**
 * The command line, run by `java -cp` with the jars of Spark and of the connector; `python -m dynamic_kafka` finds them. Results go to
 * standard output, reasons to standard error. Wrong usage exits with 2.
 */
private[dynamickafka] object Main {

  def main(arguments: Array[String]): Unit = {
    // Commands report failures themselves, and the start of log4j takes a quarter of their time.
    if (!sys.props.contains("log4j2.configurationFile")) {
      sys.props("slf4j.provider") = "org.slf4j.helpers.NOP_FallbackServiceProvider"
      sys.props("slf4j.internal.verbosity") = "ERROR"
    }
    val out = new PrintStream(System.out, true, UTF_8)
    // For anything that a library prints.
    System.setOut(System.err)
    val err = new PrintStream(System.err, true, UTF_8)
    val exitCode = new Main(out, err, Commands.all, hadoop, Context.ofFile).run(arguments.toSeq)
    out.flush()
    sys.exit(exitCode)
  }

  /** Hadoop's settings among those of Spark, as an application that spark-submit starts has them. */
  private def hadoop: Configuration = {
    val folder = sys.env.get("SPARK_CONF_DIR").orElse(sys.env.get("SPARK_HOME").map(_ + "/conf"))
    val file = folder.map(LocalPath.of(_, "spark-defaults.conf")).filter(Files.isRegularFile(_))
    val defaults = new Properties
    file.foreach(f => Using.resource(new FileInputStream(f.toFile))(defaults.load(_)))
    val own = new Configuration
    (defaults.asScala ++ sys.props).foreach { case (name, value) =>
      if (name.startsWith(SparkHadoop)) own.set(name.stripPrefix(SparkHadoop), value.trim)
    }
    own
  }

  private val SparkHadoop = "spark.hadoop."
  private val IntervalMs = 2000L
  private val LoadMs = 60000L

  /** The jars of the connector, where spark-submit has found them. For the launcher. */
  private val JarsOfSubmit = "jars-of-submit"

  /** Runs commands without a cluster, so that the launcher can make an archive of the classes that they need. */
  private val LoadClasses = "load-classes"
  private val Document =
    "version: 1\nclusters: {a: {properties: {bootstrap.servers: 'a:1'}}}\n" +
      "streams: {a: {clusters: {a: {topics: [a], starting_offsets: {a: {0: 1}}}}}}\n"
  private val Logged =
    """v1
      |{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}
      |{"version":2,"clusters":{"a":{"a":{"0":1}}}}""".stripMargin

  // Options of every command.
  private val Jars = Parameter(
    "jars",
    Kind.Jars,
    "The connector's jar and those it needs, or their folder, separated by commas",
    Some("NULL")
  )
  private val AsJson = Parameter.flag("json", "Print JSON for programs")
  private val Help = Parameter.flag("help", "Print this text")
}

/**
 * @param contextOf creates what a command works with, given its metadata file and the limit of a request
 */
private[admin] final class Main(
    out: PrintStream,
    err: PrintStream,
    commands: Seq[Command],
    hadoop: => Configuration,
    contextOf: (Option[String], Option[Long], () => Configuration) => Context
) {
  import Main._

  private val known = commands.filter(_.isCommand)

  /** Only for commands that need it: its creation starts the logging. */
  private lazy val configuration = hadoop

  /** @return the exit code */
  def run(arguments: Seq[String]): Int =
    try
      arguments.toList match {
        case List("--version") => print(s"dynamic-kafka ${BuildInfo.version}")
        case List(JarsOfSubmit) => print(sys.props.getOrElse("spark.jars", ""))
        case List(LoadClasses) => loadClasses()
        case ("--help" | "-h") :: _ => print(helpOfAll)
        case Nil =>
          err.println(helpOfAll)
          2
        case name :: more => known.find(_.commandName == name).fold(unknown(name))(run(_, more))
      }
    catch {
      case e: WrongUsage =>
        err.println(s"Error: ${e.getMessage}")
        2
      case e: LinkageError => failed(Seq(
          s"a class is missing (${e.getMessage}). The command needs the connector's jar, kafka-clients, spark-sql-kafka-0-10, " +
            "spark-token-provider-kafka-0-10 and commons-pool2, as a query does"
        ))
      case e: ExitCode => failed(Command.reasons(e), e.code)
      case NonFatal(e) => failed(Command.reasons(e))
    }

  private def run(command: Command, words: Seq[String]): Int =
    if (words.exists(Set("--help", "-h"))) print(help(command))
    else {
      val values = parse(command, words)
      val arguments = new Arguments(values)
      val (watch, asJson) = (arguments.has(Parameter.Watch), arguments.has(AsJson))
      if (watch && asJson) throw new WrongUsage("--watch has no --json: run the command repeatedly")
      command.onLine.filter(p => p.kind == Kind.Path || p.kind == Kind.MetadataFile).foreach(p =>
        values.get(p.name).foreach(value => refuseMissing(p, value.toString))
      )
      val files = command.onLine.filter(_.kind == Kind.MetadataFile)
      val context = contextOf(
        files.flatMap(arguments.get(_)).headOption.map(_.toString),
        arguments.get(Parameter.Timeout),
        () => configuration
      )
      def result() = command.run(context, arguments)
      if (watch) repeat(() => result().text)
      else {
        val found = result()
        val shown = if (asJson) Json.pretty(found.json) else found.text
        if (shown.nonEmpty) out.println(shown)
        (if (asJson) found.reasonsWithJson else found.reasons).foreach(reason => err.println(reason))
        found.exitCode
      }
    }

  /** Shows the text on the screen, until the process is interrupted. A failure is shown until the next time. */
  @tailrec
  private def repeat(text: () => String, isFirst: Boolean = true): Int = {
    if (isFirst) sys.addShutdownHook(Runtime.getRuntime.halt(0))
    val shown =
      try text()
      catch { case NonFatal(e) => Command.reasons(e).mkString("\n") }
    // Without a terminal, the texts follow each other.
    if (System.console != null) out.print("\u001b[H\u001b[2J")
    out.println(shown)
    Thread.sleep(IntervalMs)
    repeat(text, isFirst = false)
  }

  private def parse(command: Command, words: Seq[String]): Map[String, Any] = {
    val (positional, options) = all(command).partition(_.isPositional)

    def valueOf(p: Parameter[_], text: String, call: Map[String, Any]): Map[String, Any] = {
      val value: Any = p.kind.of(text).fold(
        expected => throw new WrongUsage(s"the value '$text' of ${p.lineName} is not $expected"),
        identity
      )
      call.updated(
        p.name,
        (call.get(p.name), value) match {
          case (Some(before: Seq[Any @unchecked]), more: Seq[Any @unchecked]) => before ++ more
          case (Some(_), _) if p.kind != Kind.Flag => throw new WrongUsage(s"${p.lineName} is given twice")
          case (_, one) => one
        }
      )
    }

    @tailrec
    def next(rest: List[String], places: List[Parameter[_]], call: Map[String, Any]): Map[String, Any] =
      rest match {
        case Nil =>
          (places ++ options.filter(p => p.isRequired && !call.contains(p.name))).headOption
            .foreach(p => throw new WrongUsage(s"${p.lineName} is missing: ${help(p)}"))
          call
        case "--" :: more if more.size <= places.size =>
          next(
            Nil,
            places.drop(more.size),
            places.zip(more).foldLeft(call) { case (c, (p, v)) => valueOf(p, v, c) }
          )
        case option :: more if option.startsWith("--") =>
          val (name, inline) = option.split("=", 2) match {
            case Array(n, v) => (n, Some(v))
            case _ => (option, None)
          }
          def value = inline.orElse(more.headOption).getOrElse(throw new WrongUsage(s"$name needs a value"))
          def after = if (inline.isDefined) more else more.drop(1)
          options.find(_.lineName == name) match {
            case Some(p) if p.kind == Kind.Flag && inline.isEmpty =>
              next(more, places, valueOf(p, "true", call))
            case Some(p) => next(after, places, valueOf(p, value, call))
            case None => throw new WrongUsage(
                s"'${command.commandName}' has no option $name." +
                  Suggestions.didYouMean(name, options.map(_.lineName))
              )
          }
        case value :: more => places match {
            case place :: others => next(more, others, valueOf(place, value, call))
            case _ => throw new WrongUsage(s"'$value' is one argument too many. ${usage(command)}")
          }
      }

    val call = next(words.toList, positional.toList, Map.empty)
    val defaults = options.flatMap(p =>
      p.default.filterNot(_ == "NULL").flatMap(p.kind.of(_).toOption).map(p.name -> (_: Any))
    )
    defaults.toMap ++ call
  }

  private def refuseMissing(p: Parameter[_], value: String): Unit = {
    val path = new Path(value)
    // Hadoop takes longer to start than to read a local file.
    val isLocal = path.toUri.getScheme == null && Files.exists(LocalPath.of(value))
    def exists =
      try path.getFileSystem(configuration).exists(path)
      catch {
        case NonFatal(e) =>
          val why = (e, e.getCause) match {
            case (_: UnsupportedFileSystemException, _) | (_, _: ClassNotFoundException) =>
              s"the file system of ${path.toUri.getScheme}: is in no jar. Its jars have to be in Spark's folder 'jars' or in --jars " +
                s"(${e.getMessage})"
            case _ => FailureText.of(e)
          }
          throw new Refusal(s"${p.lineName} '$value' cannot be read: $why", e)
      }
    if (!isLocal && !exists)
      throw new WrongUsage(s"${p.lineName} '$value' does not exist")
    if (isLocal && p.kind == Kind.MetadataFile && Files.isDirectory(LocalPath.of(value)))
      throw new WrongUsage(s"${p.lineName} '$value' is a folder")
  }

  private def unknown(name: String): Int = throw new WrongUsage(
    if (name.startsWith("-")) s"the command is missing before $name. --help lists the commands"
    else s"there is no command '$name'." + Suggestions.didYouMean(name, known.map(_.commandName)) +
      " --help lists the commands"
  )

  private def failed(reasons: Seq[String], exitCode: Int = 1): Int = {
    reasons.foreach(reason => err.println(reason))
    exitCode
  }

  private def print(text: String): Int = {
    out.println(text)
    0
  }

  private def all(command: Command): Seq[Parameter[_]] = command.onLine ++ Seq(AsJson, Jars, Help)

  private def helpOfAll: String = {
    val width = known.map(_.commandName.length).max
    val lines = known.map(c => s"  ${c.commandName.padTo(width, ' ')}  ${firstSentence(c.description)}")
    (Seq(
      "Usage: COMMAND [OPTIONS] ARGUMENTS",
      "",
      "Inspects and changes metadata files and checkpoints of Dynamic Kafka for Spark. No command prints a secret.",
      "'COMMAND --help' describes a command, '--version' prints the version.",
      ""
    ) ++ lines).mkString("\n")
  }

  private def firstSentence(text: String) = text.split("\\. ", 2).head.stripSuffix(".")

  private def usage(command: Command): String = {
    val required = command.onLine.filter(_.isRequired).map(entry)
    s"Usage: ${(command.commandName +: required :+ "[OPTIONS]").mkString(" ")}"
  }

  private def entry(p: Parameter[_]) =
    if (p.isPositional) p.lineName else s"${p.lineName} ${p.kind.metavar}".trim

  private def help(command: Command): String = {
    val entries = all(command).map(p => entry(p) -> help(p))
    val width = entries.map(_._1.length).max
    (Seq(usage(command), "", s"${command.description.stripSuffix(".")}.", "") ++
      entries.map { case (name, text) => s"  ${name.padTo(width, ' ')}  $text" }).mkString("\n")
  }

  private def help(p: Parameter[_]): String =
    p.comment + p.default.filterNot(d => d == "NULL" || d == "false").fold("")(d => s" (default: $d)")

  private def loadClasses(): Int = {
    val folder = Files.createTempDirectory("dynamic-kafka")
    try {
      val file = Files.writeString(folder.resolve("streams.yaml"), Document).toString
      val _ = Files.writeString(Files.createDirectory(folder.resolve("offsets")).resolve("0"), Logged)
      val commands = Seq(
        Seq("validate", file),
        Seq("streams", file),
        Seq("offsets", folder.toString, "--no-lag"),
        Seq("offsets", folder.toString, "--no-lag", "--json")
      )
      val exitCodes = commands.map(run)
      val context = contextOf(Some(file), Some(1L), () => configuration)
      val config = ClusterConfigs(context.catalog.reading, Set("a"))(
        "a",
        Map("bootstrap.servers" -> "127.0.0.1:1")
      )
      val client = ClusterClients.admin(config.properties.admin)
      val _ = client.await(LoadMs)
      client.close()
      exitCodes.max
    } finally {
      val _ = FileUtil.fullyDelete(folder.toFile)
    }
  }
}
