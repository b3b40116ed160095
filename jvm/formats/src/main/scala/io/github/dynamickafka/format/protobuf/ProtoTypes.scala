package io.github.dynamickafka.format.protobuf

import scala.util.control.NonFatal

import org.apache.spark.unsafe.types.UTF8String

/**
 * A message with resolved types.
 *
 * @param messages the names of the messages in it, in the order of a descriptor, with those of maps and groups
 * @param declared those of them that the schema has as messages: in the text of a .proto file, without those of maps and groups
 */
private[dynamickafka] final case class ProtoMessage(
    name: String,
    fields: Seq[ProtoField],
    isMapEntry: Boolean,
    messages: Seq[String],
    declared: Seq[String]
) {
  def field(number: Int): Option[ProtoField] = fields.find(_.number == number)
}

/**
 * @param fieldType a group is a message that ends with a tag; the kind 0: the type is not known
 * @param label see [[FieldDefinition]]
 * @param requiresUtf8 whether a text that is not UTF-8 is an error
 */
private[dynamickafka] final case class ProtoField(
    name: String,
    number: Int,
    fieldType: FieldType,
    label: Int,
    oneof: Int,
    default: Option[String],
    requiresUtf8: Boolean
) {
  def kind: Int = fieldType.kind
  def typeName: String = fieldType.name

  // Readers ask for each record.
  val isDelimited: Boolean = kind == FieldKind.Group
  val repeated: Boolean = label == FieldDefinition.Repeated
  val required: Boolean = label == FieldDefinition.Required

  /** Whether an absent field differs from one with the default. */
  val hasPresence: Boolean = required || label == FieldDefinition.Optional
}

/** @param isClosed whether a number without a name is an unknown field */
private[dynamickafka] final case class ProtoEnum(name: String, values: Seq[(String, Int)], isClosed: Boolean)

/**
 * Messages and enums by their full names.
 *
 * @param roots the messages of the main file, in their order
 * @param isKnown whether a name is one of the types that every schema can use
 */
private[dynamickafka] final case class ProtoTypes(
    messages: Map[String, ProtoMessage],
    enums: Map[String, ProtoEnum],
    roots: Seq[String],
    isKnown: Set[String]
) {

  /** Finds a message by its full name, or by the name without the package if it is the only one of the schema's own files. */
  def find(name: String): Option[ProtoMessage] = messages.get(name.stripPrefix(".")).orElse {
    messages.values.filter(m => !m.isMapEntry && m.name.endsWith(s".$name") && !isKnown(m.name)).toSeq match {
      case Seq(one) => Some(one)
      case _ => None
    }
  }

  /**
   * What a path of indexes in the main file can mean: none, one, or two messages. Serializers with generated code count the
   * messages of a descriptor, where maps and groups are messages too. Confluent's for Java counts those that the registered text
   * declares: its own texts declare the entries of maps, those that people write do not.
   */
  def at(path: Seq[Int]): Seq[ProtoMessage] =
    Seq(at(path, _.messages), at(path, _.declared)).flatten.filterNot(_.isMapEntry).distinct

  private def at(path: Seq[Int], inner: ProtoMessage => Seq[String]): Option[ProtoMessage] = path match {
    case first +: rest =>
      rest.foldLeft(
        roots.lift(first)
      )((name, i) => name.flatMap(n => inner(messages(n)).lift(i))).map(messages)
    case _ => None
  }
}

