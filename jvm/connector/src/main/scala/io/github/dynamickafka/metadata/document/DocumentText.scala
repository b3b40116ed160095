package io.github.dynamickafka.metadata.document

import scala.util.matching.Regex

import io.github.dynamickafka.build.BuildInfo

/** YAML or JSON text to nodes. JSON needs nothing beside Spark, YAML needs snakeyaml. */
private[document] object DocumentText {

  /** Throws [[Fault]]. */
  def tree(text: String): DocumentTree = {
    val content = text.stripPrefix("\uFEFF")
    val bracketed = content.dropWhile(_.isWhitespace).headOption.exists("{[".contains(_))
    val json = if (bracketed) JsonText.read(content) else None
    // What is not quite JSON may still be YAML, whose parser also names the line of an error.
    json.getOrElse {
      requireYaml()
      if (!bracketed) YamlText.refuseTabs(content)
      YamlText.read(if (bracketed) withoutJsonSpecials(content) else content)
        .getOrElse(refuse(None, "the document is empty"))
    }
  }

  def refuse(line: Option[Int], reason: String, cause: Throwable = null): Nothing =
    throw new Fault(Problem(line, Place(), reason), cause)

  private def requireYaml(): Unit =
    try {
      val _ = Class.forName("org.yaml.snakeyaml.Yaml", false, getClass.getClassLoader)
    } catch {
      case e @ (_: ClassNotFoundException | _: LinkageError) => refuse(
          None,
          "the document is not JSON, and YAML requires snakeyaml, which is not on the class path. Write the document in JSON, or " +
            s"add 'org.yaml:snakeyaml:${BuildInfo.snakeyaml}', for example to spark.jars.packages",
          e
        )
    }

  /** JSON has tabs between tokens and the escape `\/`, which YAML 1.1 does not have. */
  private def withoutJsonSpecials(text: String): String =
    Escape.replaceAllIn(
      text.replace('\t', ' '),
      m => Regex.quoteReplacement(if (m.matched == "\\/") "/" else m.matched)
    )

  private val Escape = """(?s)\\.""".r
}
