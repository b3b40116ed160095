import sbt.Keys._
import sbt._

/** Writes the class path for `java -cp` to a file, to run the testkit without a build tool. */
object TestkitClasspath {
  val testkitClasspath = taskKey[File]("Writes the class path of the testkit's server to a file")

  val settings: Seq[Setting[_]] = Seq(
    testkitClasspath := {
      val file = target.value / "testkit.classpath"
      // A jar, because a driver whose class path has a directory cannot use Spark's class data archive.
      val jars = (Compile / packageBin).value +: (Runtime / dependencyClasspath).value.files
      IO.write(file, jars.mkString(java.io.File.pathSeparator))
      file
    }
  )
}
