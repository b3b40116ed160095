package io.github.dynamickafka.format.registry

import scala.jdk.CollectionConverters._

import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType.COMPATIBLE
import org.apache.avro.{Schema, SchemaCompatibility}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.protobuf.ProtobufSchemas
import io.github.dynamickafka.format.{DeclaredSchema, Format, SchemaText, SideFormat}
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

  private final case class Found(of: Subject, latest: LatestSchema) {
    def schema: RegisteredSchema = latest.schema
    override def toString: String =
      s"version ${latest.version} of subject '${of.name}' (cluster '${of.registry.cluster}')"
  }

  private def find(of: Subject): Option[Found] =
    SchemaCache.shared.latest(of.registry, of.name).map(Found(of, _))

  private def newest(of: Subject): Found = find(of).getOrElse(
    throw Errors.schemaNotFound(of.registry.shown, of.registry.cluster, of.name, "it has no version")
  )

  private def nothing = Errors.invalidSchema("the streams have no cluster with this format.")

  private def columns(side: SideFormat, of: Found): DeclaredSchema = {
    val format = side.format
    val expected = format match {
      case Format.JsonConfluent => RegisteredSchema.Json
      case Format.ProtobufConfluent => RegisteredSchema.Protobuf
      case _ => RegisteredSchema.Avro
    }
    def invalid(reason: String) = Errors.invalidSchema(s"$of: $reason")
    if (of.schema.kind != expected)
      throw invalid(s"it has the type ${of.schema.kind}, but the format '${format.name}' requires $expected.")
    val parsed =
      if (expected == RegisteredSchema.Json) JsonSchemaColumns.parse(of.schema).map(DeclaredSchema(_))
      else if (expected == RegisteredSchema.Protobuf)
        ProtobufSchemas.columnsOfRegistry(of.schema, side).map(c => DeclaredSchema(SchemaText.nullable(c)))
      else
        // Complete in itself, because references are not known where the text is parsed again.
        try rows(format, RegistryAvro.parse(of.schema)).flatMap(schema =>
            SchemaText.parse(schema.toString, side.options)
          )
        catch { case e: org.apache.avro.AvroRuntimeException => Left(String.valueOf(e.getMessage)) }
    parsed.fold(reason => throw invalid(reason), _.copy(registered = Some(of.schema)))
  }

  /** The schema with the columns: of a format of changes, that of the rows. */
  private def rows(format: Format, schema: Schema): Either[String, Schema] =
    if (format != Format.DebeziumAvroConfluent) Right(schema)
    else DebeziumAvro.row(schema).toRight("it is not Debezium's: it has no records 'before' and 'after'.")

  /** Refuses a schema that does not resolve to the first one. */
  private def refuse(format: SideFormat, first: Found, other: Found): Unit = {
    val (wanted, own) = (columns(format, first), columns(format, other))
    val reason = wanted.avro.zip(own.avro) match {
      case Some((reader, writer)) =>
        val r = RegistryAvro.parse(reader)
        // Debezium names rows after the table, which the decoder does not look at.
        val w =
          if (format.format != Format.DebeziumAvroConfluent) RegistryAvro.parse(writer)
          else DebeziumAvro.renamed(RegistryAvro.parse(writer), r.getFullName)
        val result = SchemaCompatibility.checkReaderWriterCompatibility(r, w)
        if (result.getType != COMPATIBLE)
          result.getResult.getIncompatibilities.asScala.headOption.map(i =>
            s"${i.getType} at ${i.getLocation}"
          )
            .orElse(Some("it is incompatible"))
        else RegistryAvro.difference(w, r).map(path => s"'$path' has another logical type")
      case None =>
        val types = own.columns.map(f => f.name -> f.dataType).toMap
        wanted.columns.find(f => types.get(f.name).exists(_ != f.dataType)).map(f =>
          s"'${f.name}' is ${types(f.name).sql}, not ${f.dataType.sql}"
        )
    }
    reason.foreach(text =>
      throw Errors.invalidSchema(s"records of $other cannot be read with $first: $text.")
    )
  }
}
