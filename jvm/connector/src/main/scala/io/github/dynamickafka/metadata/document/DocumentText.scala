package io.github.dynamickafka.metadata.document

import scala.util.matching.Regex

import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.error.Errors

/** YAML or JSON text to nodes. JSON needs nothing beside Spark, YAML needs snakeyaml. */
private[metadata] object DocumentText {

  /** @param origin what the text is, for error texts: `file s3a://conf/streams.yaml` */
  def read(text: String, origin: String): DocumentNode =
    tree(text, origin).map(DocumentNode.root(_, origin)).getOrElse(
      throw Errors.metadataInvalid(origin, "the document is empty")
    )

  /** None: the document is empty. */
  private[document] def tree(text: String, origin: String): Option[DocumentTree] = {
    val content = text.stripPrefix("\uFEFF")
    val bracketed = content.dropWhile(_.isWhitespace).headOption.exists("{[".contains(_))
    val json = if (bracketed) JsonText.read(content) else None
    // What is not quite JSON may still be YAML, whose parser also names the line of an error.
    json.orElse {
      requireYaml(origin)
      val yaml = new YamlText(origin)
      if (!bracketed) yaml.refuseTabs(content)
      yaml.read(if (bracketed) withoutJsonSpecials(content) else content)
    }
  }

  private def requireYaml(origin: String): Unit =
    try {
      val _ = Class.forName("org.yaml.snakeyaml.Yaml", false, getClass.getClassLoader)
    } catch {
      case e @ (_: ClassNotFoundException | _: LinkageError) =>
        throw Errors.metadataInvalid(
          origin,
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
