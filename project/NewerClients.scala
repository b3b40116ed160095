import sbt.Keys._
import sbt._

/**
 * Runs what was compiled with the Kafka client of a Spark line with a newer one: a class path has only one, and other
 * dependencies of an application may bring it along.
 */
object NewerClients {

  /** The newest client that is supported. `ReflectiveProducer` has the range. */
  val version = "4.3.1"

  val runWithNewerClients = taskKey[Unit](s"Runs the main class with Kafka client $version")

  private val configuration = Configuration.of("NewerClients", "newerclients").hide

  val settings: Seq[Setting[_]] = Seq(
    ivyConfigurations += configuration,
    // What it depends on is part of Spark.
    libraryDependencies += ("org.apache.kafka" % "kafka-clients" % version % configuration).intransitive(),
    runWithNewerClients := {
      val newer = update.value.select(configurationFilter(configuration.name))
      val others = (Runtime / fullClasspath).value.files.filterNot(_.getName.startsWith("kafka-clients-"))
      val main = (Compile / run / mainClass).value.getOrElse(sys.error("no main class"))
      val jars = (newer ++ others).mkString(java.io.File.pathSeparator)
      val options =
        ForkOptions().withRunJVMOptions((run / javaOptions).value.toVector).withOutputStrategy(StdoutOutput)
      val code = Fork.java(options, Seq("-cp", jars, main))
      if (code != 0) sys.error(s"$main ended with $code")
    }
  )
}
