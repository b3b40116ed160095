import sbt.Keys._
import sbt._

/**
 * API documentation is made of the folders with a public definition, and takes what they refer to from the compiled classes: scaladoc
 * shows nothing of the other folders, and would spend most of its time on them.
 */
object PublicApi {
  private val Definition =
    "(?m)^(?:(?:final|sealed|abstract|case|implicit) )*(?:package )?(?:class|object|trait) ".r

  val settings: Seq[Setting[_]] = Seq(
    Compile / doc / sources ~= { files =>
      val shown =
        files.filter(file => Definition.findFirstIn(IO.read(file)).isDefined).map(_.getParentFile).toSet
      // Also its private parents, whose comments it inherits.
      files.filter(file => shown(file.getParentFile))
    },
    Compile / doc / dependencyClasspath ++= (Compile / products).value.map(Attributed.blank)
  )
}
