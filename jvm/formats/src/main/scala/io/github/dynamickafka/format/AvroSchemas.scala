package io.github.dynamickafka.format

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.avro.Schema
import org.apache.spark.sql.avro.SchemaConverters
import org.apache.spark.sql.types.StructType

/** The Avro schema of columns that were not given as one. Pure. */
private[dynamickafka] object AvroSchemas {
  private val mapper = new ObjectMapper()

  /**
   * A record `topLevelRecord`, as Spark names it; in the union of a nullable field, null is first and the default. Without
   * defaults, registries would refuse a further column.
   */
  def of(columns: StructType): Schema = {
    val ofSpark = SchemaConverters.toAvroType(columns, nullable = false, "topLevelRecord", "")
    val tree = mapper.readTree(ofSpark.toString)
    nullFirst(tree)
    new Schema.Parser().parse(mapper.writeValueAsString(tree))
  }

  /**
   * The schema of a record without some of its fields; all else is as it was given, such as names, defaults and aliases.
   *
   * @param schema as JSON
   */
  def without(schema: String, fields: Set[String]): String =
    if (fields.isEmpty) schema
    else {
      val record = new Schema.Parser().setValidateDefaults(false).parse(schema)
      val kept =
        record.getFields.asScala.filterNot(f => fields(f.name)).map(f => new Schema.Field(f, f.schema))
      val reduced =
        Schema.createRecord(record.getName, record.getDoc, record.getNamespace, record.isError, kept.asJava)
      record.getAliases.asScala.foreach(reduced.addAlias(_))
      record.getObjectProps.asScala.foreach { case (name, value) => reduced.addProp(name, value) }
      reduced.toString
    }

  /** Spark puts null last. Arrays in a schema are unions, fields, or the symbols of an enum, which Spark does not make. */
  private def nullFirst(node: JsonNode): Unit = {
    node match {
      case union: ArrayNode if union.size == 2 && union.get(1).isTextual && union.get(1).asText == "null" =>
        val _ = union.insert(0, union.remove(1))
      case field: ObjectNode if field.path("type").isArray =>
        val _ = field.putNull("default")
      case _ => ()
    }
    node.forEach(child => nullFirst(child))
  }
}
