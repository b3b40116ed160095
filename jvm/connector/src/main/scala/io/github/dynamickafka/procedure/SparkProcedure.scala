package io.github.dynamickafka.procedure

import java.{util => ju}

import scala.util.control.NonFatal

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.connector.catalog.procedures.{
  BoundProcedure,
  ProcedureParameter,
  UnboundProcedure
}
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.error.{DynamicKafkaError, Errors, FailureText}
import io.github.dynamickafka.procedure.checkpoint.Refusal
import io.github.dynamickafka.sink.operate.Refused

/** A procedure as Spark calls it: with arguments of the declared types, defaults filled in. Thread-safe. */
private[procedure] final class SparkProcedure(procedure: CatalogProcedure)
    extends UnboundProcedure
    with BoundProcedure {

  override def name(): String = procedure.name

  override def description(): String = procedure.description

  override def bind(inputType: StructType): BoundProcedure = this

  override def parameters(): Array[ProcedureParameter] = procedure.parameters.map { p =>
    val builder = ProcedureParameter.in(p.name, p.dataType).comment(p.comment)
    p.default.foreach(builder.defaultValue)
    builder.build()
  }.toArray

  override def isDeterministic: Boolean = false

  override def call(input: InternalRow): ju.Iterator[Scan] = {
    val toCatalyst = CatalystTypeConverters.createToCatalystConverter(procedure.columns)
    val found = result(input).map(row => toCatalyst(Row.fromSeq(row)).asInstanceOf[InternalRow]).toArray
    ju.List.of[Scan](new SparkProcedure.Result(procedure.columns, found)).iterator
  }

  private def result(input: InternalRow): Seq[Seq[Any]] =
    try procedure.call(new Arguments(procedure.parameters, input))
    catch {
      case e: DynamicKafkaError => throw e
      case e: Refusal => throw refused(e.getMessage, e)
      case e: Refused => throw refused(e.reasons.mkString("; "), e)
      // Hadoop has several exceptions for a path that it cannot read.
      case NonFatal(e) => throw refused(FailureText.of(e), e)
    }

  private def refused(reason: String, cause: Throwable) =
    Errors.procedureRefused(procedure.name, reason, cause)
}

private[procedure] object SparkProcedure {

  /** The rows of one call. */
  private final class Result(schema: StructType, found: Array[InternalRow]) extends LocalScan {
    override def rows(): Array[InternalRow] = found
    override def readSchema(): StructType = schema
  }
}
