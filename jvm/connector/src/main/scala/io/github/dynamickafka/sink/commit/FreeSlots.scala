package io.github.dynamickafka.sink.commit

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.github.dynamickafka.storage.AtomicFiles

/**
 * The transactional ids of a run that has ended, with no attempt of a task that may still use them.
 *
 * @param slot what the ids begin with
 * @param cluster where the id is that guards the slot
 * @param producerId with `epoch`, what Kafka has given to the run for that id
 */
private[sink] final case class FreeSlot(slot: String, cluster: String, producerId: Long, epoch: Short)

/**
 * The free slots of a query, each in a file `slot-<digest>.json`. A file may be
 * older than what it is about, and several runs may read it: only the id that guards the slot decides who gets it.
 *
 * @param location the folder. The slots of a copy belong to the original
 */
private[sink] final class FreeSlots(location: String, hadoop: Configuration) {
  import FreeSlots._

  private val folder = new Path(location).getFileSystem(hadoop).makeQualified(new Path(location))
  private val files = new AtomicFiles(folder, hadoop)

  def all(): Seq[FreeSlot] = files.names(folder).sorted.collect { case name @ File() =>
    files.read(new Path(folder, name)).flatMap(read)
  }.flatten

  def add(slot: FreeSlot): Unit =
    files.replace(
      file(slot),
      write(slot, folder.toString)
    )

  def remove(slot: FreeSlot): Unit = files.delete(file(slot))

  private def file(free: FreeSlot) = new Path(folder, s"slot-${BatchInput.digest(free.slot).take(16)}.json")

  /** None: it is of another folder, or cannot be read. Then other ids are used. */
  private def read(text: String): Option[FreeSlot] =
    try Some(FreeSlots.read(text)).collect { case (slot, location) if location == folder.toString => slot }
    catch { case NonFatal(_) => None }
}

private[dynamickafka] object FreeSlots {
  private val mapper = new ObjectMapper
  private val File = """slot-\w+\.json""".r

  /** A file when clusters get other ids. */
  def renamed(text: String)(id: String => String): String = {
    val (slot, location) = read(text)
    write(slot.copy(cluster = id(slot.cluster)), location)
  }

  private def write(slot: FreeSlot, location: String): String = mapper.writeValueAsString(
    mapper.createObjectNode().put("slot", slot.slot).put("cluster", slot.cluster)
      .put("producerId", slot.producerId).put("epoch", slot.epoch).put("location", location)
  )

  /** The slot, and the folder that it is of. */
  private def read(text: String): (FreeSlot, String) = {
    val found = mapper.readTree(text)
    val slot = FreeSlot(
      found.required("slot").asText,
      found.required("cluster").asText,
      found.required("producerId").asLong,
      found.required("epoch").asInt.toShort
    )
    slot -> found.required("location").asText
  }

  /** Of a streaming query, in its checkpoint. */
  def ofQuery(checkpoint: String, hadoop: Configuration): FreeSlots =
    new FreeSlots(new Path(checkpoint, Journal.Folder).toString, hadoop)
}