private[dynamickafka] object ProtoTypes {

  /**
   * @param files the main file last
   * @param known the files that every schema can import
   */
  def of(files: Seq[MessageDefinition], known: Seq[MessageDefinition] = Nil): ProtoTypes = {
    val own = files.map(scopes("", _, Map.empty))
    val all = known.map(scopes("", _, Map.empty)) ++ own
    val messages = all.flatMap(_.tail).map(scope => scope.name -> scope).toMap
    val enums =
      all.flatten.flatMap(scope => scope.message.enums.map(scope.choices)).map(e => e.name -> e).toMap
    def resolved(scope: String, name: String): Option[String] =
      if (name.startsWith(".")) Some(name.drop(1)).filter(n => messages.contains(n) || enums.contains(n))
      else
        Iterator.iterate(scope)(s => s.take(math.max(0, s.lastIndexOf('.')))).take(scope.count(_ == '.') + 2)
          .map(s => if (s.isEmpty) name else s"$s.$name")
          .find(n => messages.contains(n) || enums.contains(n))
    val linked = messages.map { case (name, Scope(_, message, features)) =>
      val fields = message.fields.map { f =>
        val FieldType(declared, typeName) = f.fieldType
        val target = if (typeName.isEmpty) None else resolved(name, typeName)
        // Maps, and what is in them, never end with a tag.
        val ofMap = message.isMapEntry || target.flatMap(messages.get).exists(_.message.isMapEntry)
        val own = features ++ f.features
        val kind =
          if (typeName.isEmpty) declared
          else if (target.exists(enums.contains)) FieldKind.Enum
          else if (target.isEmpty) 0
          else if (declared == FieldKind.Group || (!ofMap && own("message_encoding") == "DELIMITED"))
            FieldKind.Group
          else FieldKind.Message
        // As in Java's library, texts in maps have to be UTF-8 in every syntax.
        val requiresUtf8 = message.isMapEntry || own("utf8_validation") == "VERIFY"
        field(f, FieldType(kind, target.getOrElse("")), own("field_presence"), requiresUtf8)
      }
      def names(messages: Seq[MessageDefinition]) = messages.map(m => s"$name.${m.name}")
      val declared = names(message.messages.filterNot(_.isImplied))
      name -> ProtoMessage(name, fields, message.isMapEntry, names(message.messages), declared)
    }
    val roots = files.lastOption.toSeq.flatMap(f => f.messages.map(m => join(f.name, m.name)))
    ProtoTypes(linked, enums, roots, linked.keySet -- own.flatMap(_.tail).map(_.name))
  }

  private def field(
      f: FieldDefinition,
      fieldType: FieldType,
      presence: String,
      requiresUtf8: Boolean
  ): ProtoField = {
    import FieldDefinition._
    val isMessage = fieldType.kind == FieldKind.Message || fieldType.kind == FieldKind.Group
    val label =
      if (f.label == Repeated) Repeated
      else if (f.label == Required || presence == "LEGACY_REQUIRED") Required
      else if (isMessage || f.oneof >= 0 || presence != "IMPLICIT") Optional
      else Implicit
    val default = f.default.filterNot(_ => label == Repeated)
    ProtoField(f.name, f.number, fieldType, label, f.oneof, default, requiresUtf8)
  }

  /** @param name in full, `features` with those of what is around it */
  private final case class Scope(name: String, message: MessageDefinition, features: Map[String, String]) {
    def choices(of: EnumDefinition): ProtoEnum =
      ProtoEnum(join(name, of.name), of.values, (features ++ of.features)("enum_type") == "CLOSED")
  }

  /** The scope of a message or a file, and those in it. */
  private def scopes(outer: String, of: MessageDefinition, around: Map[String, String]): Seq[Scope] = {
    val own = Scope(join(outer, of.name), of, around ++ of.features)
    own +: of.messages.flatMap(scopes(own.name, _, own.features))
  }

  private def join(scope: String, name: String): String = if (scope.isEmpty) name else s"$scope.$name"
}

/**
 * Whether bytes can be a message that was written with exactly this schema: each field is one of the message, in its encoding, and
 * none that is required is missing. Pure.
 */
private[dynamickafka] final class MessageFit(message: ProtoMessage, types: ProtoTypes) {

  /** @param from where the message begins */
  def fits(bytes: Array[Byte], from: Int): Boolean =
    try fits(message, new ProtoInput().reset(bytes, from), group = 0, depth = 0)
    catch { case NonFatal(_) => false }

  private def fits(message: ProtoMessage, in: ProtoInput, group: Int, depth: Int): Boolean = {
    var missing = message.fields.collect { case f if f.required => f.number }.toSet
    // As deep as Protobuf's libraries read.
    var isFit = depth < 100
    var isOpen = group != 0
    while (isFit && (isOpen || (group == 0 && !in.isEnd))) {
      val tag = in.tag()
      val number = ProtoInput.numberOf(tag)
      if (group != 0 && ProtoInput.wireOf(tag) == ProtoInput.EndGroup) {
        isFit = number == group
        isOpen = false
      } else {
        missing -= number
        isFit = message.field(number).exists(fits(_, tag, in, depth))
      }
    }
    isFit && missing.isEmpty
  }

  private def fits(field: ProtoField, tag: Int, in: ProtoInput, depth: Int): Boolean = {
    val wire = ProtoInput.wireOf(tag)
    val expected = FieldKind.wire(field.kind)
    if (field.kind == 0) false
    else if (wire == ProtoInput.Bytes && field.repeated && FieldKind.isPackable(field.kind)) {
      val outer = in.enter()
      while (!in.isEnd) in.skip(expected)
      in.leave(outer)
      true
    } else if (wire != expected) false
    else if (field.isDelimited) fits(types.messages(field.typeName), in, field.number, depth + 1)
    else if (field.kind == FieldKind.Message) {
      val outer = in.enter()
      val isFit = fits(types.messages(field.typeName), in, 0, depth + 1)
      in.leave(outer)
      isFit
    } else if (field.kind == FieldKind.Text && field.requiresUtf8) UTF8String.fromBytes(in.array()).isValid
    else {
      in.skip(tag)
      true
    }
  }
}
