package io.github.dynamickafka.sink.commit

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import scala.reflect.ClassTag
import scala.util.control.NonFatal

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{DeserializationFeature, SerializationFeature}
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.github.dynamickafka.error.Errors

/**
 * The decision to commit a batch. After it is written, the batch will be committed, regardless of failures.
 *
 * @param run the run that decided, with its instance of the journal and its generation
 * @param input what Spark had planned for the batch, so that another plan with the same number is recognized
 * @param round 0, or the number of times that lost parts of the batch were written again
 * @param clusters the clusters of the transactions
 * @param leftOut the clusters that were left out of the batch, so that its lost parts are routed as before
 */
private[sink] final case class JournalEntry(
    queryId: String,
    run: String,
    instance: String,
    generation: Long,
    batch: Long,
    round: Int,
    input: BatchInput,
    transactions: Seq[Prepared],
    clusters: Map[String, JournalCluster],
    leftOut: Set[String] = Set.empty
) {

  /** Kafka's id of a cluster at the decision. */
  def kafkaId(cluster: String): Option[String] = clusters.get(cluster).flatMap(_.kafkaId)
}

/**
 * @param kafkaId Kafka's id of the cluster; None: it has none
 * @param properties the connection properties without secrets, for a restart after the cluster has left the metadata
 * @param topicIds Kafka's ids of the topics of the transactions, as far as it has returned them
 */
private[sink] final case class JournalCluster(
    kafkaId: Option[String],
    properties: Map[String, String],
    topicIds: Map[String, String] = Map.empty
)

/**
 * Identifies the rows of a batch by the files in the checkpoint that define them, because a batch that is planned again
 * has the same number and may have other rows: the batch's file in Spark's offset log, and the deferrals of a source, which
 * leave ranges of these offsets out.
 *
 * @param digests SHA-256 of the content, by the path of the file in the checkpoint
 */
private[sink] final case class BatchInput(digests: Map[String, String]) {

  /** What differs in `now`, for an error message; None if both are equal. */
  def difference(now: BatchInput): Option[String] = {
    def shown(input: BatchInput, file: String) = input.digests.getOrElse(file, "no such file")
    val differing = (digests.keySet ++ now.digests.keySet).toSeq.sorted
      .filter(file => digests.get(file) != now.digests.get(file))
      .map(file => s"'$file' had SHA-256 ${shown(this, file)} and now has ${shown(now, file)}")
    Option.when(differing.nonEmpty)(differing.mkString(", "))
  }

  /** With this content of a file; None: without the file. */
  def having(file: String, text: Option[String]): BatchInput =
    BatchInput((digests - file) ++ text.map(file -> BatchInput.digest(_)))

  /** The files that only `now` has, for an error message; None if there are none. */
  def additions(now: BatchInput): Option[String] =
    Option((now.digests.keySet -- digests.keySet).toSeq.sorted.map(file => s"'$file'").mkString(", "))
      .filter(_.nonEmpty)
}

private[dynamickafka] object BatchInput {

  /** For a job, which has no offset log. */
  val Empty: BatchInput = BatchInput(Map.empty)

  /** @param contents by the path of the file in the checkpoint */
  def of(contents: (String, String)*): BatchInput =
    BatchInput(contents.map { case (file, text) => file -> digest(text) }.toMap)

  def digest(text: String): String =
    MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)).map(b => f"${b & 0xff}%02x").mkString
}

/**
 * The right of a run to decide batches and to abort transactions, as long as no later run has claimed the journal.
 *
 * @param run unique for each start
 * @param instance identifies the journal. A copy of a checkpoint has another one, so that its query does not abort
 *                 transactions of the original query
 * @param generation grows with each run on this journal
 * @param location where the journal was when it was claimed
 */
private[sink] final case class Claim(
    queryId: String,
    run: String,
    instance: String,
    generation: Long,
    location: String
)

/**
 * The transactional ids of a run that has ended, with no attempt of a task that may still use them.
 *
 * @param slot what the ids begin with
 * @param cluster where the id is that guards the slot
 * @param producerId with `epoch`, what Kafka has given to the run for that id
 * @param location the journal. The slots of a copy belong to the original
 */
private[sink] final case class FreeSlot(
    slot: String,
    cluster: String,
    producerId: Long,
    epoch: Short,
    location: String
)

