package io.github.dynamickafka.protobuf

/** The numbers of .proto files. Pure. */
private[protobuf] object ProtoNumbers {

  /** An integer, which may be octal or hexadecimal; None: it is not one. */
  def integer(text: String): Option[BigInt] = text.stripPrefix("-") match {
    case Hexadecimal(digits) => Some(signed(text, BigInt(digits, 16)))
    case Octal(digits) => Some(signed(text, BigInt(digits, 8)))
    case Decimal(digits) => Some(signed(text, BigInt(digits)))
    case _ => None
  }

  /** The default of a field that is a number or a boolean, as descriptors have it; None: the type has no such value. */
  def default(kind: Int, text: String): Option[String] = kind match {
    case FieldKind.Bool => Some(text).filter(Set("true", "false"))
    case FieldKind.Double | FieldKind.Float =>
      integer(text).map(_.toString).orElse(Some(text).filter(Floating.pattern.matcher(_).matches))
    case FieldKind.UInt32 | FieldKind.Fixed32 => within(text, 0, BigInt(2).pow(32) - 1)
    case FieldKind.UInt64 | FieldKind.Fixed64 => within(text, 0, BigInt(2).pow(64) - 1)
    case FieldKind.Int32 | FieldKind.SInt32 | FieldKind.SFixed32 => within(text, Int.MinValue, Int.MaxValue)
    case FieldKind.Int64 | FieldKind.SInt64 | FieldKind.SFixed64 => within(text, Long.MinValue, Long.MaxValue)
    case _ => None
  }

  private val Hexadecimal = "0[xX]([0-9a-fA-F]+)".r
  private val Octal = "0([0-7]+)".r
  private val Decimal = "(0|[1-9][0-9]*)".r
  private val Floating = raw"-?(inf|nan|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)".r

  private def signed(text: String, n: BigInt) = if (text.startsWith("-")) -n else n

  private def within(text: String, least: BigInt, most: BigInt) =
    integer(text).filter(n => n >= least && n <= most).map(_.toString)
}
