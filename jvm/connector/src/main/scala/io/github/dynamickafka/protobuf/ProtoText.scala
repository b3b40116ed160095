package io.github.dynamickafka.protobuf

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

/**
 * Parses .proto files: syntax 2 and 3 and editions, as far as it concerns how messages are read. Services, extensions, options
 * and ranges are skipped. Pure.
 */
private[dynamickafka] object ProtoText {

  /** @throws ProtoSyntaxException if the text is not a .proto file */
  def parse(name: String, text: String): FileDefinition = new ProtoText(name, new ProtoTokens(text)).file()
}

private final class ProtoText(fileName: String, tokens: ProtoTokens) {
  import tokens._

  private var syntax = "proto2"

  def file(): FileDefinition = {
    var packageName = ""
    val body = new Body
    while (!isEnd) peek() match {
      case "syntax" =>
        next()
        expect("=")
        syntax = new String(string(), UTF_8)
        expect(";")
      case "edition" =>
        skipStatement()
        syntax = "editions"
      case "package" =>
        next()
        packageName = name()
        expect(";")
      case "import" | "service" | "extend" => skipStatement()
      case _ => statement(body)
    }
    FileDefinition(fileName, packageName, syntax, body.messages.toSeq, body.enums.toSeq, body.features.toMap)
  }

  /** What a file or a message consists of. */
  private final class Body {
    val messages = mutable.ArrayBuffer.empty[MessageDefinition]
    val enums = mutable.ArrayBuffer.empty[EnumDefinition]
    val fields = mutable.ArrayBuffer.empty[FieldDefinition]
    val features = mutable.Map.empty[String, String]
    var oneofs = 0
  }

  /** A statement that files and messages have. */
  private def statement(body: Body): Unit = peek() match {
    case ";" =>
      val _ = next()
    case "option" => option(body.features)
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
    MessageDefinition(
      name,
      body.fields.toSeq,
      body.messages.toSeq,
      body.enums.toSeq,
      features = body.features.toMap
    )
  }

  private def member(body: Body): Unit = {
    // Names of fields' types may be keywords too.
    val begins = peek(2) == "{"
    peek() match {
      case ";" | "option" => statement(body)
      case "message" | "enum" | "export" | "local" if begins || peek(3) == "{" => statement(body)
      case "reserved" | "extensions" => skipStatement()
      case "extend" if begins => skipStatement()
      case "oneof" if begins => oneof(body)
      case _ => field(body, -1)
    }
  }

  private def oneof(body: Body): Unit = {
    next()
    next()
    expect("{")
    val index = body.oneofs
    body.oneofs += 1
    val features = mutable.Map.empty[String, String]
    val first = body.fields.size
    while (!accept("}")) if (peek() == "option") option(features) else if (!accept(";")) field(body, index)
    (first until body.fields.size).foreach { i =>
      body.fields(i) = body.fields(i).copy(features = features.toMap ++ body.fields(i).features)
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
      val kind = FieldKind.scalars.getOrElse(typeName, 0)
      val (own, number, options) = numbered(kind)
      body.fields += FieldDefinition(
        own,
        number,
        label.getOrElse(FieldDefinition.Optional),
        kind,
        if (kind == 0) typeName else "",
        oneof,
        isOptional && syntax == "proto3",
        options.get("default"),
        features(options)
      )
    }
  }

  private def map(body: Body): Unit = {
    next()
    expect("<")
    val types = Seq(name(), { expect(","); name() })
    expect(">")
    val (own, number, options) = numbered(0)
    val entry = s"${camel(own)}Entry"
    val parts = types.zip(Seq("key", "value")).zipWithIndex.map { case ((typeName, part), i) =>
      val kind = FieldKind.scalars.getOrElse(typeName, 0)
      FieldDefinition(part, i + 1, FieldDefinition.Optional, kind, if (kind == 0) typeName else "")
    }
    body.messages += MessageDefinition(entry, parts, Nil, Nil, isMapEntry = true)
    body.fields += FieldDefinition(
      own,
      number,
      FieldDefinition.Repeated,
      0,
      entry,
      features = features(options)
    )
  }

  private def group(body: Body, label: Int, oneof: Int): Unit = {
    next()
    val own = name()
    expect("=")
    val number = tokens.number()
    if (peek() == "[") options(0)
    body.messages += message(own)
    body.fields += FieldDefinition(own.toLowerCase, number, label, FieldKind.Group, own, oneof)
  }

  /** `name = number [options];` */
  private def numbered(kind: Int): (String, Int, Map[String, String]) = {
    val own = name()
    expect("=")
    val number = tokens.number()
    val found = if (peek() == "[") options(kind) else Map.empty[String, String]
    expect(";")
    (own, number, found)
  }

  private def enumOf(name: String): EnumDefinition = {
    val values = mutable.ArrayBuffer.empty[(String, Int)]
    val features = mutable.Map.empty[String, String]
    expect("{")
    while (!accept("}")) peek() match {
      case ";" =>
        val _ = next()
      case "option" if peek(1) != "=" => option(features)
      case "reserved" if peek(1) != "=" => skipStatement()
      case _ =>
        val (own, number, _) = numbered(0)
        values += own -> number
    }
    EnumDefinition(name, values.toSeq, features.toMap)
  }

  /** `option name = value;` */
  private def option(features: mutable.Map[String, String]): Unit = {
    next()
    val path = optionName()
    expect("=")
    val value = constant(0)
    expect(";")
    features ++= this.features(Map(path -> value))
  }

  /** `[name = value, ...]` */
  private def options(kind: Int): Map[String, String] = {
    expect("[")
    val found = mutable.Map.empty[String, String]
    while (!accept("]")) {
      val path = optionName()
      expect("=")
      found(path) = constant(kind)
      accept(",")
    }
    found.toMap
  }

  /** Of extensions in parentheses, only that they are ones is kept. */
  private def optionName(): String = {
    val parts = new StringBuilder
    while (peek() != "=" && !isEnd) parts ++= next()
    parts.toString
  }

  private def constant(kind: Int): String = peek() match {
    case "{" =>
      skipBlock("{", "}")
      ""
    case "[" =>
      skipBlock("[", "]")
      ""
    case quoted if quoted.startsWith("\"") || quoted.startsWith("'") =>
      val bytes = string()
      if (kind == FieldKind.Bytes) ProtoTokens.escaped(bytes) else new String(bytes, UTF_8)
    case "-" | "+" =>
      val sign = next()
      (if (sign == "-") sign else "") + exponent(next())
    case _ => exponent(next())
  }

  /** The sign of an exponent is a token of its own. */
  private def exponent(number: String): String =
    if (number.matches("[0-9.]+[eE]") && Set("-", "+")(peek())) number + next() + next() else number

  private def skipBlock(open: String, close: String): Unit = {
    var depth = 0
    do next() match {
      case `open` => depth += 1
      case `close` => depth -= 1
      case _ => ()
    } while (depth > 0)
  }

  private def features(options: Map[String, String]): Map[String, String] = options.collect {
    case (name, value) if name.startsWith("features.") => name.stripPrefix("features.") -> value
  }

  private def camel(name: String) = name.split('_').map(_.capitalize).mkString
}
