package io.github.dynamickafka.source

import java.util.ServiceLoader

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.connector.catalog.{SupportsRead, TableProvider}
import org.apache.spark.sql.connector.expressions.Expressions
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What the released runtime cannot do, as decision 41 has it: a failure means that a history can be read in a better way. */
class IcebergReleaseSuite extends IcebergTest {

  test("a scan does not choose files by the column _file") {
    archived(_.fourFiles()) { a =>
      val file = a.sql("SELECT _file FROM {} WHERE offset = 0").head.getString(0)
      val only = new Predicate("=", Array(Expressions.column("_file"), Expressions.literal(file)))
      val provider = ServiceLoader.load(classOf[DataSourceRegister]).iterator.asScala.collectFirst {
        case source: TableProvider if source.shortName() == "iceberg" => source: TableProvider
      }.get
      val options = Map("path" -> a.table).asJava
      provider.getTable(new StructType, Array.empty, options) match {
        case table: SupportsRead =>
          table.newScanBuilder(new CaseInsensitiveStringMap(options)) match {
            case builder: SupportsPushDownV2Filters =>
              assert(builder.pushPredicates(Array(only)).toSeq == Seq(only))
              assert(builder.pushedPredicates().isEmpty)
              assert(builder.build().toBatch.planInputPartitions().length == 1)
            case other => fail(other.toString)
          }
        case other => fail(other.toString)
      }
    }
  }

  test("the option snapshot-id is refused on Spark 4.1, and not on 4.0") {
    archived(_.fourFiles()) { a =>
      def read() = spark.read.format("iceberg").option("snapshot-id", a.snapshot).load(a.table).count()
      assert(Try(read()).isFailure == spark.version.startsWith("4.1"))
    }
  }
}
