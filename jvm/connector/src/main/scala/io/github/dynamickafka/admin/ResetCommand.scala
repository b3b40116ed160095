package io.github.dynamickafka.admin

import scala.collection.immutable.SortedMap

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.admin.checkpoint.{CheckpointEdit, Refusal, ResetForm, SourceId}
import io.github.dynamickafka.offset.{ClusterIdentity, CompositeOffset, CompositeOffsetJson, Positions}
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
        reset(context, arguments(Parameter.Checkpoint), arguments(Cluster), arguments(To))
    )
  )

  private final case class Change(
      source: SourceId,
      cluster: String,
      topic: String,
      partition: Int,
      old: Long,
      at: Long
  )

  private final class Done(batch: Long, changes: Seq[Change]) extends Result {
    override def rows: Seq[Seq[Any]] =
      changes.map(c => Seq(c.source.number, c.cluster, c.topic, c.partition, c.old, c.at))

    override def json: Any = Json.fields("changes" -> changes.map(c =>
      Json.fields(
        "source" -> c.source.shown,
        "cluster" -> c.cluster,
        "topic" -> c.topic,
        "partition" -> c.partition,
        "from" -> c.old,
        "to" -> c.at
      )
    ))

    override def text: String =
      if (changes.isEmpty) "nothing to change"
      else s"after batch $batch, the query continues at\n\n" + Text.table(
        Seq("source", "cluster", "topic", "partition", "from", "to"),
        changes.map(c => Seq(c.source.name, c.cluster, c.topic, c.partition, c.old, c.at))
      )
  }

  private def reset(context: Context, checkpoint: String, cluster: String, to: String): Result = {
    val form =
      try ResetForm.parse(to)
      catch { case e: Refusal => throw new WrongUsage(e.getMessage) }
    val (log, files) = MigrationCommands.opened(context, checkpoint)
    val edit = new CheckpointEdit(files)
    edit.refuseInterrupted()
    val newest = log.newestFinished()
    val reading = log.composite(newest).filter(_._2.position(cluster).nonEmpty)
    val where = s"batch ${newest.number} of $checkpoint"
    if (reading.isEmpty) throw new Refusal(unknown(where, cluster, log.composite(newest).map(_._2)))
    checkKnown(form, reading.map(_._2.position(cluster)), cluster, where)
    val clusters = new QueryClusters(context, log)
    val moves = reading.map { case (source, offset) =>
      log.refuseDeferred(source, offset, newest)
      val config = clusters.config(source, cluster, clusters.reading(source))
        .fold(why => throw new Refusal(s"cluster '$cluster': $why"), identity)
      val other = KafkaOffsets.kafkaId(context, config)
        .filter(found => ClusterIdentity.differ(offset.identity(cluster).kafkaId, Some(found)))
      val start = other.fold(offset)(offset.inKafka(cluster, _))
      val now = start.position(cluster)
      val found = resolved(context, form, start, cluster, config)
      if (other.isDefined && found.size < now.size) throw new Refusal(
        s"cluster '$cluster' is another Kafka cluster than the one that was read, so each of its partitions needs an offset"
      )
      val changes = found.collect {
        case (topic, p, at) if other.isDefined || !now.get(topic, p).contains(at) =>
          Change(source, cluster, topic, p, now.get(topic, p).get, at)
      }
      (source, start, changes)
    }.filter(_._3.nonEmpty)
    if (moves.nonEmpty) {
      val texts = moves.map { case (source, start, changes) =>
        val moved = Positions.from(changes.map(c => (c.topic, c.partition, c.at)))
        source -> CompositeOffsetJson.write(movedTo(start, cluster, moved))
      }
      edit.apply(
        s"reset --cluster $cluster --to $to",
        context.user,
        newest.number,
        SortedMap(s"offsets/${newest.number}" -> (newest.written -> newest.text(texts.toMap))),
        log.logged.last == newest.number
      )
    }
    new Done(newest.number, moves.flatMap(_._3))
  }

  private def resolved(
      context: Context,
      form: ResetForm,
      offset: CompositeOffset,
      cluster: String,
      config: ClusterConfig
  ): Seq[(String, Int, Long)] = {
    val places = form.places(offset.position(cluster))
    def ask(spec: OffsetSpec): Map[TopicPartition, Long] =
      KafkaOffsets.of(context, config, places.map(_._1 -> spec).toMap).map { case (at, answer) =>
        at -> answer.fold(why => throw new Refusal(s"the offsets are not known: $why"), identity)
      }
    val Seq(first, last) = ResetForm.Bounds.map(ask)
    val known = form match {
      case ResetForm.Time(ms) => ask(OffsetSpec.forTimestamp(ms))
      case ResetForm.Group(id) =>
        val committed = KafkaOffsets.committed(context, config, id)
        places.map(_._1).find(!committed.contains(_)).foreach(at =>
          throw new Refusal(
            s"group '$id' has no committed offset of topic '${at.topic}', partition ${at.partition}"
          )
        )
        committed
      case _ => Map.empty[TopicPartition, Long]
    }
    val targets = offset.draining.getOrElse(cluster, Positions.empty)
    places.sortBy { case (at, _) => (at.topic, at.partition) }.map { case (at, wanted) =>
      val found = ResetForm.resolve(
        at,
        wanted,
        first(at),
        last(at),
        known.get(at),
        targets.get(at.topic, at.partition)
      )
      (at.topic, at.partition, found.fold(why => throw new Refusal(why), identity))
    }
  }

  /** With other positions of partitions, whose leader epochs become unknown. */
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
      else Unknown.suggestion(cluster, known)
    s"$where reads no cluster '$cluster'.$why"
  }

  private def checkKnown(form: ResetForm, read: Seq[Positions], cluster: String, where: String): Unit =
    form match {
      case ResetForm.Exact(offsets) => offsets.iterator.foreach { case (topic, p, _) =>
          val topics = read.flatMap(_.topics).distinct
          if (!topics.contains(topic)) throw new Refusal(
            s"$where reads no topic '$topic' of cluster $cluster.${Unknown.suggestion(topic, topics)}"
          )
          if (!read.exists(_.get(topic, p).isDefined))
            throw new Refusal(s"$where reads no partition $p of topic '$topic', cluster $cluster")
        }
      case _ => ()
    }
}
