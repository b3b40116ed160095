package io.github.dynamickafka.source

import java.nio.file.Path
import java.{util => ju}

import org.apache.spark.sql.{DataFrame, SaveMode}

import io.github.dynamickafka.metadata.StreamHistory
import io.github.dynamickafka.testkit.KafkaCluster

/** Files with records of the stream `orders`. */
trait HistoryTest extends Queries {

  /** What the stream `orders` has in Kafka now, as a batch read returns it. */
  protected def archived(s: Query): DataFrame = s.batch("includeHeaders" -> "true")

  protected def write(frame: DataFrame, to: Path, format: String = "parquet", files: Int = 1): Unit =
    frame.repartition(files).write.format(format).mode(SaveMode.Append).save(to.toString)

  protected def history(path: Path, format: String = "parquet", cluster: String = null) =
    Map("orders" -> new StreamHistory(format, path.toString, ju.Map.of(), cluster))

  /** Removes the records up to these offsets from a topic. */
  protected def expire(cluster: KafkaCluster, topic: String, before: (Int, Long)*): Unit =
    before.foreach { case (partition, offset) => cluster.deleteRecords(topic, partition, offset) }

  /** Six records on blue and on green, which are then in a history and no longer in Kafka, and four that follow. */
  protected def twoClusters(format: String = "parquet", change: DataFrame => DataFrame = identity)(
      body: (Query, String, Seq[Seen], Path) => Any
  ): Unit = scene { s =>
    val topic = newTopicOn(2, blue, green)
    s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
    Seq(blue, green).foreach(produce(_, topic, 2, values("old", 6)))
    val path = s.folder.resolve("archive")
    write(change(archived(s)), path, format, files = 3)
    val old = storedOnBoth(topic)
    Seq(blue, green).foreach(expire(_, topic, 0 -> 3L, 1 -> 3L))
    Seq(blue, green).foreach(produce(_, topic, 2, values("new", 4)))
    body(s, topic, old ++ storedOnBoth(topic), path)
    ()
  }

  protected def typed(s: Query, more: (String, String)*): DataFrame =
    s.frame(more ++ Seq("format" -> "json", "schema" -> "id BIGINT, name STRING"): _*)
      .selectExpr("cluster", "topic", "partition", "offset", "concat(id, name) as value", "stream")
}
