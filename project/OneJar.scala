import com.typesafe.tools.mima.plugin.MimaKeys.mimaCurrentClassfiles
import sbt.Keys._
import sbt._

/**
 * Puts modules, projects with a class path of their own, into the one artifact that is published: their classes, sources and API
 * documentation are in the jars of this project, and the POM does not name them. Modules may depend on this project: they are compiled
 * against its classes, not its jar.
 */
object OneJar {

  def apply(modules: ProjectReference*): Seq[Setting[_]] = modules.flatMap(module =>
    Seq[Setting[_]](
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
  )
}
