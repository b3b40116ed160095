package io.github.dynamickafka.admin

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.ClusterMetadata
import io.github.dynamickafka.metadata.document.{DocumentEdits, EditRefused}
import io.github.dynamickafka.metadata.service.{EditableService, KafkaTopicMetadataService, ServiceArguments}
import io.github.dynamickafka.source.checkpoint.Refusal

/** `drain`, `activate`, `move` and `publish`: changes of the streams where the metadata service has them. */
private[admin] object EditCommands {
  private val Cluster = Parameter.text("cluster", "The id of the cluster").positional
  private val Stream =
    Parameter.text("stream", "The id of a stream. NULL: every stream of the cluster").optional
  private val MovedStream = Parameter.text("stream", "The stream that moves")
  private val Old = Parameter.text("old", "The cluster that drains").called("from")
  private val New = Parameter.text("new", "The cluster that is added, with the same topics").called("to")

  private val File = Parameter.path("file", "A metadata file, any URI that Spark reads").positional
  private val Servers = Parameter.text("bootstrap_servers", "The brokers of the topic").onlyOnLine
  private val Topic = Parameter.text("topic", "The topic: one partition, cleanup.policy=compact").onlyOnLine
  private val Property =
    Parameter.texts("property", "A property of Kafka's clients, as NAME=VALUE; repeatable").onlyOnLine
  private val Only = Parameter.texts("stream", "Only these streams of the file; repeatable")
  private val Remove = Parameter.texts("remove", "Remove a stream that is not in the file; repeatable")

  private val Writable = Seq(MetadataServiceSpecs.File, MetadataServiceSpecs.KafkaTopic).map(_.name)
  private val Kept =
    "The metadata is validated before and after, and of a file only the lines concerned change"

  val all: Seq[Command] = Seq(
    state("drain", ClusterMetadata.Draining, "Drains a cluster: it is read up to its end, and then leaves"),
    state("activate", ClusterMetadata.Active, "Reads a cluster again that was draining or removed"),
    edit(
      "move",
      "Drains a cluster of a stream, and adds another one with the same topics",
      Seq(MovedStream, Old, New)
    )(arguments => DocumentEdits.moved(_, arguments(MovedStream), arguments(Old), arguments(New))),
    Command(
      "publish",
      "Writes the streams of a metadata file to the topic of the metadata service kafka-topic. The whole file is validated " +
        "before, also together with the other streams of the topic, which stay unless they are removed",
      Seq(File, Servers, Topic, Property, Only, Remove, Parameter.Timeout),
      "stream STRING, action STRING",
      publish,
      changes = true
    )
  )

  private def state(name: String, state: String, description: String): Command =
    edit(name, description, Seq(Cluster, Stream))(arguments =>
      DocumentEdits.withState(_, arguments(Cluster), state, arguments.get(Stream))
    )

  private def edit(name: String, description: String, parameters: Seq[Parameter[_]])(
      change: Arguments => String => String
  ): Command = Command(
    name,
    s"$description. $Kept",
    Parameter.File +: parameters,
    "stream STRING, cluster STRING, old_state STRING, new_state STRING",
    (context, arguments) => new Edited(context, name, change(arguments)),
    changes = true
  )

  private def refusing[A](file: Option[String])(edit: => A): A =
    try edit
    catch { case e: EditRefused => throw new Refusal(file.fold("")(_ + ": ") + e.getMessage, e) }

  private final class Edited(context: Context, name: String, change: String => String) extends Result {
    private val (before, after) = context.named {
      // All errors of a file.
      if (context.file.isDefined) { val _ = context.streams() }
      context.catalog.service match {
        case service: EditableService => refusing(None)(service.edit(change))
        case _ => throw Errors.metadataReadOnly(name, context.catalog.reading.metadata.service.name, Writable)
      }
    }
    private lazy val changes = StreamChange.all(before.values.toSeq, after.values.toSeq)

    /** The clusters of streams whose state has changed; null: the stream did not have the cluster. */
    override def rows: Seq[Seq[Any]] = for {
      (id, stream) <- after.toSeq.sortBy(_._1)
      (cluster, entry) <- stream.entries.sortBy(_._1)
      old = before.get(id).flatMap(_.entries.toMap.get(cluster)).map(_.state)
      if !old.contains(entry.state)
    } yield Seq(id, cluster, old, entry.state)

    override def json: Any =
      Json.fields("file" -> context.file, "changes" -> changes.map(c => Json.Fields(c.fields)))

    override def text: String =
      if (changes.isEmpty) s"${context.file.mkString}: nothing to change"
      else changes.map(_.text).mkString("\n")
  }

  private def publish(context: Context, arguments: Arguments): Published = {
    val removed = arguments.get(Remove).getOrElse(Nil)
    val file = arguments(File)
    val text = context.validText(file)
    def write(service: KafkaTopicMetadataService) =
      refusing(Some(file))(service.publish(text, arguments.get(Only).getOrElse(Nil), removed))
    val published = arguments.get(Servers) match {
      case Some(servers) =>
        val options = properties(arguments).map { case (name, value) => s"properties.$name" -> value } ++ Seq(
          MetadataServiceSpecs.TopicServers.name -> servers,
          MetadataServiceSpecs.Topic.name -> arguments(Topic),
          MetadataServiceSpecs.TimeoutMs.name -> arguments(Parameter.Timeout).toString
        )
        val service =
          new KafkaTopicMetadataService(ServiceArguments(MetadataServiceSpecs.KafkaTopic, options.toSeq: _*))
        try write(service)
        finally service.close()
      case None => context.catalog.service match {
          case service: KafkaTopicMetadataService => write(service)
          case _ =>
            val own = context.catalog.reading.metadata.service.name
            throw Errors.metadataReadOnly("publish", own, Seq(MetadataServiceSpecs.KafkaTopic.name))
        }
    }
    new Published(arguments.get(Topic), published, removed)
  }

  private def properties(arguments: Arguments): Map[String, String] =
    arguments.get(Property).getOrElse(Nil).map { text =>
      text.split("=", 2) match {
        case Array(name, value) => name -> value
        case _ => throw new WrongUsage(s"'$text' of --property is not NAME=VALUE")
      }
    }.toMap

  /** @param topic only the command line names it */
  private[admin] final class Published(topic: Option[String], published: Seq[String], removed: Seq[String])
      extends Result {
    override def rows: Seq[Seq[Any]] = published.map(Seq(_, "published")) ++ removed.map(Seq(_, "removed"))

    override def json: Any = Json.fields("topic" -> topic, "published" -> published, "removed" -> removed)

    override def text: String =
      s"${topic.mkString}: ${Text.count(published.size.toLong, "stream")} published" +
        (if (removed.isEmpty) "" else s", ${Text.count(removed.size.toLong, "stream")} removed")
  }
}
