package io.github.dynamickafka.source

import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.SupportsRead
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.connector.read.streaming.{
  MicroBatchStream,
  ReadLimit,
  ReportsSourceMetrics,
  SupportsAdmissionControl
}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.{DynamicKafka, DynamicKafkaProvider}

/** The stream as Spark's engine calls it: planning, and calls before the first batch. */
class PlanningSuite extends Queries {

  private type Stream = MicroBatchStream with SupportsAdmissionControl with ReportsSourceMetrics

  private def scanOf(s: Query, more: (String, String)*): Scan = {
    val _ = spark
    val options = new CaseInsensitiveStringMap(s.options(more: _*).asJava)
    val provider = new DynamicKafkaProvider
    val table = provider.getTable(provider.inferSchema(options), Array.empty, options.asCaseSensitiveMap)
    table.asInstanceOf[SupportsRead].newScanBuilder(options).build()
  }

  private def streaming(scan: Scan, s: Query)(body: Stream => Unit): Unit = {
    val stream = scan.toMicroBatchStream(s.folder.resolve("planning").toString).asInstanceOf[Stream]
    try body(stream)
    finally stream.stop()
  }

  test("planning is not repeated: not columnar, and the same partitions for the same batch") {
    onBoth(Seq("a", "b", "c")) { (s, topic) =>
      val scan = scanOf(s)
      assert(scan.columnarSupportMode() == Scan.ColumnarSupportMode.UNSUPPORTED)
      streaming(scan, s) { stream =>
        val start = stream.initialOffset()
        val end = stream.latestOffset(start, ReadLimit.allAvailable())
        val planned = stream.planInputPartitions(start, end)
        assert(planned.length == 4)
        assert(stream.planInputPartitions(start, end) eq planned)
        // The engine also passes offsets that it has read from its log.
        val (from, to) = (stream.deserializeOffset(start.json), stream.deserializeOffset(end.json))
        assert(stream.planInputPartitions(from, to) eq planned)
        produce(blue, topic, 2, Seq("d", "e"))
        val next = stream.latestOffset(end, ReadLimit.allAvailable())
        assert(stream.planInputPartitions(end, next).length == 2)
      }
    }
  }

  test("equal offsets have equal text, and without a change the latest offset is the start offset itself") {
    onBoth(Seq("a", "b", "c")) { (s, _) =>
      streaming(scanOf(s), s) { stream =>
        val start = stream.initialOffset()
        assert(stream.initialOffset() == start)
        val end = stream.latestOffset(start, ReadLimit.allAvailable())
        assert(stream.latestOffset(end, ReadLimit.allAvailable()) eq end)
        val read = stream.deserializeOffset(end.json)
        assert(read == end && read.json == end.json && !end.json.contains("\n"))
        assert(stream.latestOffset(read, ReadLimit.allAvailable()).json == end.json)
      }
    }
  }

  test("calls that Spark may make before the first offset throw nothing") {
    onBoth(Seq("a", "b", "c")) { (s, _) =>
      streaming(scanOf(s), s) { stream =>
        assert(stream.reportLatestOffset() == null)
        assert(stream.metrics(Optional.empty()).get("kafkaClustersCount") == "0")
        stream.commit(stream.initialOffset())
      }
    }
  }

  test("the reported latest offset is Kafka's, independent of the trigger's limit") {
    onBoth(Seq("a", "b", "c")) { (s, topic) =>
      streaming(scanOf(s), s) { stream =>
        val end = stream.latestOffset(stream.initialOffset(), ReadLimit.maxRows(1))
        assert(end.json != stream.reportLatestOffset().json)
        assert(
          stream.reportLatestOffset().json ==
            s"""{"version":2,"clusters":{"blue":{"$topic":{"0":2,"1":1}},"green":{"$topic":{"0":2,"1":1}}}}"""
        )
      }
    }
  }

  test("the texts of scan, stream and partitions contain no client property") {
    scene { s =>
      val topic = newTopicOn(1, blue)
      produce(blue, topic, 1, Seq("a"))
      s.orders(Entry("blue", blue, topic).and("ssl.keystore.password", "hush-hush"))
      val scan = scanOf(s, "kafka.ssl.key.password" -> "hush-hush")
      streaming(scan, s) { stream =>
        val start = stream.initialOffset()
        val partitions =
          stream.planInputPartitions(start, stream.latestOffset(start, ReadLimit.allAvailable()))
        val texts = partitions.map(_.toString) ++ Seq(scan.toString, scan.description, stream.toString)
        texts.foreach(text => assert(!text.contains("hush-hush"), text))
      }
    }
  }

  test("a service object given to the builder: used, inactive clusters, not closed with the query") {
    onBoth(Seq("a", "b", "c")) { (s, topic) =>
      s.service.inactive = Set("green")
      val frame = DynamicKafka.builder(spark)
        .setKafkaMetadataService(s.service)
        .setStreamIds("orders")
        .setOption("stream-metadata-discovery-interval-ms", "50")
        .load()
      val query = s.start(frame)
      try {
        settle(query)
        assertSame(s.seen, stored("blue", blue, topic))
        s.service.inactive = Set.empty
        s.service.awaitAnswers()
        settle(query)
        assertSame(s.seen, storedOnBoth(topic))
      } finally query.stop()
      assert(s.service.closed.getCount == 1)
    }
  }
}
