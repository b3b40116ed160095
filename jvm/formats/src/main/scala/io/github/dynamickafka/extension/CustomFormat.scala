package io.github.dynamickafka.extension

import java.{util => ju}

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.StructType

/**
 * A format of your own, for the option `format=class:<name>`. The class needs a public constructor without parameters. One instance
 * is created for each use; instances are not shared by threads.
 */
trait CustomFormat {

  /** The columns of all records, if the class determines them; null: the option `schema` does. */
  def schema(): StructType = null

  /**
   * Creates the reader of a task. It is also called on the driver, so that an exception for columns that the format does not support is
   * thrown before a query starts.
   *
   * @param schema the columns to read: those of [[schema]] or of the option, or those of `keyFields` for keys
   */
  def reader(schema: StructType): RecordReader

  /** Creates the writer of a task; see [[reader]]. By default, the format is for reading only. */
  def writer(schema: StructType): RecordWriter = {
    val _ = schema
    throw new UnsupportedOperationException("the format is for reading only")
  }
}

/** Reads keys or values. Used by one task, which closes it at its end. */
trait RecordReader extends AutoCloseable {

  /**
   * @return a value for each column, in the order of the schema, of the types that Spark's `Row` has. An exception makes the record
   *         a bad one; what happens to bad records is set with `parseErrors`
   */
  def read(record: SourceRecord): Row

  override def close(): Unit = ()
}

/** Writes keys or values. Used by one task, which closes it at its end. */
trait RecordWriter extends AutoCloseable {

  /**
   * @param row a value for each column, in the order of the schema
   * @return null for a record without key or value. An exception fails the query
   */
  def write(row: Row, record: TargetRecord): Array[Byte]

  override def close(): Unit = ()
}

/** A record that is read. Valid until the reader returns. */
trait SourceRecord {

  /** The key or the value, never null: a record without it has nulls in the columns. */
  def bytes: Array[Byte]

  def headers: ju.List[RecordHeader]
  def topic: String

  /** The id of the cluster in the metadata. */
  def cluster: String
}

/** A record that is written. Valid until the writer returns. */
trait TargetRecord {

  /** Adds a header after those of the column `headers`. */
  def addHeader(name: String, value: Array[Byte]): Unit

  /** null if the topic depends on the cluster and the row has no column `topic`. */
  def topic: String

  /** The column `cluster` of the row; null if there is none, because rows are encoded before they are routed. */
  def cluster: String
}

/** @param value may be null */
final case class RecordHeader(name: String, value: Array[Byte])
