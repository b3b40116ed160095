package io.github.dynamickafka.source

import java.nio.file.Path

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

/** Changes of a database on brokers; what a record becomes is tested in `source.read`. */
class ChangeDataSuite extends Queries {

  private val Debezium = Seq(
    "format" -> "debezium-json",
    "schema" -> "id INT, v STRING",
    "metadataColumns" -> "cluster,offset,value.source.table AS origin",
    "maxOffsetsPerTrigger" -> "3"
  )

  private def update(id: Int, from: String, to: String) =
    s"""{"op": "u", "before": {"id": $id, "v": "$from"}, "after": {"id": $id, "v": "$to"}, "source": {"table": "t"}}"""

  private def write(frame: DataFrame, to: Path, checkpoint: Path): StreamingQuery =
    frame.writeStream.format("parquet").option("path", to.toString)
      .option("checkpointLocation", checkpoint.toString).trigger(Trigger.AvailableNow()).start()

  test("two clusters, one of them added, and a repeated batch: both rows of each update, in the same batch") {
    val topic = newTopicOn(1, blue, green)
    val (first, more) = ((1 to 7).map(i => update(i, "a", "b")), (1 to 4).map(i => update(i, "x", "y")))
    produce(blue, topic, 1, first)
    scene { of =>
      of.orders(Entry("blue", blue, topic))
      val checkpoint = of.folder.resolve("checkpoint-rows")
      def run(): StreamingQuery = {
        val query = write(of.frame(Debezium: _*), of.folder.resolve("rows"), checkpoint)
        assert(query.awaitTermination(300000))
        query
      }
      // Seven records with a limit of three are three batches, of two rows for each record.
      assert(run().recentProgress.map(_.numInputRows).filter(_ > 0).toSeq == Seq(6L, 6L, 2L))
      produce(green, topic, 1, more)
      produce(blue, topic, 1, Seq(update(8, "a", "b")))
      of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      // As after a crash: the last batch is repeated, which the sink recognizes.
      val commits = checkpoint.resolve("commits").toFile.listFiles().filter(_.getName.forall(_.isDigit))
      val last = commits.maxBy(_.getName.toInt)
      assert(last.delete() && new java.io.File(last.getParent, s".${last.getName}.crc").delete())
      val _ = run()
      val rows = spark.read.parquet(of.folder.resolve("rows").toString)
      val found = rows.select("cluster", "id", "v", "_change_type", "offset", "origin").collect().map(_.toSeq)
      def both(cluster: String, count: Int, from: String, to: String) = (1 to count).flatMap(id =>
        Seq(
          Seq[Any](cluster, id, from, "update_preimage", id - 1L, "t"),
          Seq[Any](cluster, id, to, "update_postimage", id - 1L, "t")
        )
      )
      val expected = both("blue", 8, "a", "b") ++ both("green", 4, "x", "y")
      assert(found.length == expected.length && found.toSet == expected.toSet)
    }
  }

  test("spark.read counts rows, not records, whatever is selected") {
    val topic = newTopicOn(1, blue)
    produce(blue, topic, 1, Seq(update(1, "a", "b"), update(2, "a", "b")))
    scene { of =>
      of.orders(Entry("blue", blue, topic))
      val options = Debezium.filterNot(_._1 == "maxOffsetsPerTrigger")
      assert(of.batch(options: _*).count() == 4)
      assert(of.batch(options: _*).where("_change_type = 'update_postimage'").select("v").collect().map(
        _.getString(0)
      ).toSeq == Seq("b", "b"))
    }
  }
}
