package io.github.dynamickafka.format

import java.{util => ju}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.schemaregistry.{
  LatestSchema,
  RegisteredSchema,
  RegistrySettings,
  SchemaCache,
  Subject,
  WireFormat
}

/** `schema=registry`: the columns of the newest schema of a subject. Asks registries. */
private[dynamickafka] object NewestSchemas {

  /**
   * The schema of the first subject, with which the records of all others have to be readable.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException SCHEMA_NOT_FOUND
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

/**
 * Decodes records that begin with the id of their schema in a registry.
 *
 * @param kind of the schemas
 * @param schemas the schema of an id in the registry of a cluster; None: the registry does not know the id
 * @param make what decodes the records with a schema, or the reason why they are bad
 * @tparam A what decodes the records with one schema; it is made once
 */
private[format] abstract class RegistryDecoder[A](
    kind: String,
    schemas: (String, Int) => Option[RegisteredSchema],
    make: RegisteredSchema => Either[String, A]
) extends Decoder {
  private val byCluster = new ju.HashMap[String, ju.HashMap[Integer, Either[String, A]]]
  private var cluster: String = _
  private var byId = new ju.HashMap[Integer, Either[String, A]]

  // Most records have the schema of the one before.
  private var lastId = 0
  private var last: Either[String, A] = _

  /** @param bytes of a record, with the header */
  protected def decode(of: A, bytes: Array[Byte], into: DecodedValues): DecodeFailure

  override def from(next: String): Unit = if (next ne cluster) {
    cluster = next
    byId = byCluster.computeIfAbsent(next, _ => new ju.HashMap)
    last = null
  }

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure =
    if (!WireFormat.hasHeader(bytes)) {
      into.clear()
      ConfluentHeader.Missing
    } else {
      val id = WireFormat.id(bytes)
      if ((last eq null) || id != lastId || (last eq RegistryDecoder.Unknown)) {
        last = of(id)
        lastId = id
      }
      val failure = last match {
        case Right(found) => decode(found, bytes, into)
        case Left(reason) =>
          into.clear()
          DecodeFailure(reason, None, unparsable = true)
      }
      if (failure eq null) null else failure.copy(schemaId = Some(id))
    }

  private def of(id: Int): Either[String, A] = {
    val known = byId.get(id)
    if (known ne null) known
    // Not kept, because the id may be registered later.
    else schemas(cluster, id).fold[Either[String, A]](RegistryDecoder.Unknown) { schema =>
      val made =
        if (schema.kind != kind) Left(s"its schema is of the type ${schema.kind}, not $kind")
        else make(schema)
      byId.put(id, made)
      made
    }
  }
}

private object RegistryDecoder {
  private val Unknown = Left("the schema registry does not know the id of its schema")
}

private[format] object SchemasById {

  /** The schema of an id in the registry of a cluster, for one task; None: the registry does not know the id. */
  def of(side: SideLayout): (String, Int) => Option[RegisteredSchema] = {
    val settings = new ju.HashMap[String, RegistrySettings]
    (cluster, id) =>
      SchemaCache.shared.schema(settings.computeIfAbsent(cluster, side.format.registries.of(_)), id)
  }
}

/** Decodes what follows the id of a schema by another decoder, for formats that do not need the schema. */
private[format] final class ConfluentHeader(payload: Decoder) extends Decoder {

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure =
    if (!WireFormat.hasHeader(bytes)) {
      into.clear()
      ConfluentHeader.Missing
    } else {
      val failure = payload.decode(ju.Arrays.copyOfRange(bytes, WireFormat.HeaderLength, bytes.length), into)
      if (failure eq null) null else failure.copy(schemaId = Some(WireFormat.id(bytes)))
    }
}

private[format] object ConfluentHeader {
  val Missing: DecodeFailure =
    DecodeFailure("it does not begin with the id of a schema in a registry", None, unparsable = true)
}
