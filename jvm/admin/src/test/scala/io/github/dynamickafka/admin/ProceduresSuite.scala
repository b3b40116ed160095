package io.github.dynamickafka.admin

import org.apache.spark.sql.catalyst.parser.ParseException

import io.github.dynamickafka.source.{Entry, Queries}

/** Calls that read the metadata service or a checkpoint, on brokers. */
class ProceduresSuite extends Queries {

  test("streams and clusters: what the metadata service says now, by name and by position") {
    target { t =>
      val entries = Seq(Entry("blue", blue, "orders-v1"), Entry("green", green, "orders-v2").draining)
      t.streams("orders" -> entries, "eu.orders" -> entries.take(1))
      t.service.formats = Map("orders" -> Map("format" -> "json", "schema" -> "id INT"))
      val k = catalog(t.options())
      assert(columns(s"CALL $k.system.streams()") == "stream STRING,clusters ARRAY<STRING>,format STRING")
      assert(
        rows(s"CALL $k.system.streams()") ==
          Seq(row("eu.orders", Seq("blue"), "raw"), row("orders", Seq("blue", "green"), "json"))
      )
      assert(
        columns(s"CALL $k.system.clusters()") ==
          "stream STRING,cluster STRING,state STRING,write BOOLEAN,topics ARRAY<STRING>"
      )
      val ofOrders = Seq(
        row("orders", "blue", "active", true, Seq("orders-v1")),
        row("orders", "green", "draining", true, Seq("orders-v2"))
      )
      val ofEurope = row("eu.orders", "blue", "active", true, Seq("orders-v1"))
      assert(rows(s"CALL $k.system.clusters()") == ofEurope +: ofOrders)
      assert(rows(s"CALL $k.system.clusters('orders')") == ofOrders)
      assert(rows(s"CALL $k.SYSTEM.Clusters(stream => 'orders')") == ofOrders)
      t.streams("late" -> entries.take(1))
      assert(rows(s"CALL $k.system.streams()").map(_.head) == Seq("late"))
    }
  }

  test("an unknown procedure names the nearest one, an unknown stream the nearest id") {
    target { t =>
      t.streams("orders" -> Seq(Entry("blue", blue, "t")))
      val k = catalog(t.options())
      val (unknown, text) = error(s"CALL $k.system.stream()")
      assert(unknown == "UNKNOWN_PROCEDURE" && text.contains("Did you mean 'system.streams'?"), text)
      assert(error(s"CALL $k.streams()")._2.contains("Did you mean 'system.streams'?"))
      val (refused, why) = error(s"CALL $k.system.clusters('order')")
      assert(
        refused == "PROCEDURE_REFUSED" && why.contains(
          "there is no stream 'order'. Did you mean 'orders'?"
        ) && !why.contains("changed"),
        why
      )
    }
  }

  test("offsets and lag of a query: positions, what is retained, and a cluster that does not answer") {
    val topic = newTopicOn(1, blue, green, red)
    Seq(blue, green, red).foreach(produce(_, topic, 1, Seq("a", "b", "c")))
    scene { s =>
      val all = Seq(Entry("blue", blue, topic), Entry("green", green, topic), Entry("red", red, topic))
      s.orders(all: _*)
      s.catchUp()
      s.orders(all.take(2): _*)
      produce(blue, topic, 1, Seq("d"))
      s.catchUp()
      produce(green, topic, 1, Seq("e", "f"))
      val checkpoint = s.checkpoint.toString
      val k = catalog(s.options("clusterRequestTimeoutMs" -> "4000"))
      val offsets = s"CALL $k.system.offsets(checkpoint => '$checkpoint'"
      assert(
        columns(s"$offsets)") ==
          "source INT,cluster STRING,topic STRING,partition INT,position BIGINT,state STRING"
      )
      assert(
        rows(s"$offsets)") == Seq(
          row(0, "blue", topic, 0, 4L, "active"),
          row(0, "green", topic, 0, 3L, "active"),
          row(0, "red", topic, 0, 3L, "retained")
        )
      )
      assert(rows(s"$offsets, batch => 0)").map(_(5)).toSet == Set("active"))
      assert(
        error(s"$offsets, batch => 9)")._2.contains("has no batch 9: its offset log has the batches 0 to 1")
      )
      assert(error(s"CALL $k.system.offsets('${newFolder()}')")._2.contains("it has no folder 'offsets'"))
      assert(error(s"CALL $k.system.offsets(NULL)")._2.contains("the argument 'checkpoint' is NULL"))
      assert(error(s"CALL $k.system.offsets('nofs://a/b')")._1 == "PROCEDURE_REFUSED")
      val lag = s"CALL $k.system.lag('file://$checkpoint')"
      assert(
        columns(
          lag
        ) == "source INT,cluster STRING,topic STRING,partition INT,position BIGINT,latest BIGINT," +
          "lag BIGINT,error STRING"
      )
      assert(
        rows(lag) == Seq(
          row(0, "blue", topic, 0, 4L, 4L, 0L, null),
          row(0, "green", topic, 0, 3L, 5L, 2L, null)
        )
      )
      // What has left the metadata is asked as the checkpoint says.
      s.orders(all.take(1): _*)
      assert(rows(lag).map(_(6)) == Seq(0L, 2L))
      s.orders(all.take(1) :+ all(1).copy(properties = Map("bootstrap.servers" -> "127.0.0.1:1")): _*)
      rows(lag).lastOption.foreach { silent =>
        assert(silent.take(5) == row(0, "green", topic, 0, 3L) && silent.slice(5, 7) == row(null, null))
        assert(silent(7).toString.startsWith("127.0.0.1:1: "), silent)
      }
    }
  }

  test("every procedure is described, and listed where Spark can") {
    target { t =>
      t.streams("orders" -> Seq(Entry("blue", blue, "t")))
      val k = catalog(t.options())
      val show = s"SHOW PROCEDURES IN $k.system"
      // Spark 4.0 has neither statement.
      if (spark.version.startsWith("4.0.")) intercept[ParseException](rows(show))
      else {
        val listed = rows(show).map(_.last.toString)
        assert(Seq(
          "streams",
          "clusters",
          "offsets",
          "lag",
          "transactions",
          "resolve"
        ).forall(listed.contains))
        val described = rows(s"DESCRIBE PROCEDURE $k.system.offsets").flatten.mkString("\n")
        assert(
          described.contains("offsets(checkpoint STRING, batch BIGINT DEFAULT NULL): The positions of"),
          described
        )
        listed.foreach(name => assert(rows(s"DESCRIBE PROCEDURE $k.system.$name").nonEmpty, name))
      }
    }
  }
}
