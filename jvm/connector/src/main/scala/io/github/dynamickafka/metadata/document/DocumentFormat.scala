package io.github.dynamickafka.metadata.document

/**
 * What a document says about the format of records, as options of the data source. Names and values are checked where they are
 * used. Values of a registry may be secrets.
 */
private[metadata] object DocumentFormat {
  val Registry = "registry"
  private val Options = "options"
  private val Names = Map("format" -> "format", "key_format" -> "keyFormat", "schema" -> "schema")
  private val KeyFields = "key_fields"

  val Keys: Seq[String] = Seq("format", "key_format", KeyFields, "schema", Registry, Options)

  /** @param fields of a stream */
  def options(fields: Map[String, DocumentNode]): Map[String, String] = {
    val further = fields.get(Options).toSeq.flatMap(_.items("option").map { case (name, node) =>
      name -> node.scalar
    })
    val texts = Names.toSeq.flatMap { case (key, option) =>
      fields.get(key).map(option -> DocumentParts.notBlank(_))
    }
    val keys = fields.get(KeyFields).map(node =>
      "keyFields" -> (if (node.isList) names(node) else DocumentParts.notBlank(node))
    )
    (further ++ texts ++ keys).toMap ++ fields.get(Registry).fold(Map.empty[String, String])(registry)
  }

  /** The address, or a map of the options. */
  def registry(node: DocumentNode): Map[String, String] =
    if (node.isMapping) node.items("option").map { case (name, value) =>
      s"$Registry.$name" -> value.scalar
    }.toMap
    else Map(s"$Registry.url" -> DocumentParts.notBlank(node))

  def isRegistry(option: String): Boolean = option.startsWith(s"$Registry.")

  def hasRegistry(options: Map[String, String]): Boolean = options.keys.exists(isRegistry)

  /** Why a cluster cannot have a format. */
  val OneFormat: String =
    "the records of a stream have one format on all clusters; make a stream for those of another format. A cluster can have a registry"

  private def names(node: DocumentNode): String = {
    val found = node.elements.map(DocumentParts.notBlank)
    if (found.isEmpty) node.fail("must contain at least one field")
    found.mkString(";")
  }
}
