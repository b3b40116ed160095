package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap

import com.fasterxml.jackson.databind.JsonNode
import org.apache.hadoop.fs.Path
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.offset.{ClusterIdentity, Deferral, Deferrals, OffsetRange}
import io.github.dynamickafka.storage.AtomicFiles

/**
 * The deferrals of a query, in the folder `deferred` of the source's part of the checkpoint. `<batch>.json` is a deferral, and
 * `<batch>.entered` marks that its ranges are in Spark's offset log, so that it has no effect any more. Files are never modified.
 *
 * All methods return when the change is durable.
 */
private[source] final class DeferralFiles(home: Path, files: => AtomicFiles) {
  private val log = LoggerFactory.getLogger(classOf[DeferralFiles])
  private val folder = new Path(home, "deferred")
  private var texts = Map.empty[Long, String]

  /** The contents of the files as this run has read or written them, by batch, whatever the checkpoint has now. */
  def known: Map[Long, String] = texts

  /** @throws DynamicKafkaRuntimeException `INVALID_OFFSET` if a file is damaged that still has an effect */
  def read(): Deferrals = {
    val names = files.names(folder)
    val entered = names.flatMap(numberOf(_, ".entered")).toSet
    Deferrals(SortedMap.from(names.flatMap(numberOf(_, ".json")).flatMap { n =>
      files.read(deferral(n)).flatMap { text =>
        texts += n -> text
        parsed(n, text, entered(n))
      }.map(deferral => n -> Deferrals.Entry(deferral, entered(n)))
    }))
  }

  private def parsed(batch: Long, text: String, entered: Boolean): Option[Deferral] =
    try Some(DeferralJson.read(text, deferral(batch).toString))
    catch {
      case e: DynamicKafkaRuntimeException if entered =>
        log.warn("Ignoring a file that has no effect any more: {}", e.getMessage)
        None
    }

  /** @param batch one without a deferral */
  def write(batch: Long, of: Deferral): Unit = {
    // Left by a crash in [[delete]]: it would void the new deferral.
    if (!files.exists(deferral(batch))) files.delete(mark(batch))
    val text = DeferralJson.write(of)
    files.createOwn(deferral(batch), text)
    texts += batch -> text
  }

  def markEntered(batch: Long): Unit = files.replace(mark(batch), "")

  /** Deletes the mark last: without it, the deferral would have an effect again. */
  def delete(batch: Long): Unit = {
    files.delete(deferral(batch))
    files.delete(mark(batch))
    texts -= batch
  }

  private def numberOf(name: String, suffix: String): Option[Long] =
    if (name.endsWith(suffix)) name.stripSuffix(suffix).toLongOption else None

  private def deferral(batch: Long) = new Path(folder, s"$batch.json")
  private def mark(batch: Long) = new Path(folder, s"$batch.entered")
}

/** The codec of the files of [[DeferralFiles]]. */
private[dynamickafka] object DeferralJson {
  import SourceCheckpointJson.{byName, reading, required, versioned}

  def write(deferral: Deferral): String = {
    def json(id: String, ranges: Seq[OffsetRange]) = {
      val identity = deferral.identities.getOrElse(id, ClusterIdentity.unknown)
      val topics = ranges.groupBy(_.topic).map { case (name, ofTopic) =>
        val byPartition = ofTopic.map(r => r.partition -> (Seq(r.from, r.until) ++ r.epoch))
        name -> (Json.present("id" -> identity.topics.get(name)) ++
          Json.fields("ranges" -> SortedMap.from(byPartition)))
      }
      Json.present("cluster" -> identity.kafkaId) ++ Json.fields("topics" -> topics)
    }
    val clusters = deferral.ranges.map { case (id, ranges) => id -> json(id, ranges) }
    Json.write(versioned("start" -> deferral.start, "end" -> deferral.end, "clusters" -> clusters))
  }

  /** @param file the path of the file, for errors */
  def read(text: String, file: String): Deferral = reading(text, file) { root =>
    val clusters = byName(required(root, "clusters"))(identity)
    Deferral(
      start = required(root, "start").asText,
      end = required(root, "end").asText,
      ranges = clusters.map { case (id, cluster) => id -> topics(cluster).flatMap((ranges _).tupled) },
      identities = clusters.map { case (id, cluster) =>
        val ids = topics(cluster).flatMap { case (name, topic) =>
          Option(topic.get("id")).map(name -> _.asText)
        }
        id -> ClusterIdentity(Option(cluster.get("cluster")).map(_.asText), SortedMap.from(ids))
      }.filterNot(_._2.isEmpty)
    )
  }

  private def ranges(topic: String, node: JsonNode): Seq[OffsetRange] =
    byName(required(node, "ranges"))(identity).toSeq.map { case (partition, range) =>
      val epoch = Option.when(range.size == 3)(offset(range, 2))
      OffsetRange(topic, partition.toInt, offset(range, 0), offset(range, 1), epoch)
    }

  private def topics(cluster: JsonNode) = byName(required(cluster, "topics"))(identity).toSeq

  private def offset(range: JsonNode, index: Int): Long = {
    val value = range.get(index)
    if (value == null || !value.isIntegralNumber || range.size > 3)
      throw new IllegalArgumentException("a range is not two offsets, with a leader epoch or without")
    value.asLong
  }
}
