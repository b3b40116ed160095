package io.github.dynamickafka.format

/** What a record that changes a row of a table becomes: the option `changeData`. */
private[dynamickafka] sealed trait ChangeMode extends Product with Serializable

private[dynamickafka] object ChangeMode {

  /** Of a format of changes: the rows before and after. */
  case object Rows extends ChangeMode

  /** Of a format of changes: one row. */
  case object Envelope extends ChangeMode

  /** Of any other format: the row with the key of the record, or, with a null value, its deletion. */
  case object Upsert extends ChangeMode
}
