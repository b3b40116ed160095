package io.github.dynamickafka.format.protobuf

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}

/** The words, numbers, symbols and strings of a .proto file. Strings keep their quotes. */
private[protobuf] final class ProtoTokens(text: String) {
  private var at = if (text.startsWith("\ufeff")) 1 else 0
  private var ahead = Vector.empty[String]

  /** The token after `n` others; empty at the end. */
  def peek(n: Int = 0): String = {
    while (ahead.size <= n) ahead = ahead :+ read()
    ahead(n)
  }

  def next(): String = {
    val token = peek()
    if (token.isEmpty) throw ProtoSyntaxException("it ends too early")
    ahead = ahead.tail
    token
  }

  def isEnd: Boolean = peek().isEmpty

  /** Whether the next token is this one, which is then taken. */
  def accept(token: String): Boolean = {
    val found = peek() == token
    if (found) {
      val _ = next()
    }
    found
  }

  def expect(token: String): Unit = {
    val found = next()
    if (found != token) throw ProtoSyntaxException(s"'$token' expected, found '$found'")
  }

  def name(): String = {
    val found = next()
    if (!found.headOption.exists(c => c.isLetter || c == '_' || c == '.'))
      throw ProtoSyntaxException(s"a name expected, found '$found'")
    // There may be blanks around the dots.
    if (found.endsWith(".") || peek().startsWith(".")) found + name() else found
  }

  def number(): Int = {
    val found = if (accept("-")) s"-${next()}" else next()
    ProtoNumbers.integer(found).filter(_.isValidInt).map(_.toInt)
      .getOrElse(throw ProtoSyntaxException(s"a number expected, found '$found'"))
  }

  /** Strings that follow each other are one. */
  def string(): Array[Byte] = {
    val out = new ByteArrayOutputStream
    if (!isString) throw ProtoSyntaxException(s"a string expected, found '${peek()}'")
    while (isString) out.write(ProtoTokens.unescaped(next().drop(1).dropRight(1)))
    out.toByteArray
  }

  def isString: Boolean = peek().startsWith("\"") || peek().startsWith("'")

  /** Up to the semicolon after a statement without a block of its own; there may be brackets in it. */
  def skipStatement(): Unit = while (!accept(";"))
    if (ProtoTokens.brackets.contains(peek())) skipBlock()
    else if (peek() == "}") throw ProtoSyntaxException("';' expected, found '}'")
    else {
      val _ = next()
    }

  /** From a bracket to the one that closes it. */
  def skipBlock(): Unit = {
    val open = next()
    val close =
      ProtoTokens.brackets.getOrElse(open, throw ProtoSyntaxException(s"'{' expected, found '$open'"))
    var depth = 1
    while (depth > 0) next() match {
      case `open` => depth += 1
      case `close` => depth -= 1
      case _ => ()
    }
  }

  private def read(): String = {
    skipBlanks()
    if (at >= text.length) ""
    else {
      val from = at
      val c = text.charAt(at)
      at += 1
      if (c == '"' || c == '\'') {
        while (at < text.length && text.charAt(at) != c) at += (if (text.charAt(at) == '\\') 2 else 1)
        if (at >= text.length) throw ProtoSyntaxException("a string has no end")
        at += 1
      } else if (isWord(c)) while (at < text.length && isWord(text.charAt(at))) at += 1
      text.substring(from, at)
    }
  }

  private def isWord(c: Char) = c.isLetterOrDigit || c == '_' || c == '.'

  private def skipBlanks(): Unit = {
    var more = true
    while (more) {
      val before = at
      while (at < text.length && text.charAt(at).isWhitespace) at += 1
      if (text.startsWith("//", at)) {
        val end = text.indexOf('\n', at)
        at = if (end < 0) text.length else end
      } else if (text.startsWith("/*", at)) {
        val end = text.indexOf("*/", at + 2)
        if (end < 0) throw ProtoSyntaxException("a comment has no end")
        at = end + 2
      }
      more = at > before
    }
  }
}

private[protobuf] object ProtoTokens {
  private val brackets = Map("{" -> "}", "[" -> "]", "<" -> ">")
  private val Escape = """(?s)\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)""".r
  private val simple =
    Map('n' -> '\n', 't' -> '\t', 'r' -> '\r', 'a' -> 7.toChar, 'b' -> '\b', 'f' -> '\f', 'v' -> 11.toChar)

  /** The bytes that an escaped text stands for. */
  def unescaped(text: String): Array[Byte] = {
    val out = new ByteArrayOutputStream
    var at = 0
    Escape.findAllMatchIn(text).foreach { m =>
      out.write(text.substring(at, m.start).getBytes(UTF_8))
      at = m.end
      val code = m.group(1)
      code.charAt(0) match {
        case c if c >= '0' && c <= '7' => out.write(Integer.parseInt(code, 8))
        case 'x' | 'X' if code.length > 1 => out.write(Integer.parseInt(code.drop(1), 16))
        case 'u' | 'U' if code.length > 1 =>
          out.write(new String(Character.toChars(Integer.parseInt(code.drop(1), 16))).getBytes(UTF_8))
        case c => out.write(simple.getOrElse(c, c).toString.getBytes(UTF_8))
      }
    }
    out.write(text.substring(at).getBytes(UTF_8))
    out.toByteArray
  }

  def escaped(bytes: Array[Byte]): String =
    new String(bytes, ISO_8859_1).flatMap(c => f"\\${c.toInt}%03o")
}

/** @param reason contains only words of the schema */
private[dynamickafka] final case class ProtoSyntaxException(reason: String) extends RuntimeException(reason)

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
