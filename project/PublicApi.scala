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
    Compile / doc / dependencyClasspath ++= (Compile / products).value.map(Attributed.blank),
    // In the jar too, the pages open at the entry: scaladoc's first page has nothing but the package `io`.
    Compile / doc ~= { folder =>
      val entry = "io/github/dynamickafka/DynamicKafka$.html"
      IO.write(folder / "index.html", s"""<meta http-equiv="refresh" content="0; url=$entry">""")
      folder
    }
  )
}