/**
 * Who has resolved a decision, when, and how.
 *
 * @param decision the digest of the decision: the batch may be decided again after `rewrite`
 * @param at as in ISO 8601
 * @param cluster of `abandon-cluster`
 * @param closed whether the decision was closed. A note is written before the first step, without it
 * @param states what has become of the transactions, by transactional id
 */
private[sink] final case class Note(
    decision: String,
    generation: Long,
    by: String,
    at: String,
    resolution: String,
    cluster: Option[String],
    closed: Boolean,
    states: Map[String, String]
)

/** The notes about all decisions of a round of a batch, the last one last. */
private[sink] final case class Notes(notes: Seq[Note])

/**
 * A transaction whose records are all in Kafka, and which stays open until it is committed or aborted.
 *
 * @param partition the number of the task in its batch
 * @param rows the number of records
 * @param topics the topics of the records
 */
private[sink] final case class Prepared(
    cluster: String,
    transactionalId: String,
    producerId: Long,
    epoch: Short,
    partition: Int,
    rows: Long,
    topics: Seq[String]
)

/**
 * The message of a task to the driver.
 *
 * @param retried whether an earlier attempt may have left an open transaction
 * @param withheld the number of records, by cluster, that were not written because this task's part is already
 *                 committed
 * @param ages how long its transactions have been open
 */
private[sink] final case class TaskTransactions(
    prepared: Seq[Prepared],
    retried: Boolean,
    partition: Int,
    withheld: Map[String, Long],
    ages: Ages
) extends WriterCommitMessage

/**
 * How long the transactions of a task had been open when they were prepared.
 *
 * @param openMs by cluster, in milliseconds, by the monotonic clock of the executor
 * @param atMs when they were prepared, in milliseconds since the epoch by the clock of the executor
 */
private[sink] final case class Ages(openMs: Map[String, Long], atMs: Long) {

  /**
   * The age of the transaction on a cluster now.
   *
   * @param sinceStartMs the time since the tasks were started: no transaction is older, whatever the clocks say
   * @param nowMs milliseconds since the epoch, by the clock of the driver
   */
  def of(cluster: String, sinceStartMs: Long, nowMs: Long): Long =
    openMs.get(cluster).fold(sinceStartMs)(open => math.min(sinceStartMs, open + math.max(0L, nowMs - atMs)))
}

private[sink] object Ages {
  val none: Ages = Ages(Map.empty, 0L)
}

/** The codec of all files of a journal, version 2. A missing field or another version is an error. */
private[dynamickafka] object JournalJson {
  val Version = 2
  private val mapper = JsonMapper.builder().addModule(DefaultScalaModule)
    .enable(
      DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES,
      DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES,
      DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES
    )
    .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
    .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS).build()

  def write(entry: AnyRef): String = {
    val root = mapper.createObjectNode().put("version", Version)
    mapper.writeValueAsString(root.setAll[ObjectNode](mapper.valueToTree[ObjectNode](entry)))
  }

  /** @param where the file, for the error message */
  def read[A](text: String, where: String)(implicit kind: ClassTag[A]): A =
    try
      mapper.readTree(text) match {
        case root: ObjectNode =>
          val version = root.path("version").asInt
          if (version != Version) throw new IllegalArgumentException(
            s"it has version $version, but this version of the connector supports version $Version"
          )
          mapper.treeToValue(root, kind.runtimeClass).asInstanceOf[A]
        case _ => throw new IllegalArgumentException("it is not a JSON object")
      }
    catch {
      case NonFatal(e) =>
        val why = e match {
          case json: JsonProcessingException => json.getOriginalMessage
          case other => other.getMessage
        }
        throw Errors.journalConflict(where, s"it cannot be read: $why", e)
    }

  def digest(entry: JournalEntry): String = BatchInput.digest(write(entry))

  /** A decision when clusters get other ids. */
  def renamedDecision(text: String, where: String)(id: String => String): String = {
    val entry = read[JournalEntry](text, where)
    write(entry.copy(
      transactions = entry.transactions.map(t => t.copy(cluster = id(t.cluster))),
      clusters = entry.clusters.map { case (cluster, of) => id(cluster) -> of },
      leftOut = entry.leftOut.map(id)
    ))
  }

  /** The same for free transactional ids. */
  def renamedSlot(text: String, where: String)(id: String => String): String = {
    val slot = read[FreeSlot](text, where)
    write(slot.copy(cluster = id(slot.cluster)))
  }
}
