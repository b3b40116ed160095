package io.github.dynamickafka.format.change

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.json.{CreateJacksonParser, JSONOptions}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.unsafe.types.UTF8String

/**
 * Which fields the objects in `old` have. Canal and Maxwell leave out what an update did not change, so a field that is missing
 * and one that is null mean different things, which rows cannot tell.
 */
private[change] object OldFields {
  private val Old = "old"

  /** @return one set for each object of an array, or one for an object */
  def of(bytes: Array[Byte], options: Map[String, String]): Seq[Set[String]] = {
    val parsed =
      new JSONOptions(options, SQLConf.get.sessionLocalTimeZone, SQLConf.get.columnNameOfCorruptRecord)
    val parser = CreateJacksonParser.utf8String(parsed.buildJsonFactory(), UTF8String.fromBytes(bytes))
    try top(parser)
    catch {
      // The record has been parsed: only what follows the object can be wrong.
      case NonFatal(_) => Nil
    } finally parser.close()
  }

  private def top(parser: JsonParser): Seq[Set[String]] = {
    var found = Seq.empty[Set[String]]
    if (parser.nextToken() eq JsonToken.START_OBJECT) {
      var name = parser.nextFieldName()
      while (name ne null) {
        val token = parser.nextToken()
        // A name may be there twice: the last value counts.
        if (name == Old) found = value(parser, token)
        else {
          val _ = parser.skipChildren()
        }
        name = parser.nextFieldName()
      }
    }
    found
  }

  private def value(parser: JsonParser, token: JsonToken): Seq[Set[String]] =
    if (token eq JsonToken.START_OBJECT) Seq(names(parser))
    else if (token eq JsonToken.START_ARRAY) {
      val all = Seq.newBuilder[Set[String]]
      var next = parser.nextToken()
      while (next ne JsonToken.END_ARRAY) {
        if (next eq JsonToken.START_OBJECT) all += names(parser)
        else {
          val _ = parser.skipChildren()
          all += Set.empty[String]
        }
        next = parser.nextToken()
      }
      all.result()
    } else Nil

  private def names(parser: JsonParser): Set[String] = {
    val found = Set.newBuilder[String]
    var name = parser.nextFieldName()
    while (name ne null) {
      found += name
      val _ = parser.nextToken()
      val _ = parser.skipChildren()
      name = parser.nextFieldName()
    }
    found.result()
  }
}
