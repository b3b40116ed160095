package io.github.dynamickafka.format.protobuf

import java.util.Base64

import scala.jdk.CollectionConverters._
import scala.util.Random

import com.google.protobuf.Descriptors.{Descriptor, FieldDescriptor}
import org.apache.spark.sql.Row
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.SideLayout
import io.github.dynamickafka.format.table.Decoded
import io.github.dynamickafka.schemaregistry.{RegisteredSchema, WireFormat}
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

/** Random files, as text and as descriptors, and random messages, beside Java's library. */
class ProtobufPropertySuite extends AnyFunSuite with TimeLimit {

  /** A form in which a registry can have a file, and which nested messages it does not declare as messages. */
  private case class Form(schema: String, isImplied: Descriptor => Boolean)

  private def forms(of: RandomProtobuf, random: Random): Seq[Form] = {
    val file = of.file.toProto
    Seq(
      Form(Base64.getEncoder.encodeToString(file.toByteArray), _ => false),
      Form(new ProtoPrinter(file, withEntries = true, random).text, isGroup),
      Form(new ProtoPrinter(file, withEntries = false, random).text, m => isGroup(m) || isEntry(m))
    )
  }

  private def types(schema: String): ProtoTypes =
    ProtobufSchemas.ofRegistry(RegisteredSchema("PROTOBUF", schema)).fold(
      reason => fail(s"$reason $schema"),
      identity
    )

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
      forms(made, random).foreach { case Form(schema, _) =>
        val found = types(schema)
        made.file.getMessageTypes.asScala.flatMap(all).foreach { message =>
          val own = found.messages(message.getFullName)
          assert(JavaShapes.of(own).sortBy(_.number) == JavaShapes.of(message).sortBy(_.number), schema)
          assert(own.messages == message.getNestedTypes.asScala.map(_.getFullName), schema)
        }
      }
    }
  }

  private def isEntry(nested: Descriptor) = nested.getOptions.getMapEntry

  private def isGroup(nested: Descriptor) = nested.getContainingType.getFields.asScala.exists(f =>
    f.getType == FieldDescriptor.Type.GROUP && f.getMessageType == nested
  )

  test(
    "a nested message is never decoded as another one, however its serializer counts the entries of maps"
  ) {
    val random = new Random(TestSeed())
    var (good, bad) = (0, 0)
    (1 to RandomCases(120)).foreach { _ =>
      val made = new RandomProtobuf(random)
      for {
        Form(schema, isImplied) <- forms(made, random)
        nested <- made.main.getNestedTypes.asScala if !isEntry(nested) && !isGroup(nested)
        found = types(schema)
        columns <-
          ProtobufColumns.of(found.messages(nested.getFullName), found, new ProtobufOptions(Map.empty)).toSeq
      } {
        val side = Decoded.side(
          columns.toDDL,
          "format" -> "protobuf-confluent",
          "registry.url" -> "http://localhost:1"
        )
        val decoder = ConfluentProtobufDecoder(side, (_, _) => Some(RegisteredSchema("PROTOBUF", schema)))
        decoder.from("blue")
        val decode = Decoded.by(decoder, side)
        val messages = made.main.getNestedTypes.asScala.toSeq
        // As serializers with generated code number it, and as Confluent's for Java does with the registered text.
        val countings = Seq(messages, messages.filterNot(isImplied)).distinct
        countings.foreach { counted =>
          val index = counted.indexOf(nested)
          (1 to 3).foreach { _ =>
            val bytes = made.message(nested).toByteArray
            val path = Array[Byte](4, 0, (2 * index).toByte)
            val found = decode(WireFormat.framed(1, path ++ bytes))
            if (found.bad) {
              val meanings = countings.flatMap(_.lift(index)).filterNot(isEntry).distinct
              assert(meanings.size > 1, s"${nested.getFullName} ${path.toSeq} ${bytes.toSeq} $schema")
              bad += 1
            } else {
              good += 1
              assert(found == expected(nested, bytes, side), s"${nested.getFullName} ${path.toSeq} $schema")
            }
          }
        }
      }
    }
    assert(good > 10 * bad && bad > 0, s"$good good, $bad bad")
  }
}
