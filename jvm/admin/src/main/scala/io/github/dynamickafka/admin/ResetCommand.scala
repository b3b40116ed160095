package io.github.dynamickafka.admin

import scala.collection.immutable.SortedMap

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.config.OffsetsParser
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.offset.{ClusterIdentity, CompositeOffset, CompositeOffsetJson, Positions}
import io.github.dynamickafka.option.Suggestions
import io.github.dynamickafka.source.checkpoint.Refusal
import io.github.dynamickafka.source.cluster.ClusterConfig

/** `reset`: sets the positions of a query in one cluster, where it continues at its next start. */
private[admin] object ResetCommand {
  private val Cluster = Parameter.text("cluster", "The cluster whose positions change")
  private val To = Parameter.text(
    "to",
    "earliest, latest, timestamp:<ms>, group:<id> (committed offsets), or offsets as JSON: {topic: {partition: offset}}"
  )

  val all: Seq[Command] = Seq(
    Command(
      "reset",
      "Sets the positions of a query in one cluster, where it continues at its next start. Kafka is asked for the offsets, which " +
        "are written as numbers. Stop the query first. The command restore undoes it",
      Seq(Parameter.Checkpoint, Cluster, To, Parameter.Metadata, Parameter.Timeout),
      "source INT, cluster STRING, topic STRING, partition INT, old_position BIGINT, new_position BIGINT",
      (context, arguments) =>
        reset(context, arguments(Parameter.Checkpoint), arguments(Cluster), arguments(To)),
      changes = true
    )
  )

  /** @param changes with the names of the JSON */
  private final class Done(batch: Long, changes: Table) extends Result {
    override def rows: Seq[Seq[Any]] = changes.rows
    override def json: Any = Json.fields("changes" -> changes.json)
    override def text: String =
      if (rows.isEmpty) "nothing to change"
      else s"after batch $batch, the query continues at\n\n${changes.text}"
  }

  private def reset(context: Context, checkpoint: String, cluster: String, to: String): Result = {
    val form = ResetForm.parse(to)
    val edit = CheckpointEdit(context, checkpoint)
    val (log, newest) = (edit.log, edit.begin())
    val reading = log.composite(newest).filter(_._2.position(cluster).nonEmpty)
    val where = s"batch ${newest.number} of $checkpoint"
    if (reading.isEmpty) throw new Refusal(unknown(where, cluster, log.composite(newest).map(_._2)))
    checkKnown(form, reading.map(_._2.position(cluster)), cluster, where)
    val clusters = new QueryClusters(context, log)
    val moves = reading.map { case (source, offset) =>
      log.refuseDeferred(source, offset, newest)
      val config = clusters.config(source, cluster, clusters.reading(source))
        .fold(why => throw new Refusal(s"cluster '$cluster': $why"), identity)
      val other = KafkaOffsets.using(context, config)(KafkaOffsets.kafkaId(config, _))
        .filter(found => ClusterIdentity.differ(offset.identity(cluster).kafkaId, Some(found)))
      val start = other.fold(offset)(offset.inKafka(cluster, _))
      val now = start.position(cluster)
      val found = resolved(context, form, start, cluster, config)
      if (other.isDefined && found.size < now.size) throw new Refusal(
        s"cluster '$cluster' is another Kafka cluster than the one that was read, so each of its partitions needs an offset"
      )
      (source, start, found.filter { case (t, p, at) => other.isDefined || !now.get(t, p).contains(at) })
    }.filter(_._3.nonEmpty)
    if (moves.nonEmpty) {
      val texts = moves.map { case (source, start, changes) =>
        source -> CompositeOffsetJson.write(movedTo(start, cluster, Positions.from(changes)))
      }
      edit(
        s"reset --cluster $cluster --to $to",
        context.user,
        newest.number,
        SortedMap(s"offsets/${newest.number}" -> (newest.written -> newest.text(texts.toMap)))
      )
    }
    new Done(
      newest.number,
      Table(
        Seq("source", "cluster", "topic", "partition", "from", "to"),
        for ((source, start, changes) <- moves; (topic, p, at) <- changes)
          yield Seq(source, cluster, topic, p, start.position(cluster).get(topic, p).get, at)
      )
    )
  }

  private def resolved(
      context: Context,
      form: ResetForm,
      offset: CompositeOffset,
      cluster: String,
      config: ClusterConfig
  ): Seq[(String, Int, Long)] = {
    val reading = offset.position(cluster)
    val chosen = form match {
      case ResetForm.Exact(offsets) => offsets.at(reading)
      case _ => reading
    }
    val places = chosen.iterator.map { case (topic, p, _) => new TopicPartition(topic, p) }.toSeq
    def ask(spec: OffsetSpec): Map[TopicPartition, Long] =
      KafkaOffsets.of(context, config, places.map(_ -> spec).toMap).map { case (at, answer) =>
        at -> answer.fold(
          why => throw new Refusal(s"the offsets are not known: ${why.getMessage}", why),
          identity
        )
      }
    val Seq(first, last) = Seq(OffsetSpec.earliest(), OffsetSpec.latest()).map(ask)
    val wanted: TopicPartition => Long = form match {
      case ResetForm.Offset(offset) => _ => offset
      case ResetForm.Exact(offsets) => at => offsets.get(at.topic, at.partition).get
      // Where no record is as late, Kafka says -1, which is the latest offset.
      case ResetForm.Time(ms) => ask(OffsetSpec.forTimestamp(ms))
      case ResetForm.Group(id) =>
        val committed =
          KafkaOffsets.using(context, config)(client => KafkaOffsets.await(config, client.committed(id)))
        at =>
          committed.getOrElse(
            at,
            throw new Refusal(
              s"group '$id' has no committed offset of topic '${at.topic}', partition ${at.partition}"
            )
          )
    }
    val targets = offset.draining.getOrElse(cluster, Positions.empty)
    places.map { at =>
      val target = targets.get(at.topic, at.partition)
      val found = ResetForm.resolve(at, wanted(at), first(at), last(at), target)
      (at.topic, at.partition, found.fold(why => throw new Refusal(why), identity))
    }
  }

  /** The offset with other positions of partitions, whose leader epochs become unknown. */
  def movedTo(offset: CompositeOffset, cluster: String, moved: Positions): CompositeOffset = {
    val known = offset.identity(cluster)
    val identities = offset.identities.updated(cluster, known.copy(epochs = known.epochs -- moved))
    offset.copy(
      clusters = offset.clusters.updated(cluster, offset.position(cluster) ++ moved),
      identities = identities.filterNot(_._2.isEmpty)
    )
  }

  private def unknown(where: String, cluster: String, offsets: Seq[CompositeOffset]): String = {
    val known = offsets.flatMap(_.clusters.keys).distinct
    val why =
      if (offsets.exists(_.retained.contains(cluster))) " It is retained, so it is not read."
      else Suggestions.didYouMean(cluster, known)
    s"$where reads no cluster '$cluster'.$why"
  }

  private def checkKnown(form: ResetForm, read: Seq[Positions], cluster: String, where: String): Unit =
    form match {
      case ResetForm.Exact(offsets) => offsets.iterator.foreach { case (topic, p, _) =>
          val topics = read.flatMap(_.topics).distinct
          if (!topics.contains(topic)) throw new Refusal(
            s"$where reads no topic '$topic' of cluster $cluster.${Suggestions.didYouMean(topic, topics)}"
          )
          if (!read.exists(_.get(topic, p).isDefined))
            throw new Refusal(s"$where reads no partition $p of topic '$topic', cluster $cluster")
        }
      case _ => ()
    }
}

