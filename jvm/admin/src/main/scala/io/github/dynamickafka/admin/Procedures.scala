package io.github.dynamickafka.admin

import java.util.Locale
import java.{util => ju}

import scala.util.control.NonFatal

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.connector.catalog.procedures.{
  BoundProcedure,
  ProcedureParameter,
  UnboundProcedure
}
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.catalog.{CatalogProcedures, StreamCatalog}
import io.github.dynamickafka.error.{DynamicKafkaError, Errors}
import io.github.dynamickafka.option.Suggestions

/** All procedures are in the namespace `system`. Thread-safe. */
private[dynamickafka] final class Procedures(commands: Seq[Command]) extends CatalogProcedures {

  /** The service of the JVM. */
  def this() = this(Commands.all)

  private val Namespace = "system"
  private val all = commands.filter(_.isProcedure)

  override def list(namespace: Array[String]): Array[Identifier] =
    if (namespace.isEmpty || isSystem(namespace))
      all.map(p => Identifier.of(Array(Namespace), p.name)).toArray
    else Array.empty

  override def load(ident: Identifier, streams: StreamCatalog, user: () => String): UnboundProcedure =
    all.find(p => isSystem(ident.namespace) && p.name == ident.name.toLowerCase(Locale.ROOT))
      .map(new SparkProcedure(_, new Context(streams, None, user)))
      .getOrElse(throw Errors.unknownProcedure(
        streams.name,
        (ident.namespace :+ ident.name).mkString("."),
        Suggestions.closest(ident.name, all.map(_.name)).map(name => s"$Namespace.$name"),
        all.map(_.name)
      ))

  private def isSystem(namespace: Array[String]) =
    namespace.map(_.toLowerCase(Locale.ROOT)).sameElements(Array(Namespace))
}

/** A procedure as Spark calls it: with arguments of the declared types, defaults filled in. Thread-safe. */
private final class SparkProcedure(command: Command, context: Context)
    extends UnboundProcedure
    with BoundProcedure {

  override def name(): String = command.name

  override def description(): String = s"${command.signature}: ${command.description}"

  override def bind(inputType: StructType): BoundProcedure = this

  override def parameters(): Array[ProcedureParameter] = command.inSql.map { p =>
    val builder = ProcedureParameter.in(p.name, p.kind.dataType).comment(p.comment)
    p.default.foreach(builder.defaultValue)
    builder.build()
  }.toArray

  override def isDeterministic: Boolean = false

  override def call(input: InternalRow): ju.Iterator[Scan] = {
    val toCatalyst = CatalystTypeConverters.createToCatalystConverter(command.schema)
    val found = rows(input)
      .map(row => toCatalyst(Row.fromSeq(row.map(Result.plain))).asInstanceOf[InternalRow]).toArray
    ju.List.of[Scan](new LocalScan {
      override def rows(): Array[InternalRow] = found
      override def readSchema(): StructType = command.schema
    }).iterator
  }

  private def plain(argument: Any): Any = argument match {
    case texts: ArrayData => texts.toSeq[Any](StringType).map(_.toString)
    case text: UTF8String => text.toString
    case other => other
  }

  private def rows(input: InternalRow): Seq[Seq[Any]] =
    try {
      val values = command.inSql.zipWithIndex.collect {
        case (p, index) if !input.isNullAt(index) => p.name -> plain(input.get(index, p.kind.dataType))
      }
      command.run(context, new Arguments(values.toMap)).rows
    } catch {
      case e: DynamicKafkaError => throw e
      case NonFatal(e) =>
        throw Errors.procedureRefused(name(), command.changes, Command.reasons(e).mkString("; "), e)
    }
}
