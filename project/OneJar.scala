import com.typesafe.tools.mima.plugin.MimaKeys.mimaCurrentClassfiles
import sbt.Keys._
import sbt._

/**
 * Puts a module, a project with a class path of its own, into the one artifact that is published: its classes, sources and API
 * documentation are in the jars of this project, and the POM does not name it.
 */
object OneJar {

  def apply(module: Project): Seq[Setting[_]] = Seq(
    // What the module depends on is part of Spark.
    projectDependencies := {
      val name = (module / moduleName).value
      projectDependencies.value.filterNot(_.name == name)
    },
    Compile / packageBin / mappings ++= (module / Compile / packageBin / mappings).value,
    Compile / packageSrc / mappings ++= (module / Compile / packageSrc / mappings).value,
    Compile / doc / sources ++= (module / Compile / doc / sources).value,
    mimaCurrentClassfiles := (Compile / packageBin).value
  )
}
