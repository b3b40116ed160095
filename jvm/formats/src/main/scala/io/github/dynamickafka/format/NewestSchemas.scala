package io.github.dynamickafka.format

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.schemaregistry.{LatestSchema, RegisteredSchema, SchemaCache, Subject}

/** `schema=registry`: the columns of the newest schema of a subject. Asks registries. */
private[dynamickafka] object NewestSchemas {

  /**
   * For writing.
   *
   * @param subjects of one format
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException SCHEMA_NOT_FOUND
   */
  def first(format: Format, subjects: Seq[Subject]): DeclaredSchema =
    columns(SideFormat(format), newest(subjects.headOption.getOrElse(throw nothing)))

  /**
   * For reading: the schema of the first subject, with which the records of all others have to be readable.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_SCHEMA
   */
  def common(format: SideFormat, subjects: Seq[Subject]): DeclaredSchema = {
    val first = newest(subjects.headOption.getOrElse(throw nothing))
    // A subject that has no schema yet has no records.
    subjects.tail.flatMap(find).foreach(refuse(format, first, _))
    columns(format, first)
  }

  private final case class Found(subject: Subject, latest: LatestSchema) {
    def schema: RegisteredSchema = latest.schema
    override def toString: String =
      s"version ${latest.version} of subject '${subject.name}' (cluster '${subject.registry.cluster}')"
  }

  private def find(subject: Subject): Option[Found] =
    SchemaCache.shared.latest(subject.registry, subject.name).map(Found(subject, _))

  private def newest(subject: Subject): Found = find(subject).getOrElse(
    throw Errors.schemaNotFound(
      subject.registry.shown,
      subject.registry.cluster,
      subject.name,
      "it has no version"
    )
  )

  private def nothing = Errors.invalidSchema("the streams have no cluster.")

  private def columns(side: SideFormat, found: Found): DeclaredSchema = {
    val expected = schemasOf(side.format)
    def invalid(reason: String) = Errors.invalidSchema(s"$found: $reason")
    if (found.schema.kind != expected.kind)
      throw invalid(
        s"it has the type ${found.schema.kind}, but the format '${side.format.name}' requires ${expected.kind}."
      )
    expected.columns(found.schema, side).fold(
      reason => throw invalid(reason),
      _.copy(registered = Some(found.schema))
    )
  }

  private def schemasOf(format: Format): FormatRegistry =
    format.registry.getOrElse(throw new IllegalArgumentException(s"${format.name} has no registry"))

  /** Refuses a schema that does not resolve to the first one. */
  private def refuse(side: SideFormat, first: Found, other: Found): Unit =
    schemasOf(side.format).difference(columns(side, first), columns(side, other)).foreach(text =>
      throw Errors.invalidSchema(s"records of $other cannot be read with $first: $text.")
    )
}
