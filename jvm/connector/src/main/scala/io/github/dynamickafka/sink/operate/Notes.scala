package io.github.dynamickafka.sink.operate

import java.time.Instant

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.sink.commit.{BatchInput, Journal, JournalEntry, JournalJson}
import io.github.dynamickafka.storage.AtomicFiles

/**
 * Who has resolved a decision, when, and how.
 *
 * @param decision the digest of the decision: the batch may be decided again after `rewrite`
 * @param cluster of `abandon-cluster`
 * @param closed whether the decision was closed. A note is written before the first step, without it
 * @param states what has become of the transactions, by transactional id
 */
private[sink] final case class Note(
    decision: String,
    generation: Long,
    by: String,
    at: Instant,
    resolution: String,
    cluster: Option[String],
    closed: Boolean,
    states: Map[String, String]
)

/**
 * The notes of operators in a journal, which are kept: `resolved-<batch>-<round>.json`. The query does not read them: for it,
 * a decision is closed by its `.done` file or by its deletion.
 */
private[sink] final class Notes(location: String, hadoop: Configuration) {
  import Notes._

  private val files = new AtomicFiles(new Path(location), hadoop)

  /** The notes about exactly this decision, the last one last. */
  def of(entry: JournalEntry): Seq[Note] = read(path(entry)).filter(_.decision == digest(entry))

  /** The clusters whose parts were given up. */
  def abandoned(entry: JournalEntry): Set[String] = of(entry).flatMap(_.cluster).toSet

  def add(entry: JournalEntry, note: Note): Unit =
    files.replace(path(entry), write(read(path(entry)) :+ note))

  /** Replaces the last note, which was added before the first step. */
  def complete(entry: JournalEntry, note: Note): Unit =
    files.replace(path(entry), write(read(path(entry)).dropRight(1) :+ note))

  private def path(entry: JournalEntry) =
    new Path(new Path(location, Journal.Folder), s"resolved-${entry.batch}-${entry.round}.json")

  private def read(path: Path): Seq[Note] = files.read(path).fold(Seq.empty[Note]) { text =>
    try mapper.readTree(text).asInstanceOf[ArrayNode].elements.asScala.map(note).toVector
    catch {
      case NonFatal(e) =>
        throw Errors.journalConflict(path.toString, s"it cannot be read: ${e.getMessage}", e)
    }
  }
}

private[sink] object Notes {
  private val mapper = new ObjectMapper

  def digest(entry: JournalEntry): String = BatchInput.digest(JournalJson.write(entry))

  private def write(notes: Seq[Note]): String = {
    val all = mapper.createArrayNode()
    notes.foreach { n =>
      val node: ObjectNode = all.addObject()
      node.put("decision", n.decision).put("generation", n.generation).put("by", n.by)
        .put("at", n.at.toString).put("resolution", n.resolution)
      n.cluster.foreach(node.put("cluster", _))
      val states = node.put("closed", n.closed).putObject("states")
      n.states.toSeq.sorted.foreach { case (id, state) => states.put(id, state) }
    }
    mapper.writeValueAsString(all)
  }

  private def note(node: JsonNode) = Note(
    node.required("decision").asText,
    node.required("generation").asLong,
    node.required("by").asText,
    Instant.parse(node.required("at").asText),
    node.required("resolution").asText,
    Option(node.get("cluster")).map(_.asText),
    node.required("closed").asBoolean,
    node.required("states").properties.asScala.map(p => p.getKey -> p.getValue.asText).toMap
  )
}
