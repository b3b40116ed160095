package io.github.dynamickafka.format.protobuf

import java.nio.charset.StandardCharsets.UTF_8
import java.util.jar.JarFile

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.google.`type`.DateProto
import com.google.protobuf.DescriptorProtos.FileDescriptorSet
import com.google.protobuf.Descriptors.{Descriptor, EnumDescriptor, FileDescriptor}
import com.google.protobuf.{DescriptorProtos, ExtensionRegistry}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.schemaregistry.{NamedSchema, RegisteredSchema}
import io.github.dynamickafka.testkit.TimeLimit

/**
 * Texts of .proto files and the descriptors that protoc made of them mean the same as Java's library says: the files of Protobuf
 * itself, those of Google's interfaces, and some with what people seldom write.
 */
class ProtoCorpusSuite extends AnyFunSuite with TimeLimit {

  /** The .proto files in the jar of a class, and the classes that have their descriptors. */
  private def fromJar(of: Class[_]): Seq[(String, FileDescriptor)] =
    Using.resource(new JarFile(of.getProtectionDomain.getCodeSource.getLocation.getPath)) { jar =>
      jar.entries.asScala.filter(_.getName.endsWith(".proto")).map { entry =>
        val text = new String(jar.getInputStream(entry).readAllBytes(), UTF_8)
        def option(name: String) = s"""(?m)^option $name = "([^"]+)";""".r.findFirstMatchIn(text).get.group(1)
        val outer = Class.forName(s"${option("java_package")}.${option("java_outer_classname")}")
        text -> outer.getMethod("getDescriptor").invoke(null).asInstanceOf[FileDescriptor]
      }.toSeq
    }

  private val known = fromJar(classOf[DescriptorProtos])
  private val interfaces = fromJar(classOf[DateProto])

  private def resource(name: String): Array[Byte] =
    Using.resource(getClass.getResourceAsStream(s"/protobuf/$name"))(_.readAllBytes())

  /** `protoc --include_imports --descriptor_set_out=odd.desc odd2.proto odd3.proto edition2023.proto edition2024.proto`, 35.1. */
  private val odd: Seq[(String, FileDescriptor)] = {
    val set = FileDescriptorSet.parseFrom(resource("odd.desc"), ExtensionRegistry.newInstance)
    val files = set.getFileList.asScala.foldLeft(Map.empty[String, FileDescriptor]) { (built, file) =>
      built.updated(
        file.getName,
        FileDescriptor.buildFrom(file, file.getDependencyList.asScala.map(built).toArray)
      )
    }
    val names = Seq("odd2.proto", "odd3.proto", "edition2023.proto", "edition2024.proto")
    names.map(name => new String(resource(name), UTF_8) -> files(name))
  }
  private val texts = (known ++ interfaces ++ odd).map { case (text, file) => file.getName -> text }.toMap

  private def imports(file: FileDescriptor): Seq[FileDescriptor] =
    file.getDependencies.asScala.toSeq.flatMap(f => imports(f) :+ f).distinctBy(_.getName)

  private def messages(file: FileDescriptor): Seq[Descriptor] = {
    def all(of: Descriptor): Seq[Descriptor] = of +: of.getNestedTypes.asScala.toSeq.flatMap(all)
    file.getMessageTypes.asScala.toSeq.flatMap(all)
  }

  private def enums(file: FileDescriptor): Seq[EnumDescriptor] =
    file.getEnumTypes.asScala.toSeq ++ messages(file).flatMap(_.getEnumTypes.asScala)

  private def check(found: ProtoTypes, file: FileDescriptor): Unit = {
    messages(file).foreach { message =>
      val own = found.messages(message.getFullName)
      assert(JavaShapes.of(own) == JavaShapes.of(message), message.getFullName)
      assert(own.isMapEntry == message.getOptions.getMapEntry, message.getFullName)
      assert(own.messages == message.getNestedTypes.asScala.map(_.getFullName), message.getFullName)
    }
    enums(file).foreach(choices => assert(found.enums(choices.getFullName) == JavaShapes.of(choices)))
    assert(found.roots == file.getMessageTypes.asScala.map(_.getFullName))
  }

  private def checkAll(files: Seq[(String, FileDescriptor)]): Unit = files.foreach { case (text, file) =>
    val references = imports(file).map(f => NamedSchema(f.getName, texts(f.getName)))
    val found = ProtobufSchemas.ofRegistry(RegisteredSchema("PROTOBUF", text, references))
    check(found.fold(reason => fail(s"${file.getName}: $reason"), identity), file)
    val described =
      ProtoTypes.of((imports(file) :+ file).map(f => DescriptorBytes.file(f.toProto.toByteArray)))
    check(described, file)
    messages(file).foreach(m =>
      assert(described.messages(m.getFullName).declared.size == m.getNestedTypes.size)
    )
  }

  test("the files of Protobuf itself") {
    assert(known.size > 10)
    checkAll(known)
  }

  test("the files of Google's interfaces") {
    assert(interfaces.size > 50)
    checkAll(interfaces)
  }

  test("numbers, options, names, scopes, groups and features that people seldom write") {
    checkAll(odd)
  }

  test("the types that every schema can use, without that a registry has their files") {
    val own = ProtobufSchemas.ofRegistry(RegisteredSchema("PROTOBUF", "message X {}")).fold(
      reason => fail(reason),
      identity
    )
    val ofLibrary =
      known.map(_._2).filterNot(f => f.getName.contains("descriptor") || f.getName.contains("features"))
    val all = (ofLibrary ++ interfaces.map(_._2).filter(_.getPackage == "google.type"))
    all.foreach { file =>
      messages(file).foreach { message =>
        assert(
          own.messages.get(message.getFullName).map(JavaShapes.of) == Some(JavaShapes.of(message)),
          message.getFullName
        )
      }
      enums(file).foreach(choices =>
        assert(own.enums.get(choices.getFullName) == Some(JavaShapes.of(choices)))
      )
    }
  }

  test("a file alone, as registries have it: what it imports from Google is known") {
    val text =
      """syntax = "proto3"; import "google/type/datetime.proto"; import "google/type/dayofweek.proto";
      message M { google.type.DateTime at = 1; google.type.DayOfWeek day = 2; google.protobuf.Any any = 3; }"""
    val types =
      ProtobufSchemas.ofRegistry(RegisteredSchema("PROTOBUF", text)).fold(reason => fail(reason), identity)
    assert(types.messages("M").fields.map(f => (f.kind, f.typeName)) == Seq(
      (FieldKind.Message, "google.type.DateTime"),
      (FieldKind.Enum, "google.type.DayOfWeek"),
      (FieldKind.Message, "google.protobuf.Any")
    ))
    // Names without a package are those of the file itself.
    val money = ProtobufSchemas.ofRegistry(RegisteredSchema(
      "PROTOBUF",
      "package shop; message Money { optional int32 a = 1; }"
    ))
    assert(money.exists(_.find("Money").exists(_.name == "shop.Money")))
  }
}
