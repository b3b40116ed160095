package io.github.dynamickafka.source.read

import java.lang.management.ManagementFactory
import java.nio.ByteBuffer

import com.fasterxml.jackson.databind.ObjectMapper
import com.sun.management.OperatingSystemMXBean
import org.apache.spark.sql.functions.{col, count, length, lit, sum}
import org.apache.spark.sql.{DataFrame, SparkSession}

/**
 * Measures what columnar batches would gain, without Kafka: records in memory become Spark's rows as in the connector, or batches of
 * column vectors of which each has the columns that the query needs. Run by `spark-submit`: `ColumnsBenchmark <records> <rounds>
 * <directory>`. Prints a line of JSON for each query and each way, with the nanoseconds of each round and of the process's CPU,
 * after the same number of warm-up rounds; then a line for each size of a record, with what copying its bytes out of the buffer of
 * a response takes, which KIP-863 would save.
 */
object ColumnsBenchmark {
  private val Ways = Seq("rows", "columns")
  private val RecordSizes = Seq(100, 200, 950)
  private val BufferBytes = 1 << 20

  private val mapper = new ObjectMapper
  private val system = ManagementFactory.getPlatformMXBean(classOf[OperatingSystemMXBean])

  /** The last copy, volatile so that the compiler cannot eliminate it. */
  @volatile var sink: Array[Byte] = null

  private final case class Query(name: String, run: DataFrame => Unit)

  def main(args: Array[String]): Unit = {
    val Array(records, rounds) = args.take(2).map(_.toInt)
    val spark = SparkSession.builder().getOrCreate()
    try {
      val parquet = Query("parquet", _.write.mode("overwrite").parquet(args(2)))
      val noop = Query("noop", _.write.format("noop").mode("overwrite").save())
      val ofRaw = Query(
        "aggregation",
        frame => {
          val _ = frame.groupBy("partition").agg(count(lit(1)), sum(length(col("value")))).collect()
        }
      )
      val ofTyped = Query(
        "aggregation",
        frame => { val _ = frame.groupBy("country").agg(count(lit(1)), sum(col("amount"))).collect() }
      )
      Seq("raw" -> ofRaw, "json" -> ofTyped).foreach { case (kind, aggregation) =>
        Seq(noop, aggregation, parquet).foreach(measure(spark, kind, _, records, rounds))
      }
    } finally spark.stop()
    RecordSizes.foreach(copies(_, records, rounds))
  }

  private def measure(spark: SparkSession, kind: String, query: Query, records: Int, rounds: Int): Unit = {
    def once(way: String): (Long, Long) = {
      val frame = spark.read.format(classOf[RecordsInMemory].getName)
        .option(RecordsInMemory.Kind, kind).option(RecordsInMemory.Count, records.toLong)
        .option(RecordsInMemory.Columnar, way == "columns").load()
      timed(query.run(frame))
    }
    // In turn, so that a slow moment affects both.
    val all = (1 to 2 * rounds).map(_ => Ways.map(way => way -> once(way)).toMap).drop(rounds)
    Ways.foreach { way =>
      val line = mapper.createObjectNode().put("records_kind", kind).put("query", query.name).put("way", way)
        .put("records", records)
      val (nanos, cpu) = (line.putArray("nanos"), line.putArray("cpu_nanos"))
      all.foreach { round =>
        nanos.add(round(way)._1)
        cpu.add(round(way)._2)
      }
      println(mapper.writeValueAsString(line))
    }
  }

  private def copies(bytes: Int, records: Int, rounds: Int): Unit = {
    val buffer = ByteBuffer.allocate(BufferBytes)
    val all = (1 to 2 * rounds).map { _ =>
      timed((0 until records).foreach { i =>
        val copy = new Array[Byte](bytes)
        buffer.get((i * bytes) % (BufferBytes - bytes), copy)
        sink = copy
      })
    }.drop(rounds)
    val line = mapper.createObjectNode().put("copied_bytes", bytes).put("records", records)
    val nanos = line.putArray("nanos")
    all.foreach(round => nanos.add(round._1))
    println(mapper.writeValueAsString(line))
  }

  /** The nanoseconds that it takes, and those of CPU in all threads of this process. */
  private def timed(run: => Unit): (Long, Long) = {
    val (begin, cpu) = (System.nanoTime(), system.getProcessCpuTime)
    run
    (System.nanoTime() - begin, system.getProcessCpuTime - cpu)
  }
}
