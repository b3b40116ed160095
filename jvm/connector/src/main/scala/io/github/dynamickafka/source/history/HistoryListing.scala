package io.github.dynamickafka.source.history

import scala.collection.immutable.SortedMap
import scala.util.control.NonFatal

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.expressions.Window
import org.apache.spark.sql.functions.{col, count, lit, max, min, sum, unix_micros, when}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{AnalysisException, Column, DataFrame, SparkSession}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.{DynamicKafkaError, Errors}
import io.github.dynamickafka.format.{Layout, MetadataColumn}
import io.github.dynamickafka.metadata.{Topology, TopologyHistory}
import io.github.dynamickafka.offset.{
  HandOver,
  HistoryDataSource,
  HistoryEnd,
  HistoryFile,
  HistoryPlan,
  HistoryTable,
  Positions,
  RowTimes
}

/**
 * Lists the files of histories and finds where they end, with Spark's own readers, so that the files are those that Spark would read:
 * files that a sink of Spark has not committed are not among them.
 *
 * @param layout of the table; None: the columns of Spark's Kafka source
 */
private[source] final class HistoryListing(layout: Option[Layout]) {
  private val log = LoggerFactory.getLogger(classOf[HistoryListing])

  /** @throws DynamicKafkaIllegalArgumentException `METADATA_INVALID`, `INVALID_SCHEMA` */
  def apply(topology: Topology): HistoryPlan = {
    val found = topology.histories.map { case (stream, history) => stream -> list(stream, history, topology) }
    val plan = HistoryPlan(
      found.map { case (stream, (table, _)) => stream -> table },
      HandOver.of(found.values.flatMap(_._2))
    )
    found.foreach { case (stream, (table, _)) =>
      log.info("The history of stream '{}' has {} files at '{}'", stream, table.files.size, table.source.path)
    }
    plan
  }

  private def list(
      stream: String,
      history: TopologyHistory,
      topology: Topology
  ): (HistoryTable, Seq[HistoryEnd]) = {
    val source = new HistorySource(stream, history.format, history.path, layout)
    val format = source.format
    reading(source) {
      val session = SparkSession.active
      val options = format.options(source.where, history, session)
      val inferred = format.load(session, history, options, None).schema
      val columns = source.columns(inferred, Some(""), Some(""))
      val schema = columns.schema(history.format, inferred)
      val rows = new Rows(source, format, columns, schema)
      val table = HistoryTable(
        HistoryDataSource(history.format, history.path, options, schema.json),
        if (rows.has(MetadataColumn.Cluster)) None else Some(clusterOf(source, history)),
        if (rows.has(MetadataColumn.Topic)) None else Some(topicOf(source, stream, topology)),
        Vector.empty
      )
      // Before the files are read: types that do not fit.
      val _ = source.columns(schema, table.cluster, table.topic).projection(schema, source.where)
      val frame = format.load(session, history, options, Some(schema))
      val ends = rows.ends(frame, table, stream)
      refuseUnknown(source, stream, history, ends, topology)
      val lastFiles = Positions.byCluster(ends.map(e =>
        (e.cluster, e.topic, e.partition.getOrElse(HistoryTable.AnyPartition), e.lastFile)
      ))
      (table.copy(files = rows.files(frame), ends = lastFiles), ends)
    }
  }

  /**
   * Kafka would not follow on rows of a topic, or of the cluster of the history, if nothing of that name is read. A cluster that has left
   * the stream may have rows.
   */
  private def refuseUnknown(
      source: HistorySource,
      stream: String,
      history: TopologyHistory,
      ends: Seq[HistoryEnd],
      topology: Topology
  ): Unit = {
    val read = topology.clusters.values.filter(c =>
      c.topics.exists(_._2.stream == stream) || c.patterns.exists(_.topic.stream == stream)
    )
    def isRead(topic: String) = read.exists(c =>
      c.topics.get(topic).exists(_.stream == stream) ||
        c.patterns.exists(p => p.topic.stream == stream && p.matches(topic))
    )
    def isKnown(id: String) = topology.removals.contains(id) ||
      read.exists(c => c.id == id || c.replaces.contains(id))
    def names(all: Iterable[String]) = all.toSeq.distinct.sorted.mkString(", ")
    ends.find(e => read.exists(_.id == e.cluster) && !isRead(e.topic)).foreach(e =>
      throw Errors.metadataInvalid(
        source.where,
        s"rows of cluster '${e.cluster}' have topic '${e.topic}', which is none of the stream (${names(read.flatMap(_.topics.keys))}): Kafka would not follow on them"
      )
    )
    history.cluster.filterNot(isKnown).foreach(id =>
      throw Errors.metadataInvalid(
        s"${source.where}, key 'cluster'",
        s"cluster '$id' is none of the stream (${names(read.map(_.id))}): Kafka would not follow on its files"
      )
    )
  }

  private def clusterOf(source: HistorySource, history: TopologyHistory): String =
    history.cluster.getOrElse(throw Errors.metadataInvalid(
      source.where,
      "the files have no column 'cluster', and the stream is on several clusters: set 'cluster' of the history"
    ))

  private def topicOf(source: HistorySource, stream: String, topology: Topology): String = {
    val names = topology.clusters.values.flatMap(_.topics.filter(_._2.stream == stream).keySet).toSeq.distinct
    if (names.size == 1) names.head
    else throw Errors.metadataInvalid(
      source.where,
      s"the files have no column 'topic', and the stream has ${names.size} topics"
    )
  }

  /** What the rows of files say about records. */
  private final class Rows(
      source: HistorySource,
      format: HistoryFormat,
      columns: HistoryColumns,
      schema: StructType
  ) {
    import MetadataColumn._

    private def find(column: MetadataColumn) = source.recordColumn(column, columns, schema)
    def has(column: MetadataColumn): Boolean = find(column).isDefined
    private def named(column: MetadataColumn): Option[Column] =
      find(column).map(n => col(s"`${n.replace("`", "``")}`"))

    private val time: Column = named(Timestamp).fold(
      throw Errors.invalidSchema(s"${source.where}: the files have no column 'timestamp'")
    )(c => unix_micros(c.cast("timestamp")))

    def ends(frame: DataFrame, table: HistoryTable, stream: String): Seq[HistoryEnd] = {
      val (partition, offset) = (named(Partition), named(Offset))
      val known = Seq(Cluster, Topic, Partition, Offset, Timestamp).flatMap(c => named(c).map(c -> _))
      val nulls = known.map { case (c, column) => count(when(column.isNull, lit(1))).as(s"null ${c.name}") }
      val streamColumn = named(Stream).map(_.cast("string")).getOrElse(lit(stream))
      val place = Seq("cluster", "topic", "partition").map(col)
      val ofFiles = frame.groupBy(
        fileOf(frame),
        named(Cluster).getOrElse(lit(table.cluster.orNull)).cast("string").as("cluster"),
        named(Topic).getOrElse(lit(table.topic.orNull)).cast("string").as("topic"),
        partition.getOrElse(lit(null)).cast("int").as("partition")
      ).agg(
        max(offset.filter(_ => partition.isDefined).getOrElse(lit(null)).cast("long")).as("offset"),
        max(time).as("time") +: min(streamColumn).as("least") +: max(streamColumn).as("greatest") +: nulls: _*
      )
      val found =
        ofFiles.withColumn("file", max("time").over(Window.partitionBy("file"))).groupBy(place: _*).agg(
          max("offset").as("offset"),
          Seq("time", "file", "greatest").map(n => max(n).as(n)) ++ Seq(min("least").as("least")) ++
            known.map { case (c, _) => sum(s"null ${c.name}").as(s"null ${c.name}") }: _*
        ).collect()
      for (row <- found; (c, _) <- known if row.getAs[Long](s"null ${c.name}") > 0)
        throw Errors.metadataInvalid(source.where, s"rows have no value in column '${c.name}'")
      for (row <- found; name <- Seq("least", "greatest"); other = row.getAs[String](name) if other != stream)
        throw Errors.metadataInvalid(source.where, s"rows belong to stream '$other' by their column 'stream'")
      found.toSeq.map { row =>
        def number[A](name: String): Option[A] =
          Option.when(!row.isNullAt(row.fieldIndex(name)))(row.getAs[A](name))
        HistoryEnd(
          row.getAs[String]("cluster"),
          row.getAs[String]("topic"),
          number[Int]("partition"),
          number[Long]("offset"),
          number[Long]("time").map(millis),
          millis(row.getAs[Long]("file"))
        )
      }
    }

    /** The files in the order of their greatest times, so that event time advances. */
    def files(frame: DataFrame): Vector[HistoryFile] = {
      val cluster = named(Cluster).map(_.cast("string").as("cluster"))
      val rows = frame.groupBy(fileOf(frame) +: cluster.toSeq: _*)
        .agg(min(time).as("least"), max(time).as("greatest")).collect().toVector
      rows.groupBy(_.getAs[String]("file")).toVector.map { case (file, of) =>
        val times = of.map(row => row -> RowTimes(row.getAs[Long]("least"), row.getAs[Long]("greatest")))
        val greatest = times.map(_._2.greatest).max
        greatest -> HistoryFile(
          format.path(file),
          millis(times.map(_._2.least).min),
          millis(greatest),
          SortedMap.from(cluster.toSeq.flatMap(_ =>
            times.map { case (row, RowTimes(least, greatest)) =>
              row.getAs[String]("cluster") -> RowTimes(millis(least), millis(greatest))
            }
          ))
        )
      }.sortBy { case (greatest, file) => (greatest, file.path) }.map(_._2)
    }

    private def fileOf(frame: DataFrame) = format.file(frame).as("file")
  }

  /** @throws DynamicKafkaIllegalArgumentException `METADATA_INVALID` for any error of Spark */
  private def reading[A](source: HistorySource)(body: => A): A =
    try body
    catch {
      case e: DynamicKafkaError => throw e
      // The query is stopped.
      case e: SparkThrowable if e.getCondition == "SPARK_JOB_CANCELLED" => throw e
      case NonFatal(e) =>
        val reason = e match {
          case known: AnalysisException => known.getMessage.linesIterator.next()
          // A message may have parts of records.
          case t: SparkThrowable if t.getCondition != null => s"${e.getClass.getSimpleName} ${t.getCondition}"
          case _ => e.getClass.getSimpleName
        }
        throw Errors.metadataInvalid(source.where, s"the files cannot be read: $reason", e)
    }

  private def millis(micros: Long): Long = Math.floorDiv(micros, MicrosPerMs)

  private val MicrosPerMs = 1000L
}
