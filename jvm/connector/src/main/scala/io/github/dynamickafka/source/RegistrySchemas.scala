package io.github.dynamickafka.source

import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.avro.SchemaCompatibility
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType.COMPATIBLE
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.config.{SourceOptions, Subscription}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.protobuf.ProtobufSchemas
import io.github.dynamickafka.format.registry.{JsonSchemaColumns, RegistryAvro}
import io.github.dynamickafka.format.{DeclaredSchema, Format, FormatOptionSpecs, SchemaText, SideFormat}
import io.github.dynamickafka.metadata.registry.MetadataServices
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.schemaregistry.{
  LatestSchema,
  RegisteredSchema,
  RegistryOptionSpecs,
  SchemaCache
}

/** `schema=registry`: the columns are those of the newest schema of the subject, when a table is made. */
private[source] object RegistrySchemas {

  def withSchema(options: SourceOptions, declared: Option[DeclaredSchema]): SourceOptions =
    declared.fold(options)(schema =>
      options.copy(format = options.format.copy(schema = Some(schema), schemaFromRegistry = false))
    )

  /**
   * The schema at the registry of the first cluster, in the order of the metadata. Those of all others have to be readable with
   * it.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_SCHEMA
   */
  def newest(options: SourceOptions, user: Option[StructType]): DeclaredSchema = {
    if (user.isDefined)
      throw Errors.invalidOption(
        FormatOptionSpecs.Schema.name,
        "registry",
        "a schema is also given to Spark ('.schema(...)'), but only one of the two is allowed."
      )
    val registries = options.format.value.registries
    val subjects = places(options).map { case (cluster, topic) =>
      val settings = registries.of(cluster)
      settings -> settings.subject.getOrElse(s"${topic.getOrElse(throw patterns)}-value")
    }.distinctBy { case (settings, subject) => (settings.url, subject) }
    val found = subjects.map { case (settings, subject) =>
      (settings, subject, SchemaCache.shared.latest(settings, subject))
    }
    val first = found.headOption.getOrElse(throw Errors.invalidSchema("the streams have no cluster.")) match {
      case (settings, subject, None) =>
        throw Errors.schemaNotFound(settings.shown, settings.cluster, subject, "it has no version")
      case (settings, subject, Some(latest)) => Found(settings.cluster, subject, latest)
    }
    val format = options.format.value
    // A subject that has no schema yet has no records.
    found.tail.foreach {
      case (settings, subject, Some(latest)) =>
        refuse(format, first, Found(settings.cluster, subject, latest))
      case _ =>
    }
    columns(format, first)
  }

  private final case class Found(cluster: String, subject: String, latest: LatestSchema) {
    def schema: RegisteredSchema = latest.schema
    override def toString: String = s"version ${latest.version} of subject '$subject' (cluster '$cluster')"
  }

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
        try SchemaText.parse(RegistryAvro.parse(of.schema).toString)
        catch { case e: org.apache.avro.AvroRuntimeException => Left(String.valueOf(e.getMessage)) }
    parsed.fold(reason => throw invalid(reason), identity)
  }

  /** Refuses the schema of another cluster that does not resolve to the first one. */
  private def refuse(format: SideFormat, first: Found, other: Found): Unit = {
    val (wanted, own) = (columns(format, first), columns(format, other))
    val reason = wanted.avro.zip(own.avro) match {
      case Some((reader, writer)) =>
        val (r, w) = (RegistryAvro.parse(reader), RegistryAvro.parse(writer))
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

  private def patterns = Errors.missingOption(
    RegistryOptionSpecs.Subject.name,
    s"set it to the subject of the schema, because a topic pattern does not name one, or set '${FormatOptionSpecs.Schema.name}'."
  )

  /** The clusters and topics of the streams, in the order of the metadata; None: the topics are those of a pattern. */
  private def places(options: SourceOptions): Seq[(String, Option[String])] = {
    val service =
      new Remembering(MetadataServices.create(
        options.service,
        SparkSession.active.sparkContext.hadoopConfiguration
      ))
    val once = options.discovery.copy(intervalMs = -1)
    Using.resource(MetadataWatcher(service, options.subscription, once, options.service.name)) { watcher =>
      // Repeats calls that fail, and checks the answer.
      val _ = watcher.awaitFirst()
    }
    val streams = options.subscription match {
      case Subscription.Ids(ids) => ids.flatMap(service.answer.get)
      case pattern => service.answer.toSeq.sortBy(_._1).collect { case (id, s) if pattern.includes(id) => s }
    }
    streams.flatMap(
      _.getClusterMetadataMap.asScala.toSeq
    ).filter(_._2.state != ClusterMetadata.Removed).flatMap {
      case (cluster, c) =>
        val topics = (c.getTopics.asScala ++ c.getPartitions.keySet.asScala).toSeq
        if (topics.isEmpty) Seq(cluster -> None) else topics.map(topic => cluster -> Some(topic))
    }
  }

  /** Keeps the answer of a service with its order, which a topology does not have. */
  private final class Remembering(service: KafkaMetadataService) extends KafkaMetadataService {
    @volatile var answer: Map[String, KafkaStream] = Map.empty

    override def getAllStreams(): ju.Set[KafkaStream] = {
      val all = service.getAllStreams()
      answer = all.asScala.map(s => s.streamId -> s).toMap
      all
    }

    override def describeStreams(ids: ju.Collection[String]): ju.Map[String, KafkaStream] = {
      val found = service.describeStreams(ids)
      answer = found.asScala.toMap
      found
    }

    override def isClusterActive(cluster: String): Boolean = service.isClusterActive(cluster)
    override def close(): Unit = service.close()
  }
}
