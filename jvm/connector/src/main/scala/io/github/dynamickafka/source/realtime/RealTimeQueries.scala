package io.github.dynamickafka.source.realtime

import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.StreamingQuery

/** The sources of this driver's queries in real-time mode, by the id of the query. Thread-safe. */
private[dynamickafka] object RealTimeQueries {
  private val all = ConcurrentHashMap.newKeySet[(UUID, RealTimeBatches)]()
  private val LookEveryMs = 50L

  private[realtime] def add(query: UUID, source: RealTimeBatches): Unit = { val _ = all.add(query -> source) }

  private[realtime] def remove(source: RealTimeBatches): Unit = { val _ = all.removeIf(_._2 eq source) }

  /** Stops a query when its batch has ended and is logged, so that the next start repeats nothing. Other queries are stopped at once. */
  def stop(query: StreamingQuery): Unit = {
    val sources = all.asScala.toSeq.collect { case (id, source) if id == query.id => source }
    sources.foreach(_.stopAfterBatch())
    // One of them holds the thread of the query before its next batch.
    while (sources.nonEmpty && query.isActive && !sources.exists(_.awaitHeld(LookEveryMs, TimeUnit.MILLISECONDS))) ()
    query.stop()
  }
}
