package io.github.dynamickafka.sink

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.compress.Compression
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.kafka.TopicLimits
import io.github.dynamickafka.testkit.TimeLimit

class TopicLimitsSuite extends AnyFunSuite with TimeLimit {
  private def limits(settings: (String, String)*) = TopicLimits(settings.toMap.get)

  test("a record without a key in a compacted topic, and a timestamp too far from now, are refused") {
    val compacted = limits("cleanup.policy" -> "delete,compact")
    assert(compacted.refuses(hasKey = false, None, 0L).exists(_.contains("has no key")))
    assert(compacted.refuses(hasKey = true, Some(7L), 0L).isEmpty)
    val dated =
      Seq("message.timestamp.before.max.ms" -> "1000", "message.timestamp.after.max.ms" -> "500")
    def refused(of: TopicLimits) =
      Seq(8999L, 9000L, 10500L, 10501L).map(t => of.refuses(hasKey = false, Some(t), 10000L).isDefined)
    assert(refused(limits(dated: _*)) == Seq(true, false, false, true))
    assert(refused(limits(dated :+ ("message.timestamp.type" -> "LogAppendTime"): _*)).forall(!_))
    assert(refused(limits()).forall(!_))
  }

  test("the size of a record is that of a batch with it alone, as Kafka writes it") {
    val random = new Random(7)
    def bytes(most: Int) = Option.when(random.nextInt(5) > 0)(random.nextBytes(random.nextInt(most))).orNull
    (1 to 500).foreach { _ =>
      val headers = Seq.fill[Header](random.nextInt(3))(
        new RecordHeader("\u00e4" * random.nextInt(90), bytes(200))
      )
      val record =
        new ProducerRecord[Array[Byte], Array[Byte]]("t", null, bytes(300), bytes(30000), headers.asJava)
      val kafka = TopicLimitsSuite.sizeInBytes(record)
      def of(most: Int) = limits("max.message.bytes" -> most.toString).tooLarge(record)
      assert(of(kafka).isEmpty && of(kafka - 1).exists(_.contains(kafka.toString)))
    }
    assert(limits().tooLarge(new ProducerRecord("t", new Array[Byte](100), null)).isEmpty)
  }

  test("the batches of a producer fit into the smallest of its topics") {
    val some = Seq("1048588", "20000", "100000").map(n => limits("max.message.bytes" -> n))
    assert(WrittenTopics.batchSize(some).contains(19488))
    assert(WrittenTopics.batchSize(some.take(1)).isEmpty)
    assert(WrittenTopics.batchSize(Nil).isEmpty)
  }
}

private[sink] object TopicLimitsSuite {

  /** Kafka's classes of records, which are internal: client 4.3 has them in another package. */
  private val (batch, single) = {
    def of(name: String) = Seq("internal.", "").flatMap(folder =>
      Try(Class.forName(s"org.apache.kafka.common.record.$folder$name")).toOption
    ).head
    (of("MemoryRecords"), of("SimpleRecord"))
  }
  private val bytes = classOf[Array[Byte]]
  private val record = single.getConstructor(classOf[Long], bytes, bytes, classOf[Array[Header]])

  /** The bytes of a batch of Kafka with this record alone. */
  def sizeInBytes(of: ProducerRecord[Array[Byte], Array[Byte]]): Int = {
    val one = java.lang.reflect.Array.newInstance(single, 1)
    java.lang.reflect.Array.set(
      one,
      0,
      record.newInstance(Long.box(7L), of.key, of.value, of.headers.toArray)
    )
    val made =
      batch.getMethod("withRecords", classOf[Compression], one.getClass).invoke(null, Compression.NONE, one)
    batch.getMethod("sizeInBytes").invoke(made).asInstanceOf[Int]
  }
}
