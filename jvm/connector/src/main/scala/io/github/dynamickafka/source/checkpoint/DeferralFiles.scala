package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap

import org.apache.hadoop.fs.Path
import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.offset.{Deferral, Deferrals}
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
    try Some(SourceCheckpointJson.deferral.read(text, deferral(batch).toString))
    catch {
      case e: DynamicKafkaRuntimeException if entered =>
        log.warn("Ignoring a file that has no effect any more: {}", e.getMessage)
        None
    }

  /** @param batch one without a deferral */
  def write(batch: Long, of: Deferral): Unit = {
    // Left by a crash in [[delete]]: it would void the new deferral.
    if (!files.exists(deferral(batch))) files.delete(mark(batch))
    val text = SourceCheckpointJson.deferral.write(of)
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
