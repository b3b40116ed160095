package io.github.dynamickafka.format.table

import java.lang.management.ManagementFactory
import java.net.{URL, URLClassLoader}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.format.json.Json
import io.github.dynamickafka.format.{DecodedValues, SideFormat, SideLayout}

/**
 * Measures the decoder of JSON over the records of step `json`, which are bytes in memory, in one thread: `JsonBenchmark <records>
 * <rounds> <other class path>`. The other class path has the connector and this program of another commit, whose decoder takes
 * turns with that of this one. Prints a line of JSON for each kind of record and each decoder, with the nanoseconds of CPU of each
 * round, after the same number of warm-up rounds.
 */
object JsonBenchmark {

  /** @param columns the DDL of the columns that are decoded */
  private final case class Records(name: String, columns: String, of: Int => String)

  private val small = Records(
    "small",
    "id BIGINT, customer STRING, amount DOUBLE, paid BOOLEAN, at TIMESTAMP, country STRING",
    i => {
      val at = java.time.Instant.ofEpochSecond(1700000000L + i)
      s"""{"id":$i,"customer":"customer-${f"${i * 31L}%064x"}","amount":${i * 0.25},"paid":${i % 2 == 0},"at":"$at",""" +
        s""""country":"Denmark"}"""
    }
  )
  private val wide = Records(
    "wide",
    "field_04 BIGINT, field_21 STRING, field_38 STRING",
    i =>
      (0 until 40).map(n => f""""field_$n%02d":${if (n % 4 == 0) s"$i" else f""""${i * 31L + n}%012x""""}""")
        .mkString("{", ",", "}")
  )

  /** Decodes all records once, by the classes of the class loader of this class. Called by name. */
  def decoder(columns: String, records: Array[Array[Byte]]): Runnable = {
    val schema = StructType.fromDDL(columns)
    val side = SideLayout(SideFormat(Json, Map.empty), schema, schema.indices)
    val (decoder, into) = (Decoders.of(side), new DecodedValues(side.types))
    () =>
      records.foreach { record =>
        val failure = decoder.decode(record, into)
        if (failure ne null) sys.error(failure.reason)
      }
  }

  def main(args: Array[String]): Unit = {
    val Array(count, rounds) = args.take(2).map(_.toInt)
    val threads = ManagementFactory.getThreadMXBean
    val mapper = new ObjectMapper
    val other = new Own(args(2).split(java.io.File.pathSeparator).map(Path.of(_).toUri.toURL))
    Seq(small, wide).foreach { records =>
      val bytes = Array.tabulate(count)(records.of(_).getBytes(UTF_8))
      val decoders = Seq(
        "product" -> decoder(records.columns, bytes),
        "other" -> other.loadClass(getClass.getName.stripSuffix("$"))
          .getMethod("decoder", classOf[String], classOf[Array[Array[Byte]]])
          .invoke(null, records.columns, bytes).asInstanceOf[Runnable]
      )
      def measured(decoder: Runnable) = {
        val begin = threads.getCurrentThreadCpuTime
        decoder.run()
        threads.getCurrentThreadCpuTime - begin
      }
      // The reader that is first may affect the other one.
      val all = (1 to 2 * rounds).map(n =>
        (if (n % 2 == 0) decoders else decoders.reverse).map { case (name, d) => name -> measured(d) }.toMap
      )
      decoders.foreach { case (name, _) =>
        val line = mapper.createObjectNode().put("records_kind", records.name).put("reader", name)
          .put("records", count).put("bytes", bytes.map(_.length.toLong).sum)
        val nanos = line.putArray("cpu_nanos")
        all.drop(rounds).foreach(round => nanos.add(round(name)))
        println(mapper.writeValueAsString(line))
      }
    }
  }

  /** Loads the connector's classes from its own class path, and all others as usual. */
  private final class Own(urls: Array[URL]) extends URLClassLoader(urls, getClass.getClassLoader) {
    override def loadClass(name: String, resolve: Boolean): Class[_] =
      if (!name.startsWith("io.github.dynamickafka.")) super.loadClass(name, resolve)
      else getClassLoadingLock(name).synchronized(Option(findLoadedClass(name)).getOrElse(findClass(name)))
  }
}
