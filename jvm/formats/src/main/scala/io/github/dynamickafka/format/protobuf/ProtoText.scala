package io.github.dynamickafka.format.protobuf

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

/**
 * Parses .proto files: syntax 2 and 3 and editions, as far as it concerns how messages are read. Services, extensions, options
 * and ranges are skipped. Pure.
 */
private[dynamickafka] object ProtoText {

  /** @throws ProtoSyntaxException if the text is not a .proto file */
  def parse(text: String): MessageDefinition = new ProtoText(new ProtoTokens(text)).file()
}

private final class ProtoText(tokens: ProtoTokens) {
  import tokens._

  private var syntax = "proto2"

  def file(): MessageDefinition = {
    var packageName = ""
    val body = new Body
    while (!isEnd) peek() match {
      case "syntax" =>
        next()
        expect("=")
        syntax = Syntax.named(new String(string(), UTF_8))
        expect(";")
      case "edition" =>
        next()
        expect("=")
        syntax = Syntax.ofEdition(new String(string(), UTF_8))
        expect(";")
      case "package" =>
        next()
        packageName = name()
        expect(";")
      case "import" => skipStatement()
      case "service" =>
        next()
        val _ = name()
        skipBlock()
      case "extend" => extend(body)
      case _ => statement(body)
    }
    body.made(packageName, Syntax.features(syntax))
  }

  /** What a file or a message consists of. */
  private final class Body {
    val messages = mutable.ArrayBuffer.empty[MessageDefinition]
    val enums = mutable.ArrayBuffer.empty[EnumDefinition]
    val fields = mutable.ArrayBuffer.empty[FieldDefinition]
    val options = new Options
    var oneofs = 0

    def made(name: String, defaults: Map[String, String] = Map.empty): MessageDefinition = MessageDefinition(
      name,
      fields.toSeq,
      messages.toSeq,
      enums.toSeq,
      options.isMapEntry,
      defaults ++ options.features
    )
  }

  /** The options that concern how messages are read. */
  private final class Options {
    val features = mutable.Map.empty[String, String]
    var isMapEntry = false
  }

  /** A statement that files and messages have. */
  private def statement(body: Body): Unit = peek() match {
    case ";" =>
      val _ = next()
    case "option" => option(body.options)
    case "message" =>
      next()
      body.messages += message(name())
    case "enum" =>
      next()
      body.enums += enumOf(name())
    case "export" | "local" =>
      next()
      statement(body)
    case other => throw ProtoSyntaxException(s"unexpected '$other'")
  }

  private def message(name: String): MessageDefinition = {
    val body = new Body
    expect("{")
    while (!accept("}")) member(body)
    body.made(name)
  }

  private def member(body: Body): Unit = {
    // Names of fields' types may be keywords too.
    val begins = peek(2) == "{"
    peek() match {
      case ";" | "option" => statement(body)
      case "message" | "enum" | "export" | "local" if begins || peek(3) == "{" => statement(body)
      case "reserved" | "extensions" => skipStatement()
      case "extend" if begins => extend(body)
      case "oneof" if begins => oneof(body)
      case _ => field(body, -1)
    }
  }

  /** The fields belong to another message. Groups among them are messages of this one. */
  private def extend(body: Body): Unit = {
    next()
    val _ = name()
    expect("{")
    val extensions = new Body
    while (!accept("}")) if (!accept(";")) field(extensions, -1)
    body.messages ++= extensions.messages
  }

  private def oneof(body: Body): Unit = {
    next()
    next()
    expect("{")
    val index = body.oneofs
    body.oneofs += 1
    val own = new Options
    val first = body.fields.size
    while (!accept("}")) if (peek() == "option") option(own) else if (!accept(";")) field(body, index)
    (first until body.fields.size).foreach { i =>
      body.fields(i) = body.fields(i).copy(features = own.features.toMap ++ body.fields(i).features)
    }
  }

  private def field(body: Body, oneof: Int): Unit = {
    val labels = Map("optional" -> FieldDefinition.Optional, "required" -> FieldDefinition.Required)
      .updated("repeated", FieldDefinition.Repeated)
    val label = labels.get(peek()).filter(_ => peek(1) != "=")
    val isOptional = peek() == "optional" && label.isDefined
    if (label.isDefined) next()
    if (peek() == "map" && peek(1) == "<") map(body)
    else if (peek() == "group" && peek(2) == "=")
      group(body, label.getOrElse(FieldDefinition.Optional), oneof)
    else {
      val typeName = name()
      val declared = numbered(FieldType.named(typeName))
        .copy(label = label.getOrElse(FieldDefinition.Optional), oneof = oneof)
      body.fields += (if (isOptional && syntax == "proto3") declared.explicit else declared)
    }
  }

