package io.github.dynamickafka.format.json

import com.fasterxml.jackson.core.io.{ContentReference, IOContext}
import com.fasterxml.jackson.core.json.UTF8StreamJsonParser
import com.fasterxml.jackson.core.sym.ByteQuadsCanonicalizer
import com.fasterxml.jackson.core.util.BufferRecycler
import com.fasterxml.jackson.core.{
  ErrorReportConfiguration,
  JsonFactory,
  JsonToken,
  StreamReadConstraints,
  StreamWriteConstraints
}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * Jackson's parser of UTF-8, for one record after the other: a new parser for each record would cost as much as parsing a
 * small one. The same field name is the same object in all records. After an error the parser must not be used again.
 */
private[format] final class RecordParser(factory: JsonFactory, features: Int)
    extends UTF8StreamJsonParser(
      RecordParser.context(factory.streamReadConstraints),
      features,
      null,
      null,
      ByteQuadsCanonicalizer.createRoot().makeChild(JsonFactory.Feature.collectDefaults()),
      Array.emptyByteArray,
      0,
      0,
      0,
      false
    ) {

  private val longest = factory.streamReadConstraints.getMaxStringLength

  /** Begins with the next record. The one before has been read to the end of its object. */
  def reset(bytes: Array[Byte]): Unit = {
    _inputBuffer = bytes
    _inputPtr = 0
    _inputEnd = bytes.length
    _currInputProcessed = 0L
    _currInputRow = 1
    _currInputRowStart = 0
    _currToken = null
    _nextToken = null
    _tokenIncomplete = false
  }

  /** The index after the current value, which has been read or is a string. */
  def index: Int = {
    if (_tokenIncomplete) {
      _tokenIncomplete = false
      _skipString()
    }
    _inputPtr
  }

  /** Continues at this index of the same object, after fields that were read without the parser. */
  def moveTo(index: Int): Unit = _inputPtr = index

  /** Continues within the object with which the record begins, after fields that were read without the parser. */
  def enter(index: Int): Unit = {
    moveTo(index)
    _parsingContext = _parsingContext.createChildObjectContext(-1, -1)
    val _ = _parsingContext.expectComma()
    _currToken = JsonToken.VALUE_NULL
  }

  /** The object with which the record begins has ended, after fields that were read without the parser. */
  def leave(): Unit = _parsingContext = _parsingContext.getParent

  /** How many names the parser remembers: keys of maps may be different in each record. */
  def names: Int = _symbols.size

  /**
   * The text of the current token, a string. It refers to the bytes of the record if it contains no escapes; these have to be
   * valid UTF-8.
   */
  def utf8: UTF8String =
    if (!_tokenIncomplete) UTF8String.fromString(getText)
    else {
      val from = _inputPtr
      val length = JsonSkip.string(_inputBuffer, from, _inputEnd) - 1 - from
      if (length >= 0 && length <= longest) {
        _tokenIncomplete = false
        _inputPtr = from + length + 1
        UTF8String.fromAddress(_inputBuffer, Platform.BYTE_ARRAY_OFFSET.toLong + from, length)
      } else UTF8String.fromString(getText)
    }
}

private[format] object RecordParser {

  /** A context without a reference to the content, as with `from_json`: Spark would take the text of objects from it. */
  private def context(constraints: StreamReadConstraints) =
    new IOContext(
      constraints,
      StreamWriteConstraints.defaults(),
      ErrorReportConfiguration.defaults(),
      new BufferRecycler,
      ContentReference.unknown(),
      false
    )
}
