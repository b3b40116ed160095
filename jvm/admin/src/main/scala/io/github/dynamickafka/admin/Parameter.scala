package io.github.dynamickafka.admin

import scala.util.Try

import org.apache.spark.sql.types.{ArrayType, BooleanType, DataType, LongType, StringType}

import io.github.dynamickafka.source.checkpoint.Refusal

/**
 * A parameter of a command and of a procedure.
 *
 * @param comment for help and `DESCRIBE PROCEDURE`
 * @param default SQL of the value if the argument is left out; None: it is required. A positional argument always is
 * @param onLine `--option`, or `NAME` of a positional argument; None: only in SQL
 */
private[dynamickafka] final case class Parameter[T](
    name: String,
    kind: Kind[T],
    comment: String,
    default: Option[String],
    onLine: Option[String],
    inSql: Boolean
) {
  def optional: Parameter[T] = copy(default = Some("NULL"))

  /** On the command line: `NAME` in place of `--name`. */
  def positional: Parameter[T] = copy(onLine = Some(name.toUpperCase(java.util.Locale.ROOT)))

  /** The option of the command line, without `--`. */
  def called(option: String): Parameter[T] = copy(onLine = Some(s"--$option"))
  def onlyOnLine: Parameter[T] = copy(inSql = false)
  def onlyInSql: Parameter[T] = copy(onLine = None)

  def lineName: String = onLine.getOrElse(name)
  def isPositional: Boolean = onLine.exists(!_.startsWith("--"))
  def isRequired: Boolean = isPositional || default.isEmpty
}

private[dynamickafka] object Parameter {
  def apply[T](name: String, kind: Kind[T], comment: String, default: Option[String] = None): Parameter[T] =
    Parameter(name, kind, comment, default, onLine = Some(s"--${name.replace('_', '-')}"), inSql = true)

  def text(name: String, comment: String): Parameter[String] = Parameter(name, Kind.Text, comment)
  def path(name: String, comment: String): Parameter[String] = Parameter(name, Kind.Path, comment)
  def number(name: String, comment: String): Parameter[Long] = Parameter(name, Kind.Number, comment)
  def flag(name: String, comment: String): Parameter[Boolean] =
    Parameter(name, Kind.Flag, comment, Some("false"))

  /** An option that can be repeated, or an array in SQL. */
  def texts(name: String, comment: String): Parameter[Seq[String]] =
    Parameter(name, Kind.Texts, comment, Some("NULL"))

  val Checkpoint: Parameter[String] =
    path("checkpoint", "The checkpoint of the query, any URI that Spark reads").positional

  /** The metadata file that a command is about. SQL has the metadata service of the catalog. */
  val File: Parameter[String] = Parameter(
    "file",
    Kind.MetadataFile,
    "A metadata file, any URI that Spark reads"
  ).positional.onlyOnLine

  /** The metadata file with which a command reaches clusters. */
  val Metadata: Parameter[String] = Parameter(
    "metadata",
    Kind.MetadataFile,
    "A metadata file, with the addresses of the clusters and what is needed to log in"
  ).onlyOnLine

  /** The option `clusterRequestTimeoutMs` of the catalog. */
  val Timeout: Parameter[Long] =
    Parameter("timeout", Kind.Seconds, "Limit of a request to a cluster, in seconds", Some("10")).onlyOnLine

  val Watch: Parameter[Boolean] = flag("watch", "Repeat it every 2 seconds, until Ctrl-C").onlyOnLine
}

/** @param of the value on a command line, or what is expected */
private[dynamickafka] final class Kind[T] private (val dataType: DataType, val metavar: String)(
    val of: String => Either[String, T]
)

private[dynamickafka] object Kind {
  val Text: Kind[String] = text("TEXT")

  /** A file or folder that exists. */
  val Path: Kind[String] = text("PATH")

  /** The file whose streams are those of the [[Context]]. */
  val MetadataFile: Kind[String] = text("FILE")

  val Number: Kind[Long] =
    new Kind(LongType, "NUMBER")(_.toLongOption.filter(_ >= 0).toRight("a number, 0 or greater"))
  val Flag: Kind[Boolean] = new Kind(BooleanType, "")(_.toBooleanOption.toRight("true or false"))
  val Texts: Kind[Seq[String]] = texts("TEXT")

  /** What the launcher of the command line has put on the class path. */
  val Jars: Kind[Seq[String]] = texts("JARS")

  /** Milliseconds, as users write seconds. */
  val Seconds: Kind[Long] = new Kind(LongType, "SECONDS")(text =>
    Try(BigDecimal(text)).toOption.filter(s => s > 0 && s < 1000000000)
      .map(s => math.max(1L, math.round(s.toDouble * 1000))).toRight("a number of seconds above 0")
  )

  private def text(metavar: String) = new Kind[String](StringType, metavar)(Right(_))
  private def texts(metavar: String) =
    new Kind[Seq[String]](ArrayType(StringType), metavar)(one => Right(Seq(one)))
}

/** The arguments of one call, by the names of their parameters. */
private[admin] final class Arguments(values: Map[String, Any]) {

  /** None: null, or not given. */
  def get[T](parameter: Parameter[T]): Option[T] = values.get(parameter.name).map(_.asInstanceOf[T])

  /** @throws Refusal if the argument is null */
  def apply[T](parameter: Parameter[T]): T = get(parameter).getOrElse(
    throw new Refusal(s"the argument '${parameter.name}' is NULL, and has to be set")
  )

  def has(flag: Parameter[Boolean]): Boolean = get(flag).contains(true)
}
