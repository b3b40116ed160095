package io.github.dynamickafka.source.read

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.util.LongAccumulator

import io.github.dynamickafka.config.Options
import io.github.dynamickafka.format.Layout

/** Runs a [[TaskDecoder]] over values, and counts bad records. */
final class ReadRecords {
  val counts: DecodeCounts = DecodeCounts(new LongAccumulator, new LongAccumulator, new LongAccumulator)

  def layout(options: (String, String)*): Layout =
    Options.parse(options: _*).records.format.layout(None, includeHeaders = false)

  /** All rows of these values, copied as Spark copies them. */
  def rows(layout: Layout)(values: String*): Seq[Seq[Any]] =
    of(new TaskDecoder(Decoding(layout, counts)), "blue", layout)(
      values.map(value => if (value == null) null else value.getBytes(UTF_8)): _*
    )

  /** @param decoder of a task, which has read records of other clusters */
  def of(decoder: TaskDecoder, cluster: String, layout: Layout)(values: Array[Byte]*): Seq[Seq[Any]] = {
    val of = decoder.rows(cluster, "orders")
    val convert = CatalystTypeConverters.createToScalaConverter(layout.schema)
    val project = UnsafeProjection.create(layout.schema)
    values.zipWithIndex.flatMap { case (bytes, i) =>
      val record = new ConsumerRecord[Array[Byte], Array[Byte]]("customers", 3, i.toLong, null, bytes)
      val all = Seq.newBuilder[Seq[Any]]
      var row = of.of(record)
      while (row != null) {
        all += convert(project(row).copy()).asInstanceOf[Row].toSeq.map {
          case b: Array[Byte] => new String(b, UTF_8)
          case d: java.math.BigDecimal => d.toString
          case v => v
        }
        row = of.more()
      }
      all.result()
    }
  }
}
