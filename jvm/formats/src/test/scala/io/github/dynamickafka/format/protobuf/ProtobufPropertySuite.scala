package io.github.dynamickafka.format.protobuf

import java.util.Base64

import scala.jdk.CollectionConverters._
import scala.util.Random

import com.google.protobuf.Descriptors.{Descriptor, FieldDescriptor}
import org.apache.spark.sql.Row
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.SideLayout
import io.github.dynamickafka.format.decode.Decoded
import io.github.dynamickafka.protobuf.{JavaShapes, ProtoSchemas, ProtoTypes}
import io.github.dynamickafka.schemaregistry.{RegisteredSchema, WireFormat}
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

/** Random files, as text and as descriptors, and random messages, beside Java's library. */
class ProtobufPropertySuite extends AnyFunSuite with TimeLimit {

  /** The forms in which a registry can have a file, and whether serializers count only the messages that the text declares. */
  private def forms(of: RandomProtobuf, random: Random): Seq[(String, String, Seq[Boolean])] = {
    val file = of.file.toProto
    Seq(
      ("descriptor", Base64.getEncoder.encodeToString(file.toByteArray), Seq(false)),
      ("entries", new ProtoPrinter(file, withEntries = true, random).text, Seq(false)),
      ("maps", new ProtoPrinter(file, withEntries = false, random).text, Seq(false, true))
    )
  }

  private def types(schema: String): ProtoTypes =
    ProtoSchemas.ofRegistry(schema, Nil).fold(reason => fail(s"$reason $schema"), identity)

  private def all(of: Descriptor): Seq[Descriptor] = of +: of.getNestedTypes.asScala.toSeq.flatMap(all)

  private def expected(message: Descriptor, bytes: Array[Byte], side: SideLayout) =
    Decoded.of(
      Row.fromSeq(new JavaProtobuf(message, emitDefaults = false).row(bytes).toSeq :+ null),
      side.schema
    )

  test("the texts and the descriptors of random files mean what Java's library says") {
    val random = new Random(TestSeed())
    (1 to RandomCases(300)).foreach { _ =>
      val made = new RandomProtobuf(random)
      forms(made, random).foreach { case (_, schema, _) =>
        val found = types(schema)
        made.file.getMessageTypes.asScala.flatMap(all).foreach { message =>
          val own = found.messages(message.getFullName)
          assert(JavaShapes.of(own).sortBy(_.number) == JavaShapes.of(message).sortBy(_.number), schema)
          assert(own.messages == message.getNestedTypes.asScala.map(_.getFullName), schema)
        }
      }
    }
  }

  private def isImplied(nested: Descriptor) = nested.getOptions.getMapEntry ||
    nested.getContainingType.getFields.asScala.exists(f =>
      f.getType == FieldDescriptor.Type.GROUP && f.getMessageType == nested
    )

  /** How serializers number a nested message. */
  private def index(nested: Descriptor, countsDeclared: Boolean): Int = {
    val siblings = nested.getContainingType.getNestedTypes.asScala
    (if (countsDeclared) siblings.filterNot(isImplied) else siblings).indexOf(nested)
  }

  test(
    "a nested message is never decoded as another one, however its serializer counts the entries of maps"
  ) {
    val random = new Random(TestSeed())
    var (good, bad) = (0, 0)
    (1 to RandomCases(120)).foreach { _ =>
      val made = new RandomProtobuf(random)
      for {
        (form, schema, countings) <- forms(made, random)
        nested <- made.main.getNestedTypes.asScala if !isImplied(nested)
        found = types(schema)
        columns <-
          ProtobufColumns.of(found.messages(nested.getFullName), found, ProtobufOptions.of(Map.empty)).toSeq
      } {
        val side = Decoded.side(
          columns.toDDL,
          "format" -> "protobuf-confluent",
          "registry.url" -> "http://localhost:1"
        )
        val decoder = new ConfluentProtobufDecoder(side, (_, _) => Some(RegisteredSchema("PROTOBUF", schema)))
        decoder.from("blue")
        val decode = Decoded.by(decoder, side)
        countings.foreach { countsDeclared =>
          (1 to 3).foreach { _ =>
            val bytes = made.message(nested).toByteArray
            val path = Array[Byte](4, 0, (2 * index(nested, countsDeclared)).toByte)
            val found = decode(WireFormat.framed(1, path ++ bytes))
            if (found.bad) {
              assert(form == "maps" && columns.nonEmpty, s"$path $schema")
              bad += 1
            } else {
              good += 1
              assert(found == expected(nested, bytes, side), s"${nested.getFullName} $countsDeclared $schema")
            }
          }
        }
      }
    }
    assert(good > 10 * bad && bad > 0, s"$good good, $bad bad")
  }
}