/** Where a query continues after `reset`, in the forms of the command. */
private[admin] sealed trait ResetForm extends Product with Serializable

private[admin] object ResetForm {
  final case class Offset(offset: Long) extends ResetForm
  final case class Time(ms: Long) extends ResetForm
  final case class Group(id: String) extends ResetForm
  final case class Exact(offsets: Positions) extends ResetForm

  /** @throws WrongUsage */
  def parse(text: String): ResetForm =
    if (text.startsWith("group:") && text != "group:") Group(text.stripPrefix("group:"))
    else
      OffsetsParser.starting(text).toOption.collect {
        case OffsetsPolicy.Earliest => Offset(OffsetsPolicy.EarliestOffset)
        case OffsetsPolicy.Latest => Offset(OffsetsPolicy.LatestOffset)
        case OffsetsPolicy.Timestamp(ms) if text.startsWith("timestamp:") => Time(ms)
        case OffsetsPolicy.Exact(all) if all.contains(OffsetsPolicy.AnyCluster) =>
          Exact(Positions.from(for {
            (topic, partitions) <- all(OffsetsPolicy.AnyCluster).toSeq
            (p, at) <- partitions
          } yield (topic, p, at)))
      }.getOrElse(throw new WrongUsage(
        s"'$text' is neither 'earliest', 'latest', 'timestamp:<ms>', 'group:<id>' nor JSON such as " + """{"orders": {"0": 5}}"""
      ))

  /**
   * The position of a partition, given what Kafka has.
   *
   * @param wanted an offset, or that of `earliest` or `latest`
   * @param first its earliest offset, `last` its latest one
   * @param target where a drain of the partition ends
   * @return the reason if Kafka does not have it
   */
  def resolve(
      at: TopicPartition,
      wanted: Long,
      first: Long,
      last: Long,
      target: Option[Long]
  ): Either[String, Long] = {
    val offset = wanted match {
      case OffsetsPolicy.EarliestOffset => first
      case OffsetsPolicy.LatestOffset => last
      case exact => exact
    }
    Either.cond(
      first <= offset && offset <= last,
      target.fold(offset)(math.min(_, offset)),
      s"topic '${at.topic}', partition ${at.partition} has the offsets $first to $last, not $offset"
    )
  }
}
