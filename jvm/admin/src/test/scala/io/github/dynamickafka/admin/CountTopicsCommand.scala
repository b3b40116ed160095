package io.github.dynamickafka.admin

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.metadata.KafkaStream

/** `count_topics`: on how many topics each stream is. No cluster is asked. */
private[dynamickafka] object CountTopicsCommand {
  private val Above = Parameter.number("above", "Only streams with more topics").copy(default = Some("0"))

  val all: Seq[Command] = Seq(Command(
    "count_topics",
    "How many topics each stream has, of all clusters together",
    Seq(Parameter.File, Above),
    "stream STRING, topics BIGINT",
    (context, arguments) => new Counted(context.streams(), arguments(Above))
  ))

  private final class Counted(streams: Seq[KafkaStream], above: Long) extends Result {
    private val counts = streams.map(s =>
      s.streamId -> s.getClusterMetadataMap.values.asScala.map(_.getTopics.size.toLong).sum
    ).filter(_._2 > above)
    override def rows: Seq[Seq[Any]] = counts.map { case (stream, topics) => Seq[Any](stream, topics) }
    private def table = Table(Seq("stream", "topics"), rows)
    override def json: Any = table.json
    override def text: String = table.text
  }
}
