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
    val first = subjects.headOption.getOrElse(throw Errors.invalidSchema("the streams have no cluster."))
    val wanted = find(first).getOrElse(
      throw Errors.schemaNotFound(
        first.registry.shown,
        first.registry.cluster,
        first.name,
        "it has no version"
      )
    )
    val declared = columns(format, wanted)
    // A subject that has no schema yet has no records.
    for (other <- subjects.tail.flatMap(find))
      format.format.registry.get.difference(declared, columns(format, other)).foreach(text =>
        throw Errors.invalidSchema(s"records of $other cannot be read with $wanted: $text.")
      )
    declared
  }

  private final case class Found(subject: Subject, latest: LatestSchema) {
    def schema: RegisteredSchema = latest.schema
    override def toString: String =
      s"version ${latest.version} of subject '${subject.name}' (cluster '${subject.registry.cluster}')"
  }

  private def find(subject: Subject): Option[Found] =
    SchemaCache.shared.latest(subject.registry, subject.name).map(Found(subject, _))

  private def columns(side: SideFormat, found: Found): DeclaredSchema = {
    val expected = side.format.registry.get
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
}

/** Decodes records with one schema. */
private[format] trait RecordBody {

  /**
   * @param from where it begins
   * @return null if the record is good
   */
  def decode(bytes: Array[Byte], from: Int, into: DecodedValues): DecodeFailure

  /** The decoder of records without a header. */
  final def whole: Decoder = (bytes, into) => decode(bytes, 0, into)
}

/** All records are bad. */
private[format] final class BadBody(reason: String) extends RecordBody {
  override def decode(bytes: Array[Byte], from: Int, into: DecodedValues): DecodeFailure = {
    into.clear()
    DecodeFailure(reason)
  }
}

/** Decodes records that begin with the id of their schema in a registry. */
private[format] abstract class ConfluentHeader extends Decoder {
  protected def body(id: Int): RecordBody

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure =
    if (!WireFormat.hasHeader(bytes)) {
      into.clear()
      ConfluentHeader.Missing
    } else {
      val id = WireFormat.id(bytes)
      val failure = body(id).decode(bytes, WireFormat.HeaderLength, into)
      if (failure eq null) null else failure.copy(schemaId = Some(id))
    }
}

private[format] object ConfluentHeader {
  val Missing: DecodeFailure = DecodeFailure("it does not begin with the id of a schema in a registry")
}

/**
 * Decodes records by their schemas.
 *
 * @param kind of the schemas
 * @param schemas the schema of an id in the registry of a cluster; None: the registry does not know the id
 * @param make what decodes the records with a schema, or the reason why they are bad; it is made once
 */
private[format] final class RegistryDecoder(
    kind: String,
    schemas: (String, Int) => Option[RegisteredSchema],
    make: RegisteredSchema => Either[String, RecordBody]
) extends ConfluentHeader {
  private val byCluster = new ju.HashMap[String, ju.HashMap[Integer, RecordBody]]
  private var cluster: String = _
  private var byId = new ju.HashMap[Integer, RecordBody]

  private val unknown = new BadBody("the schema registry does not know the id of its schema")

  // Most records have the schema of the one before.
  private var lastId = 0
  private var last: RecordBody = _

  override def from(next: String): Unit = if (next ne cluster) {
    cluster = next
    byId = byCluster.computeIfAbsent(next, _ => new ju.HashMap)
    last = null
  }

  override protected def body(id: Int): RecordBody = {
    if ((last eq null) || id != lastId || (last eq unknown)) {
      last = of(id)
      lastId = id
    }
    last
  }

  private def of(id: Int): RecordBody = {
    val known = byId.get(id)
    if (known ne null) known
    // Not kept, because the id may be registered later.
    else schemas(cluster, id).fold[RecordBody](unknown) { schema =>
      val made =
        if (schema.kind != kind) Left(s"its schema is of the type ${schema.kind}, not $kind")
        else make(schema)
      val body = made.fold(new BadBody(_), identity)
      byId.put(id, body)
      body
    }
  }
}

private[format] object SchemasById {

  /** The schema of an id in the registry of a cluster, for one task; None: the registry does not know the id. */
  def of(side: SideLayout): (String, Int) => Option[RegisteredSchema] = {
    val settings = new ju.HashMap[String, RegistrySettings]
    (cluster, id) =>
      SchemaCache.shared.schema(settings.computeIfAbsent(cluster, side.format.registries.of(_)), id)
  }
}
