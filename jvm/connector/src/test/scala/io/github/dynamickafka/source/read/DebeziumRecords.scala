package io.github.dynamickafka.source.read

import scala.jdk.CollectionConverters._

import org.apache.avro.Schema
import org.apache.avro.generic.{GenericData, GenericRecord}

import io.github.dynamickafka.format.avro.RandomAvro
import io.github.dynamickafka.schemaregistry.WireFormat

/** Debezium's records in Avro, as its documentation and Connect's converter have them, written by Avro's own library. */
object DebeziumRecords {

  /** With a place for the fields of the table. */
  val Envelope: String =
    """{"type":"record","name":"Envelope","namespace":"shop.public.customers","fields":[
      |{"name":"before","type":["null",{"type":"record","name":"Value","fields":[%s],
      |"connect.name":"shop.public.customers.Value"}],"default":null},
      |{"name":"after","type":["null","Value"],"default":null},
      |{"name":"source","type":{"type":"record","name":"Source","namespace":"io.debezium.connector.postgresql","fields":[
      |{"name":"version","type":"string"},{"name":"ts_ms","type":"long"},
      |{"name":"snapshot","type":[{"type":"string","connect.default":"false"},"null"],"default":"false"},
      |{"name":"db","type":"string"},{"name":"schema","type":"string"},{"name":"table","type":"string"},
      |{"name":"txId","type":["null","long"],"default":null}]}},
      |{"name":"op","type":"string"},{"name":"ts_ms","type":["null","long"],"default":null},
      |{"name":"transaction","type":["null",{"type":"record","name":"block","fields":[{"name":"id","type":"string"}]}],
      |"default":null}],"connect.name":"shop.public.customers.Envelope"}""".stripMargin.replace("\n", "")

  private val about = Map[String, Any](
    "version" -> "3.0",
    "ts_ms" -> 1763870400123L,
    "snapshot" -> "false",
    "db" -> "shop",
    "schema" -> "public",
    "table" -> "customers",
    "txId" -> 555L
  )

  /** @param before the values in the order of the fields */
  def written(
      id: Int,
      envelope: String,
      op: String,
      before: Option[Seq[Any]],
      after: Option[Seq[Any]]
  ): Array[Byte] = {
    val schema = new Schema.Parser().parse(envelope)
    val record = new GenericData.Record(schema)
    def row(values: Option[Seq[Any]], field: String): GenericRecord = values.map { of =>
      val made = new GenericData.Record(schema.getField(field).schema.getTypes.asScala.last)
      of.zipWithIndex.foreach { case (value, i) => made.put(i, value) }
      made: GenericRecord
    }.orNull
    record.put("before", row(before, "before"))
    record.put("after", row(after, "after"))
    record.put("op", op)
    Option(schema.getField("source")).foreach { f =>
      val source = new GenericData.Record(f.schema)
      f.schema.getFields.forEach(g => source.put(g.pos, about(g.name)))
      record.put("source", source)
      record.put("ts_ms", 1763870400456L)
    }
    WireFormat.framed(id, RandomAvro.encoded(schema, record))
  }

}
