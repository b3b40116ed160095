package io.github.dynamickafka.admin

import java.util.UUID

import io.github.dynamickafka.DynamicKafkaCatalog
import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.sink.SinkTest

/** Base of suites that call procedures. */
trait ProcedureTest extends SinkTest {

  /** Defines a catalog with these settings; returns its name. */
  def catalog(settings: Map[String, String]): String = {
    val name = s"k${UUID.randomUUID.toString.replace("-", "").take(8)}"
    spark.conf.set(s"spark.sql.catalog.$name", classOf[DynamicKafkaCatalog].getName)
    (settings - "streamId" - "streamIds").foreach { case (option, value) =>
      spark.conf.set(s"spark.sql.catalog.$name.$option", value)
    }
    name
  }

  def row(values: Any*): Seq[Any] = values

  def rows(sql: String): Seq[Seq[Any]] = spark.sql(sql).collect().map(_.toSeq).toSeq

  /** The names of the columns with their types. */
  def columns(sql: String): String = spark.sql(sql).schema.toDDL

  /** The condition and the text of the error. */
  def error(sql: String): (String, String) = {
    val e: DynamicKafkaError = refused(spark.sql(sql).collect())
    condition(e) -> text(e)
  }
}
