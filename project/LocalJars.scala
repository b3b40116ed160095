import sbt.Keys._
import sbt._

/**
 * Copies the connector and its dependencies that are not part of Spark to one directory, for sessions that get jars by
 * path, as in the demo and the tests. `spark.jars.packages` with the coordinate resolves to the same jars.
 */
object LocalJars {
  val localJars =
    taskKey[File]("Copies the connector's jar and its dependencies that are not part of Spark to target/jars")

  private val besideSpark =
    Seq("spark-sql-kafka-0-10", "spark-token-provider-kafka-0-10", "kafka-clients", "commons-pool2")

  val settings: Seq[Setting[_]] = Seq(
    localJars := {
      val folder = target.value / "jars"
      val needed = (Runtime / dependencyClasspath).value.map(_.data).filter { jar =>
        besideSpark.exists(name => jar.getName.matches(name + "(_2\\.13)?-\\d.*\\.jar"))
      }
      if (needed.size != besideSpark.size) sys.error(s"expected $besideSpark, found ${needed.map(_.getName)}")
      val jars = (Compile / packageBin).value +: needed
      IO.delete((folder ** "*.jar").get.filterNot(old => jars.exists(_.getName == old.getName)))
      jars.foreach(jar => IO.copyFile(jar, folder / jar.getName, preserveLastModified = true))
      folder
    }
  )
}
