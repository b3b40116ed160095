package io.github.dynamickafka.source.checkpoint

import java.io.IOException

import scala.collection.immutable.SortedMap

import com.fasterxml.jackson.databind.JsonNode
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}
import org.slf4j.LoggerFactory

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
  def write(batch: Long, of: Deferral): Unit =
    try {
      if (files.exists(deferral(batch))) throw new FileAlreadyExistsException(deferral(batch).toString)
      // Left by a crash in [[delete]]: it would void the new deferral.
      files.delete(mark(batch))
      val text = DeferralJson.write(of)
      files.create(deferral(batch), text)
      texts += batch -> text
    } catch {
      case e: FileAlreadyExistsException =>
        throw new IOException(
          s"could not write ${deferral(batch)}: the file exists, so another query uses this checkpoint",
          e
        )
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
  import SourceCheckpointJson.{fields, reading, required, versioned}

  def write(deferral: Deferral): String = {
    val root = versioned().put("start", deferral.start).put("end", deferral.end)
    val clusters = root.putObject("clusters")
    deferral.ranges.foreach { case (id, ranges) =>
      val identity = deferral.identities.getOrElse(id, ClusterIdentity.unknown)
      val cluster = clusters.putObject(id)
      identity.kafkaId.foreach(cluster.put("cluster", _))
      val topics = cluster.putObject("topics")
      ranges.groupBy(_.topic).toSeq.sortBy(_._1).foreach { case (name, ofTopic) =>
        val topic = topics.putObject(name)
        identity.topics.get(name).foreach(topic.put("id", _))
        val partitions = topic.putObject("ranges")
        ofTopic.sortBy(_.partition).foreach { range =>
          val numbers = partitions.putArray(range.partition.toString).add(range.from).add(range.until)
          range.epoch.foreach(numbers.add(_))
        }
      }
    }
    root.toString
  }

  /** @param file the path of the file, for errors */
  def read(text: String, file: String): Deferral = reading(text, file) { root =>
    val clusters = fields(required(root, "clusters")).toSeq
    Deferral(
      start = required(root, "start").asText,
      end = required(root, "end").asText,
      ranges = SortedMap.from(clusters.map { case (id, cluster) =>
        id -> topics(cluster).flatMap { case (name, topic) =>
          fields(required(topic, "ranges")).map { case (partition, range) =>
            OffsetRange(
              name,
              partition.toInt,
              offset(range, 0),
              offset(range, 1),
              Option.when(range.size == 3)(offset(range, 2))
            )
          }
        }
      }),
      identities = SortedMap.from(clusters.map { case (id, cluster) =>
        val ids = topics(cluster).flatMap { case (name, topic) =>
          Option(topic.get("id")).map(name -> _.asText)
        }
        id -> ClusterIdentity(Option(cluster.get("cluster")).map(_.asText), SortedMap.from(ids))
      }.filterNot(_._2.isEmpty))
    )
  }

  private def topics(cluster: JsonNode) = fields(required(cluster, "topics")).toSeq

  private def offset(range: JsonNode, index: Int): Long = {
    val value = range.get(index)
    if (value == null || !value.isIntegralNumber || range.size > 3)
      throw new IllegalArgumentException("a range is not two offsets, with a leader epoch or without")
    value.asLong
  }
}
