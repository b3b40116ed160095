package io.github.dynamickafka.source.simulation

import io.github.dynamickafka.offset.{ClusterIdentity, OffsetRange}

/** The tasks of micro-batches. */
private[simulation] final class ModelTasks(
    world: World,
    truth: ModelTruth,
    defect: Defect,
    copies: Option[ModelReplacements] = None
) {

  /**
   * What a task returns: as `Replay` and `RangeConsumer` do, it looks whether the log is that of the range.
   *
   * @return the records, and those of them that a leader has written who was elected after the range was logged: the next
   *         batch finds them
   */
  def read(
      id: String,
      logged: ClusterIdentity,
      range: OffsetRange,
      replay: Boolean
  ): (Vector[Long], Vector[Long]) = {
    val isOtherCluster = ClusterIdentity.differ(logged.kafkaId, Some(world.clusters(id).id))
    if (replay && isOtherCluster) copies.foreach(_.givenUp(logged, range))
    world.topic(id, range.topic).filter { topic =>
      val isOther = ClusterIdentity.differ(range.log.topicId, Some(topic.id))
      !(replay && defect.comparesReplays && (isOther || isOtherCluster)) &&
      !(defect.comparesInTasks && isOther)
    }.filter(_.logs.size > range.partition)
      .fold((Vector.empty[Long], Vector.empty[Long])) { topic =>
        val log = topic.logs(range.partition)
        range.epoch.map(log.endOf).filter(_ < range.from).foreach(truth.truncated(topic, log, range, _))
        val later = logged.epochs.get(range.topic, range.partition).map(log.endOf)
        (
          log.read(range.from, range.until),
          later.fold(Vector.empty[Long])(at => log.read(math.max(at, range.from), range.until))
        )
      }
  }
}
