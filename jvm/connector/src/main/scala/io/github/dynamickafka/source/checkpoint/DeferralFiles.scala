package io.github.dynamickafka.source.checkpoint

import java.io.{FileNotFoundException, IOException}

import scala.collection.immutable.SortedMap

import org.apache.hadoop.fs.{FileAlreadyExistsException, FileSystem, Path}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.offset.{Deferral, Deferrals}
import io.github.dynamickafka.storage.AtomicFiles

/**
 * The deferrals of a query, in the folder `deferred` of the source's part of the checkpoint. `<n>.json` is a deferral, and
 * `<n>.entered` marks that its ranges are in Spark's offset log, so that it has no effect any more. Files are never modified.
 *
 * All methods return when the change is durable.
 */
private[source] final class DeferralFiles(home: Path, fs: => FileSystem, files: => AtomicFiles) {
  private val log = LoggerFactory.getLogger(classOf[DeferralFiles])
  private val folder = new Path(home, "deferred")

  /** @throws DynamicKafkaRuntimeException `INVALID_OFFSET` if a file is damaged that still has an effect */
  def read(): Deferrals = {
    val names = list()
    val entered = names.flatMap(numberOf(_, ".entered")).toSet
    Deferrals(SortedMap.from(names.flatMap(numberOf(_, ".json")).flatMap { n =>
      files.read(deferral(n)).flatMap(text => parsed(n, text, entered(n))).map(of =>
        n -> Deferrals.Entry(of, entered(n))
      )
    }))
  }

  private def parsed(number: Long, text: String, entered: Boolean): Option[Deferral] =
    try Some(DeferralJson.read(text, deferral(number).toString))
    catch {
      case e: DynamicKafkaRuntimeException if entered =>
        log.warn("Ignoring a file that has no effect any more: {}", e.getMessage)
        None
    }

  /** @param number one that is not used */
  def write(number: Long, of: Deferral): Unit =
    try {
      if (fs.exists(deferral(number))) throw new FileAlreadyExistsException(deferral(number).toString)
      // Left by a crash in [[delete]]: it would void the new deferral.
      fs.delete(mark(number), false)
      files.create(deferral(number), DeferralJson.write(of))
    } catch {
      case e: FileAlreadyExistsException =>
        throw new IOException(
          s"could not write ${deferral(number)}: the file exists, so another query uses this checkpoint",
          e
        )
    }

  def markEntered(number: Long): Unit = files.replace(mark(number), "")

  /** The mark last: without it, the deferral would have an effect again. */
  def delete(number: Long): Unit = {
    fs.delete(deferral(number), false)
    val _ = fs.delete(mark(number), false)
  }

  private def list(): Seq[String] =
    try fs.listStatus(folder).toSeq.map(_.getPath.getName)
    catch { case _: FileNotFoundException => Nil }

  private def numberOf(name: String, suffix: String): Option[Long] =
    if (name.endsWith(suffix)) name.stripSuffix(suffix).toLongOption else None

  private def deferral(number: Long) = new Path(folder, s"$number.json")
  private def mark(number: Long) = new Path(folder, s"$number.entered")
}
