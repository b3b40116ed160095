package io.github.dynamickafka.admin

import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.error.{DynamicKafkaError, FailureText}
import io.github.dynamickafka.sink.commit.Refused
import io.github.dynamickafka.source.checkpoint.{Refusal, SourceId}

/**
 * What operators do: a command of [[Main]] and a procedure of a catalog, by one declaration.
 *
 * @param name of the procedure; the command is called with `-` in place of `_`
 * @param description one sentence, without an argument's name, and what else help and `DESCRIBE PROCEDURE` say
 * @param columns DDL of the rows; empty: there is no procedure
 * @param run Throws [[Refusal]], [[Refused]] or [[DynamicKafkaError]]
 * @param changes false: it only reads
 * @param isCommand false: only SQL has it
 */
private[dynamickafka] final case class Command(
    name: String,
    description: String,
    parameters: Seq[Parameter[_]],
    columns: String,
    run: (Context, Arguments) => Result,
    changes: Boolean = false,
    isCommand: Boolean = true
) {
  def isProcedure: Boolean = columns.nonEmpty

  def commandName: String = name.replace('_', '-')

  /** What the command line accepts, the positional ones first. */
  def onLine: Seq[Parameter[_]] =
    parameters.filter(_.isPositional) ++ parameters.filter(p => p.onLine.isDefined && !p.isPositional)

  def inSql: Seq[Parameter[_]] = parameters.filter(_.inSql)

  lazy val schema: StructType = StructType.fromDDL(columns)

  /** The arguments with their types: Spark's `DESCRIBE PROCEDURE` prints only a text. */
  def signature: String = {
    val arguments =
      inSql.map(p => s"${p.name} ${p.kind.dataType.sql}" + p.default.fold("")(d => s" DEFAULT $d"))
    s"$name(${arguments.mkString(", ")})"
  }
}

private[dynamickafka] object Command {

  /** Why a command has failed, without secrets. */
  def reasons(failure: Throwable): Seq[String] = failure match {
    case e: Refused => e.reasons
    case e: ExitCode => reasons(e.getCause)
    case e @ (_: Refusal | _: WrongUsage | _: DynamicKafkaError) => Seq(e.getMessage)
    // Hadoop has several exceptions for a path that it cannot read.
    case e => Seq(FailureText.of(e))
  }
}

/** A call that is not possible with any metadata or checkpoint: arguments that do not go together. */
private[admin] final class WrongUsage(message: String) extends RuntimeException(message)

/** A failure with another exit code than 1. */
private[admin] final class ExitCode(val code: Int, cause: Throwable) extends RuntimeException(cause)

/**
 * What a command has found or done. SQL takes the rows, the command line JSON or text, the reasons (to standard error) and the
 * exit code.
 */
private[admin] trait Result {

  /** The rows with Scala's values, by the columns of the command; None is NULL. */
  def rows: Seq[Seq[Any]]

  def json: Any

  /** Lines, the last one without a line break. */
  def text: String

  def reasons: Seq[String] = Nil

  /** The reasons beside the JSON, which may have them. */
  def reasonsWithJson: Seq[String] = reasons
  def exitCode: Int = 0
}

private[admin] object Result {

  /** What an option holds; None: null. A source is its number. */
  def plain(value: Any): Any = value match {
    case source: SourceId => source.number
    case Some(held) => held
    case None => null
    case other => other
  }
}

/** All commands and procedures, sorted by name. */
private[admin] object Commands {
  val all: Seq[Command] = Seq(
    CheckpointCommands.all,
    TransactionCommands.all,
    MetadataCommands.all,
    EditCommands.all,
    PlanCommand.all,
    ResetCommand.all,
    MigrationCommands.all,
    DoctorCommand.all
  ).flatten.sortBy(_.name)
}

/** Rows of one shape for SQL, JSON and text, each of which has its own form of the values. */
private[admin] final case class Table(names: Seq[String], rows: Seq[Seq[Any]]) {
  def json: Seq[Json.Fields] = rows.map(row =>
    Json.Fields(names.zip(row.map {
      case source: SourceId => source.shown
      case other => other
    }))
  )

  /** Numbers are right-aligned, and None is an empty cell. */
  def text: String = {
    val plain = rows.map(_.map {
      case source: SourceId => source.name
      case other => Result.plain(other)
    })
    val right = names.indices.map(i => plain.exists(_(i) != null) && plain.forall(row => isNumber(row(i))))
    val cells = names +: plain.map(_.map(v => if (v == null) "" else v.toString))
    val widths = names.indices.map(i => cells.map(_(i).length).max)
    cells.map { row =>
      row.indices.map { i =>
        val blanks = " " * (widths(i) - row(i).length)
        if (right(i)) blanks + row(i) else row(i) + blanks
      }.mkString("  ").stripTrailing
    }.mkString("\n")
  }

  private def isNumber(value: Any) = value match {
    case null | _: Int | _: Long => true
    case _ => false
  }
}

private[admin] object Text {
  def count(number: Long, thing: String): String = if (number == 1) s"1 $thing" else s"$number ${thing}s"
}
