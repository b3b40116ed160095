package io.github.dynamickafka.sink

import org.apache.spark.sql.{AnalysisException, DataFrame}

import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.source.{Entry, Queries, Query, Target}

/** What is refused before anything is written, and what is accepted. */
class ChecksSuite extends Queries {

  /** The error of a query that fails to start. */
  private def atStart(t: Target, frame: DataFrame, more: (String, String)*): DynamicKafkaError =
    intercept[IllegalArgumentException](t.start(frame, more: _*)) match {
      case ours: DynamicKafkaError => ours
      case other => throw other
    }

  private def streaming(s: Query): DataFrame = {
    s.orders(Entry("blue", blue, newTopicOn(1, blue)))
    s.frame()
  }

  private def setting[A](options: (String, String)*)(body: => A): A = {
    val names = options.map { case (name, value) => s"spark.datasource.dynamic-kafka.$name" -> value }
    names.foreach { case (name, value) => spark.conf.set(name, value) }
    try body
    finally names.foreach { case (name, _) => spark.conf.unset(name) }
  }

  test("options and columns are checked when the query or the job is started") {
    target { t =>
      t.out(Entry("blue", blue, newTopicOn(1, blue)))
      scene { s =>
        val frame = streaming(s)
        val misspelt = atStart(t, frame, "clusterRooting" -> "all")
        assert(condition(misspelt) == "UNKNOWN_OPTION" && text(misspelt).contains("'clusterRouting'"))
        assert(condition(atStart(t, frame, "startingOffsets" -> "latest")) == "INVALID_OPTION")
        val column = atStart(t, frame.selectExpr("key"))
        assert(condition(column) == "INVALID_COLUMN" && text(
          column
        ).contains("column 'value': the column is required"))
      }
      val plural = refused(t.save(rows(0, 1), "streamIds" -> "out"))
      assert(condition(plural) == "INVALID_OPTION" && text(plural).contains("'streamId'"))
      val only = refused(rows(0, 1).write.format("dynamic-kafka").mode("append")
        .options(t.options("stream-ids" -> "out") - "streamId").save())
      assert(condition(only) == "INVALID_OPTION" && text(only).contains("'streamId'"))
      assert(condition(refused(t.save(rows(0, 1).selectExpr("1L as value")))) == "INVALID_COLUMN")
      val letters = refused(t.save(rows(0, 1), "deadLetterTopic" -> "dead", "deadLetterCluster" -> "nowhere"))
      assert(condition(letters) == "INVALID_OPTION" && text(letters).contains("'nowhere'"))
    }
  }

  test("the stream is given by 'streamId' or by a column") {
    target { t =>
      val topic = newTopicOn(1, blue)
      t.out(Entry("blue", blue, topic))
      def save(frame: DataFrame): Unit =
        frame.write.format("dynamic-kafka").options(t.options() - "streamId").mode("append").save()
      val error = refused(save(rows(0, 1)))
      assert(condition(error) == "MISSING_OPTION" && text(error).contains("a column 'stream'"))
      save(rows(0, 2).selectExpr("*", "'out' as stream"))
      assert(values(blue, topic) == Seq("0", "1"))
    }
  }

  test("at-least-once with acks=0 in the metadata is refused, and nothing is written") {
    target { t =>
      val topic = newTopicOn(1, blue)
      t.out(Entry("blue", blue, topic).and("acks", "0"))
      val error = refused(t.save(rows(0, 1)))
      assert(
        condition(error) == "METADATA_INVALID" && text(error).contains("cluster 'blue', property 'acks'")
      )
      t.save(rows(1, 2), "deliveryGuarantee" -> "none")
      eventually(assert(values(blue, topic) == Seq("1")))
    }
  }

  test("a batch write appends, and any other mode is refused; the metadata service is asked once") {
    target { t =>
      val topic = newTopicOn(1, blue)
      t.out(Entry("blue", blue, topic))
      Seq("overwrite", "ignore", "error", "errorifexists").foreach { mode =>
        intercept[AnalysisException] {
          rows(0, 1).write.format("dynamic-kafka").options(t.options()).mode(mode).save()
        }
      }
      val calls = t.service.callCount
      t.save(rows(0, 1))
      assert(t.service.callCount == calls + 1, "a job asks the metadata service once")
      assert(values(blue, topic) == Seq("0"))
    }
  }

  test(
    "session defaults apply to the side that has the option; options of the query are checked"
  ) {
    target { t =>
      val topic = newTopicOn(1, blue)
      t.out(Entry("blue", blue, topic))
      setting("startingOffsets" -> "latest", "streamIds" -> "out", "deadLetterTopic" -> "x") {
        t.save(rows(0, 1))
        assert(values(blue, topic) == Seq("0"))
        assert(spark.read.format("dynamic-kafka").options(t.options() - "streamId").load().count() == 0)
        assert(condition(refused(t.save(rows(0, 1), "startingOffsets" -> "earliest"))) == "INVALID_OPTION")
      }
      setting("deliveryGuarantee" -> "twice") {
        assert(text(refused(t.save(rows(0, 1)))).contains("'exactly-once'"))
      }
    }
  }

  test("without a format a read has fixed columns, and a schema of the user must be equal to them") {
    scene { s =>
      val own = streaming(s).schema
      def read(ddl: String) =
        spark.readStream.schema(ddl).format("dynamic-kafka").options(s.options()).load()
      assert(read(own.toDDL).schema == own)
      val error = refused(read("value STRING"))
      assert(condition(error) == "INVALID_OPTION" && text(error).contains("has fixed columns"))
    }
  }

  test("a query may have a name") {
    target { t =>
      scene { s =>
        val topic = newTopicOn(1, blue)
        t.out(Entry("blue", blue, topic))
        val from = newTopicOn(1, blue)
        s.orders(Entry("blue", blue, from))
        produce(blue, from, 1, Seq("a"))
        val query = s.frame().select("key", "value").writeStream.format("dynamic-kafka").options(t.options())
          .option("checkpointLocation", t.checkpoint.toString).queryName("named").start()
        try settle(query)
        finally query.stop()
        assert(values(blue, topic) == Seq("a"))
      }
    }
  }
}
