import sbt.Keys._
import sbt._

/**
 * The class paths of the brokers, one file per version, `jvm/testkit/target/brokers/<version>.classpath`, and the
 * list of versions; MirrorMaker's is `mirror-maker.classpath`. They are also resources, so that the testkit finds them in any JVM.
 *
 * A broker is a separate process with its own jars: the Kafka clients, Scala and Jackson of Spark do not conflict
 * with those of the broker, and several versions can run at the same time.
 */
object BrokerClasspaths {
  val brokerArchives = taskKey[Unit]("Makes the class data archive of each broker version, for fast starts")
  val brokerClasspaths = taskKey[File]("Writes the class path of each broker version to a file")

  private val archiveMaker = "io.github.dynamickafka.testkit.BrokerArchive"

  private val configurations: Map[String, Configuration] = Dependencies.brokerVersions.map { version =>
    val id = "Broker" + version.replace(".", "_")
    version -> Configuration.of(id, id.toLowerCase).hide
  }.toMap

  private val mirrorMaker = Configuration.of("MirrorMaker", "mirrormaker").hide

  val settings: Seq[Setting[_]] = Seq(
    ivyConfigurations ++= configurations.values.toSeq :+ mirrorMaker,
    libraryDependencies ++=
      Seq(Dependencies.mirrorMaker, Dependencies.brokerLogging).map(_ % mirrorMaker),
    libraryDependencies ++= configurations.toSeq.flatMap { case (version, configuration) =>
      Seq(
        Dependencies.broker(version) % configuration,
        Dependencies.brokerLogging % configuration
      )
    },
    brokerClasspaths := {
      val folder = target.value / "brokers"
      val report = update.value
      configurations.foreach { case (version, configuration) =>
        val jars = report.select(configurationFilter(configuration.name)).distinct
        IO.write(folder / s"$version.classpath", jars.mkString(java.io.File.pathSeparator))
        IO.write(folder / s"$version.archive", (target.value / "archives" / s"$version.jsa").getPath)
      }
      val mirrorJars = report.select(configurationFilter(mirrorMaker.name)).distinct
      IO.write(folder / "mirror-maker.classpath", mirrorJars.mkString(java.io.File.pathSeparator))
      IO.writeLines(folder / "versions", Dependencies.brokerVersions)
      folder
    },
    brokerArchives := {
      val classpath = (Runtime / fullClasspath).value.files
      val log = streams.value.log
      // A broker starts without the archive, too.
      Fork.java(
        ForkOptions(),
        Seq("-cp", classpath.mkString(java.io.File.pathSeparator), archiveMaker)
      ) match {
        case 0 => ()
        case code => log.warn(s"no class data archives: $archiveMaker ended with $code")
      }
    },
    Compile / managedResourceDirectories += target.value,
    Compile / resourceGenerators += brokerClasspaths.map(IO.listFiles(_).toSeq).taskValue,
    Compile / compile := (Compile / compile).dependsOn(brokerClasspaths).value
  )
}
