package io.github.dynamickafka.source

import java.nio.file.Files
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Row}

import io.github.dynamickafka.metadata.StreamHistory
import io.github.dynamickafka.testkit.Record

/** Tables that Iceberg's released runtime writes and reads, in a catalog of the test's session. */
trait IcebergTest extends Queries {

  protected val oneFile: (String, String) = "historyFilesPerTrigger" -> "1"

  // Iceberg's own one for locations is of Hive, which is not on the class path here.
  Seq("lake", "default_iceberg").map("spark.sql.catalog." + _).foreach { catalog =>
    spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(s"$catalog.type", "hadoop")
    spark.conf.set(s"$catalog.warehouse", IcebergTest.warehouse)
    // Tables change while queries, whose sessions have catalogs of their own, read them.
    spark.conf.set(s"$catalog.cache-enabled", "false")
  }

  /** A table with the records of the stream `orders`. */
  protected final class Archive(val scene: Query, topic: String) {
    val name = s"shop.${topic.replace('-', '_')}"
    val table = s"lake.$name"
    private val old = inKafka
    private def inKafka = storedOnBoth(topic)

    /** The records that were archived, and those that Kafka has. */
    def all: Seq[Seen] = (old ++ inKafka).distinct

    /** @param headers whether it has them: Iceberg reads a table without nested columns by columns */
    def create(headers: Boolean = true): Unit =
      rows(headers).limit(0).writeTo(table).using("iceberg").tableProperty("format-version", "2")
        .tableProperty("write.delete.mode", "merge-on-read").create()

    /** Adds one file with these records of both clusters. */
    def append(which: String, headers: Boolean = true): Unit =
      rows(headers).where(which).coalesce(1).writeTo(table).append()

    /** Four files that are not written in the order of their times. */
    def fourFiles(headers: Boolean = true): Unit = {
      create(headers)
      Seq(6 to 8, 0 to 3, 9 to 11, 4 to 5).foreach(of =>
        append(s"offset BETWEEN ${of.head} AND ${of.last}", headers)
      )
    }

    /** `{}` in the text is the table. */
    def sql(text: String): Seq[Row] = spark.sql(text.replace("{}", table)).collect().toSeq
    def numbers(text: String): Seq[Long] = sql(text).map(_.getLong(0))
    def call(procedure: String, arguments: String): Seq[Row] =
      sql(s"CALL lake.system.$procedure(table => '$name', $arguments)")
    def location: String = sql("SELECT file_path FROM {}.files").head.getString(0).split("/data/").head
    def snapshot: Long = numbers("SELECT snapshot_id FROM {}.refs WHERE name = 'main'").head

    def parent: Long = numbers(s"SELECT parent_id FROM {}.snapshots WHERE snapshot_id = $snapshot").head

    /** Makes it the history of the stream. */
    def history(path: String, options: (String, String)*): Unit = scene.service.histories =
      Map("orders" -> new StreamHistory("iceberg", path, ju.Map.copyOf(options.toMap.asJava), null))

    private def rows(headers: Boolean): DataFrame = scene.batch("includeHeaders" -> headers.toString)
  }

  /**
   * Twelve records, a minute apart, on blue and on green.
   *
   * @param write archives them, after which Kafka removes them and has three more
   */
  protected def archived(write: Archive => Any)(read: Archive => Any): Unit = scene { s =>
    val topic = newTopicOn(1, blue, green)
    s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
    def produce(name: String, minutes: Range) = Seq(blue, green).foreach(
      _.produce(topic, minutes.map(i => Record(0, None, s"$name$i", timestamp = Some(Noon + i * 60000L))))
    )
    produce("old", 0 until 12)
    val archive = new Archive(s, topic)
    write(archive)
    Seq(blue, green).foreach(_.deleteRecords(topic, 0, 12L))
    produce("new", 12 until 15)
    archive.history(archive.table)
    read(archive)
    ()
  }

  protected val Noon = 1767268800000L
}

private object IcebergTest {

  /** Of all suites, because they share a session, which keeps its catalogs. */
  lazy val warehouse: String = Files.createTempDirectory("dynamic-kafka-warehouse-").toString
}
