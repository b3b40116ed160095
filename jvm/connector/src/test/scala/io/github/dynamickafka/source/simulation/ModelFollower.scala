package io.github.dynamickafka.source.simulation

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{ClusterIdentity, OffsetRange, Positions}
import io.github.dynamickafka.source.realtime.TaskPositions

/** What a task of real-time mode reads of one partition, as `RangeConsumer.follow` does. */
private[simulation] final class ModelFollower(
    world: World,
    truth: ModelTruth,
    id: String,
    range: OffsetRange
) {
  private var at = range.from

  /** The leader epoch of the position of Kafka's client: it compares the log with it as soon as there is another leader. */
  private var epoch = range.epoch
  private var lastEpoch = Option.empty[Long]
  private var isClosed = false

  /** The records that are handed over, in order. */
  var rows = Vector.empty[Long]

  /** Whether the batch has to end, because there is nothing more to read here. */
  def asksForEnd: Boolean = isClosed

  /** @param most how many records to read at most */
  def read(most: Int): Unit =
    if (!isClosed && !world.down(id) && world.hasLeader(id, range.topic, range.partition))
      world.topic(id, range.topic).foreach { topic =>
        if (ClusterIdentity.differ(range.log.topicId, Some(topic.id))) isClosed = true
        else topic.logs.lift(range.partition).foreach(follow(topic, _, most))
      }

  private def follow(topic: ModelTopic, log: ModelLog, most: Int): Unit = {
    val diverges = epoch.map(log.endOf).filter(_ < at)
    if (at < log.first) continueAt(math.min(log.first, range.until))
    else if (diverges.isDefined || at > log.end) {
      if (at >= log.end) continueAt(range.until)
      else {
        diverges.foreach(truth.truncated(topic, log, range.copy(from = at), _))
        continueAt(at)
      }
    }
    if (!isClosed) {
      val until = math.min(math.min(log.end, range.until), at + most)
      if (until > at) {
        rows ++= log.read(at, until)
        at = until
        lastEpoch = Some(log.epochOf(at - 1))
        epoch = lastEpoch
      }
    }
    if (at >= range.until) isClosed = true
  }

  private def continueAt(next: Long): Unit = {
    epoch = None
    if (next == OffsetRange.NoEnd) isClosed = true else at = next
  }

  def positions: TaskPositions = {
    def of(value: Option[Long]) = SortedMap.from(value.map(v =>
      id -> Positions.from(Seq((range.topic, range.partition, v)))
    ))
    TaskPositions(of(Some(at)), of(lastEpoch))
  }
}
