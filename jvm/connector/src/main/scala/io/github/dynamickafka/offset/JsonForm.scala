package io.github.dynamickafka.offset

import java.io.StringWriter

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonGenerator
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}

import io.github.dynamickafka.error.Errors

/**
 * How values of a type are written as JSON and read again: one declaration for both directions. What cannot be read is
 * `INVALID_OFFSET`, with its path.
 */
private[dynamickafka] trait JsonForm[A] {
  def write(json: JsonGenerator, value: A): Unit

  /** @param where the path of the node, for errors */
  def read(node: JsonNode, where: String): A

  final def as[B](from: A => B)(to: B => A): JsonForm[B] =
    JsonForm[B]((json, value) => write(json, to(value)))((node, where) => from(read(node, where)))

  /** The text in one line. */
  final def text(value: A): String = {
    val out = new StringWriter
    val json = JsonForm.mapper.getFactory.createGenerator(out)
    write(json, value)
    json.close()
    out.toString
  }
}

private[dynamickafka] object JsonForm {
  val mapper: ObjectMapper = new ObjectMapper()
    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
    .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)

  def apply[A](put: (JsonGenerator, A) => Unit)(get: (JsonNode, String) => A): JsonForm[A] =
    new JsonForm[A] {
      override def write(json: JsonGenerator, value: A): Unit = put(json, value)
      override def read(node: JsonNode, where: String): A = get(node, where)
    }

  private def scalar[A](what: String, is: JsonNode => Boolean)(
      put: (JsonGenerator, A) => Unit
  )(get: JsonNode => A): JsonForm[A] = JsonForm(put)((node, where) =>
    if (is(node)) get(node) else throw Errors.invalidOffset(s"$where is not $what: $node")
  )

  val text: JsonForm[String] = scalar[String]("a text", _.isTextual)(_.writeString(_))(_.textValue)

  /** A text that is not empty. */
  val name: JsonForm[String] =
    scalar[String]("a text", node => node.isTextual && node.textValue.nonEmpty)(_.writeString(_))(_.textValue)
  val flag: JsonForm[Boolean] =
    scalar[Boolean]("a boolean", _.isBoolean)(_.writeBoolean(_))(_.booleanValue)
  val integer: JsonForm[Long] =
    scalar[Long]("an integer", isLong)(_.writeNumber(_))(_.longValue)

  /** An integer of at least 0. */
  val number: JsonForm[Long] =
    scalar[Long]("an integer of at least 0", node => isLong(node) && node.longValue >= 0)(_.writeNumber(_))(
      _.longValue
    )

  private def isLong(node: JsonNode) = node.isIntegralNumber && node.canConvertToLong

  def seq[A](form: JsonForm[A]): JsonForm[Vector[A]] = JsonForm[Vector[A]] { (json, all) =>
    json.writeStartArray()
    all.foreach(form.write(json, _))
    json.writeEndArray()
  } { (node, where) =>
    if (!node.isArray) throw Errors.invalidOffset(s"$where is not a JSON array")
    node.elements.asScala.zipWithIndex.map { case (e, i) => form.read(e, s"$where[$i]") }.toVector
  }

  val texts: JsonForm[Set[String]] = seq(text).as(_.toSet)(_.toVector.sorted)

  def byName[A](form: JsonForm[A]): JsonForm[SortedMap[String, A]] = byNames(_ => form)

  val textByName: JsonForm[Map[String, String]] = byName(text).as(_.toMap)(SortedMap.from(_))

  /** @param form by name */
  def byNames[A](form: String => JsonForm[A]): JsonForm[SortedMap[String, A]] =
    JsonForm[SortedMap[String, A]] { (json, all) =>
      json.writeStartObject()
      all.foreach { case (name, value) =>
        json.writeFieldName(name)
        form(name).write(json, value)
      }
      json.writeEndObject()
    } { (node, where) =>
      SortedMap.from(fieldsOf(node, where).map { case (name, below) =>
        name -> form(name).read(below, s"$where.$name")
      })
    }

  /**
   * The offsets of the partitions of a topic, or other numbers of them, as a JSON object.
   *
   * @param least the least number of a partition
   */
  def partitions(least: Int, of: JsonForm[Long]): JsonForm[SortedMap[Int, Long]] =
    JsonForm[SortedMap[Int, Long]] { (json, partitions) =>
      json.writeStartObject()
      partitions.foreach { case (partition, offset) => json.writeNumberField(partition.toString, offset) }
      json.writeEndObject()
    } { (node, where) =>
      SortedMap.from(fieldsOf(node, where).map { case (partition, offset) =>
        val at = s"$where.$partition"
        partition.toIntOption.filter(_ >= least).getOrElse {
          throw Errors.invalidOffset(s"'$partition' at $at is not a partition number")
        } -> of.read(offset, at)
      })
    }

  /**
   * A JSON object with these fields, in this order, and no others.
   *
   * @param fields makes a value of its fields; to read one, it gets none
   */
  def record[A](fields: (Fields, A) => A): JsonForm[A] = JsonForm[A] { (json, value) =>
    json.writeStartObject()
    val _ = fields(new Written(json), value)
    json.writeEndObject()
  } { (node, where) =>
    val names = fieldsOf(node, where).map(_._1).toVector
    val read = new Read(node, where)
    val value = fields(read, null.asInstanceOf[A])
    names.find(!read.known(_)).foreach(name => throw read.problem("unknown " + _, name))
    value
  }

  /** The fields of a record. Their values are asked for only to be written. */
  sealed trait Fields {
    def apply[A](name: String, value: => A)(form: JsonForm[A]): A

    /** A field that is left out if it has the value `absent`. */
    def orElse[A](name: String, value: => A, absent: A)(form: JsonForm[A]): A

    final def maybe[A](name: String, value: => Option[A])(form: JsonForm[A]): Option[A] =
      orElse[Option[A]](name, value, None)(form.as(Option(_))(_.get))
  }

  private final class Written(json: JsonGenerator) extends Fields {
    override def apply[A](name: String, value: => A)(form: JsonForm[A]): A = {
      val found = value
      json.writeFieldName(name)
      form.write(json, found)
      found
    }
    override def orElse[A](name: String, value: => A, absent: A)(form: JsonForm[A]): A =
      if (value == absent) absent else apply(name, value)(form)
  }

  private final class Read(node: JsonNode, where: String) extends Fields {
    var known: Set[String] = Set.empty
    private val (kind, in) = if (where.isEmpty) ("section", "") else ("field", s" in $where")
    def problem(what: String => String, name: String): Throwable =
      Errors.invalidOffset(what(s"$kind '$name'") + in)

    override def apply[A](name: String, value: => A)(form: JsonForm[A]): A = {
      known += name
      if (node.has(name)) form.read(node.get(name), if (where.isEmpty) name else s"$where.$name")
      else throw problem(_ + " is missing", name)
    }
    override def orElse[A](name: String, value: => A, absent: A)(form: JsonForm[A]): A =
      if (node.has(name)) apply(name, value)(form) else absent
  }

  private def fieldsOf(node: JsonNode, where: String): Iterator[(String, JsonNode)] =
    if (node.isObject) node.properties.iterator.asScala.map(e => e.getKey -> e.getValue)
    else throw Errors.invalidOffset(s"$where is not a JSON object")
}