  private def map(body: Body): Unit = {
    next()
    expect("<")
    val types = Seq(name(), { expect(","); name() })
    expect(">")
    val declared = numbered(FieldType(0))
    val entry = s"${declared.name.split('_').map(_.capitalize).mkString}Entry"
    val parts = types.zip(Seq("key", "value")).zipWithIndex.map { case ((typeName, part), i) =>
      FieldDefinition(part, i + 1, FieldDefinition.Optional, FieldType.named(typeName))
    }
    body.messages += MessageDefinition(entry, parts, Nil, Nil, isMapEntry = true, isImplied = true)
    body.fields += declared.copy(
      label = FieldDefinition.Repeated,
      fieldType = FieldType(0, entry),
      default = None
    )
  }

  private def group(body: Body, label: Int, oneof: Int): Unit = {
    next()
    val own = name()
    expect("=")
    val number = tokens.number()
    if (peek() == "[") options(0)
    body.messages += message(own).copy(isImplied = true)
    body.fields += FieldDefinition(own.toLowerCase, number, label, FieldType(FieldKind.Group, own), oneof)
  }

  /** `name = number [options];`, of a field or of the value of an enum. */
  private def numbered(fieldType: FieldType): FieldDefinition = {
    val own = name()
    expect("=")
    val number = tokens.number()
    val (default, features) =
      if (peek() == "[") options(fieldType.kind) else (None, Map.empty[String, String])
    expect(";")
    FieldDefinition(own, number, FieldDefinition.Optional, fieldType, -1, default, features)
  }

  private def enumOf(name: String): EnumDefinition = {
    val values = mutable.ArrayBuffer.empty[(String, Int)]
    val options = new Options
    expect("{")
    while (!accept("}")) peek() match {
      case ";" =>
        val _ = next()
      case "option" if peek(1) != "=" => option(options)
      case "reserved" if peek(1) != "=" => skipStatement()
      case _ =>
        val declared = numbered(FieldType(0))
        values += declared.name -> declared.number
    }
    EnumDefinition(name, values.toSeq, options.features.toMap)
  }

  /** `option name = value;` */
  private def option(options: Options): Unit = {
    next()
    optionName() match {
      case "map_entry" => options.isMapEntry = constant() == "true"
      case path => options.features ++= features(path)
    }
    expect(";")
  }

  /** `[name = value, ...]`. @return the default and the features */
  private def options(kind: Int): (Option[String], Map[String, String]) = {
    expect("[")
    var default = Option.empty[String]
    val found = mutable.Map.empty[String, String]
    while (!accept("]")) {
      optionName() match {
        case "default" => default = Some(defaultOf(kind))
        case path => found ++= features(path)
      }
      accept(",")
    }
    (default, found.toMap)
  }

  /** Up to its value. Of extensions in parentheses, only that they are ones is kept. */
  private def optionName(): String = {
    val parts = new StringBuilder
    while (peek() != "=" && !isEnd) parts ++= next()
    expect("=")
    parts.toString
  }

  /** Reads the value of an option. @return the features that it sets */
  private def features(option: String): Map[String, String] =
    if (option == "features" && peek() == "{") aggregate()
    else {
      val value = constant()
      if (option.startsWith("features.")) Map(option.stripPrefix("features.") -> value) else Map.empty
    }

  /** A message in Protobuf's text format. @return its fields that are words */
  private def aggregate(): Map[String, String] = {
    val found = mutable.Map.empty[String, String]
    expect("{")
    while (!accept("}")) {
      val field = if (peek() == "[") constant() else name()
      accept(":")
      found(field) = constant()
      if (!accept(",")) accept(";")
    }
    found.toMap
  }

  /** @return empty for messages and lists */
  private def constant(): String = peek() match {
    case "{" | "[" | "<" =>
      skipBlock()
      ""
    case _ if isString => new String(string(), UTF_8)
    case "-" | "+" => next() + exponent(next())
    case _ => exponent(next())
  }

  /** The default as text, in the form that descriptors have. */
  private def defaultOf(kind: Int): String = kind match {
    case FieldKind.Text => new String(string(), UTF_8)
    case FieldKind.Bytes if isString => ProtoTokens.escaped(string())
    // Confluent's serializer for Java registers bytes without quotes, already escaped.
    case FieldKind.Bytes | 0 => next()
    case _ =>
      val text = constant()
      ProtoNumbers.default(kind, text).getOrElse(
        throw ProtoSyntaxException(s"'$text' is not a default of the type ${FieldKind.name(kind)}")
      )
  }

  /** The sign of an exponent is a token of its own. */
  private def exponent(number: String): String =
    if (number.matches("[0-9.]+[eE]") && Set("-", "+")(peek())) number + next() + next() else number
}
