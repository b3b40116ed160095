import sbt.Keys._
import sbt._

/**
 * Runs what was compiled with the Kafka client of a Spark line with another one: a class path has only one, and a platform or other
 * dependencies of an application may bring theirs.
 */
object OtherClients {

  /** On the first line the newest client that is supported; `ReflectiveProducer` has the range. On the others that of Spark itself. */
  private def version = SparkLines.current.clientsOfOthers

  val runWithOtherClients =
    taskKey[Unit]("Runs the main class with another Kafka client than that of the Spark line")

  private val configuration = Configuration.of("OtherClients", "otherclients").hide

  def settings: Seq[Setting[_]] = Seq(
    ivyConfigurations += configuration,
    // What it depends on is part of Spark.
    libraryDependencies += ("org.apache.kafka" % "kafka-clients" % version % configuration).intransitive(),
    runWithOtherClients := {
      val clients = update.value.select(configurationFilter(configuration.name))
      val others = (Runtime / fullClasspath).value.files.filterNot(_.getName.startsWith("kafka-clients-"))
      val main = (Compile / run / mainClass).value.getOrElse(sys.error("no main class"))
      val jars = (clients ++ others).mkString(java.io.File.pathSeparator)
      val options =
        ForkOptions().withRunJVMOptions((run / javaOptions).value.toVector).withOutputStrategy(StdoutOutput)
      val code = Fork.java(options, Seq("-cp", jars, main))
      if (code != 0) sys.error(s"$main ended with $code")
    }
  )
}
