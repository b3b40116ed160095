package io.github.dynamickafka

import java.util.UUID

import scala.util.Random

import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.{DataFrame, Row}

import io.github.dynamickafka.source.{Entry, Queries, Target}
import io.github.dynamickafka.testkit.TestAll

/** Each way to make a table, with each way to write to it: SELECT returns the rows, or the write is an error with a name. */
class TableWaysSuite extends Queries {
  import TableWaysSuite._

  private def newName(): String = s"t${UUID.randomUUID.toString.replace("-", "").take(8)}"

  test("random columns, one by one in each table")(histories(0 until 2))

  test("further random columns", TestAll)(histories(2 until 40))

  private def histories(all: Range): Unit =
    all.foreach { i =>
      val seed = TestSeed() + i
      withClue(s"seed $seed: ")(history(new Random(seed)))
    }

  private def history(random: Random): Unit = {
    val format = if (random.nextBoolean()) "json" else "csv"
    val types = random.shuffle(if (format == "json") Flat ++ Nested else Flat).take(2 + random.nextInt(3))
    val columns = random.shuffle(
      ("n" -> "INT") +: types.zipWithIndex.map { case (t, i) =>
        s"${"abcd" (i)}${if (i == 1) "Z" else ""}" -> t
      }
    )
    val ddl = columns.map { case (name, t) => s"`$name` $t" }.mkString(", ")
    val keyed = random.nextBoolean()
    val options = Seq("format" -> format) ++
      (if (keyed)
         Seq("keyFormat" -> "json", "keyFields" -> random.shuffle(columns.map(_._1)).take(2).mkString(";"))
       else Nil)
    val topic = newTopicOn(1, blue)
    target { t =>
      t.out(Entry("blue", blue, topic))
      t.service.formats = Map("out" -> (options :+ "schema" -> ddl).toMap)
      val tables = Seq(
        "columns of CREATE TABLE" -> create(t, s"($ddl)", options: _*),
        "the option schema" -> create(t, "", options :+ "schema" -> ddl: _*),
        "a catalog" -> s"${catalog(t)}.out"
      )
      var expected = Seq.empty[Row]
      for ((way, table) <- tables; (write, run) <- Writes) withClue(s"$way ($ddl, $options), $write: ") {
        val (n, shuffled) = (expected.size, random.shuffle(columns))
        val row = Insert(table, columns, shuffled, n, t)
        run(this)(row)
        expected :+= spark.sql(s"SELECT ${row.values(columns)}").head()
        val wrong = row.copy(shuffled = shuffled.map { case (name, t) =>
          (if (name == "n") "nn" else name) -> t
        })
        // By position, a wrong name is lost before the table is asked.
        if (write != ByPosition) {
          val e = intercept[Exception](run(this)(wrong))
          assert(message(e).contains("nn"), e)
        }
      }
      // Without a table, of which the name stays empty.
      val withoutTable =
        Seq("options" -> (options :+ "schema" -> ddl), "format=metadata" -> Seq("format" -> "metadata"))
      for ((way, own) <- withoutTable) withClue(s"$way ($ddl, $options): ") {
        val row = Insert("", columns, random.shuffle(columns), expected.size, t)
        t.save(frame(this, row), own.filter(_._1 != "schema"): _*)
        expected :+= spark.sql(s"SELECT ${row.values(columns)}").head()
      }
      def read(own: Seq[(String, String)]) =
        spark.read.format(
          "dynamic-kafka"
        ).options(t.options(own: _*) - "streamId" + ("streamIds" -> "out")).load()
      val frames = tables.map { case (way, table) => way -> spark.table(table) } ++
        withoutTable.map { case (way, own) => way -> read(own) }
      for ((way, found) <- frames) withClue(s"SELECT by $way: ") {
        val selected = found.select(columns.map(c => found(c._1)): _*).collect().toSeq
        assert(selected.sortBy(_.getAs[Int]("n")).map(_.toSeq) == expected.map(_.toSeq))
      }
      assert(expected.size == tables.size * Writes.size + withoutTable.size)
    }
  }

  private def create(target: Target, columns: String, more: (String, String)*): String = {
    val name = newName()
    val options = target.options(more: _*).map { case (k, v) => s"'$k' = '$v'" }.mkString(", ")
    val _ = spark.sql(s"CREATE TABLE $name $columns USING `dynamic-kafka` OPTIONS ($options)")
    name
  }

  private def message(e: Throwable): String =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).map(_.toString).mkString("\n")
}

object TableWaysSuite {
  private val Flat =
    Seq("STRING", "BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL(10,2)", "SMALLINT", "STRING")
  private val Nested = Seq("ARRAY<INT>", "STRUCT<x: INT, y: STRING>", "MAP<STRING, BIGINT>")

  /** A row with the number n, for a table. */
  final case class Insert(
      table: String,
      columns: Seq[(String, String)],
      shuffled: Seq[(String, String)],
      n: Int,
      target: Target
  ) {

    /** Expressions of the values, with or without names, in this order. */
    def values(of: Seq[(String, String)], named: Boolean = true): String =
      of.map { case (name, t) => (if (named) s"${value(t)} AS `$name`" else value(t)) }.mkString(", ")

    def names(of: Seq[(String, String)]): String = of.map(c => s"`${c._1}`").mkString(", ")

    private def value(t: String): String = t match {
      case "INT" => s"$n"
      case "STRING" => s"'s$n'"
      case "BOOLEAN" => s"${n % 2 == 0}"
      case "DATE" => s"DATE '2026-01-0${1 + n % 9}'"
      case "TIMESTAMP" => s"TIMESTAMP '2026-01-01 00:00:0${n % 10}'"
      case "ARRAY<INT>" => s"array($n, ${n + 1})"
      case "STRUCT<x: INT, y: STRING>" => s"named_struct('x', $n, 'y', 'y$n')"
      case "MAP<STRING, BIGINT>" => s"map('k', ${n}L)"
      case number => s"CAST($n AS $number)"
    }
  }

  private type Write = (Queries => Insert => Any)
  private val ByPosition = "INSERT INTO t VALUES"

  private def frame(test: Queries, i: Insert): DataFrame = test.spark.sql(s"SELECT ${i.values(i.shuffled)}")

  private val Writes: Seq[(String, Write)] = Seq(
    ByPosition -> (test =>
      i => test.spark.sql(s"INSERT INTO ${i.table} VALUES (${i.values(i.columns, named = false)})")
    ),
    "INSERT INTO t (columns) VALUES" -> (test =>
      i =>
        test.spark.sql(
          s"INSERT INTO ${i.table} (${i.names(i.shuffled)}) VALUES (${i.values(i.shuffled, named = false)})"
        )
    ),
    "INSERT INTO t SELECT" -> (test =>
      i => test.spark.sql(s"INSERT INTO ${i.table} SELECT ${i.values(i.shuffled)}")
    ),
    "INSERT INTO t BY NAME" -> (test =>
      i => test.spark.sql(s"INSERT INTO ${i.table} BY NAME SELECT ${i.values(i.shuffled)}")
    ),
    "writeTo" -> (test => i => frame(test, i).writeTo(i.table).append()),
    "insertInto" -> (test => i => frame(test, i).write.insertInto(i.table)),
    "saveAsTable" -> (test =>
      i => frame(test, i).write.format("dynamic-kafka").mode("append").saveAsTable(i.table)
    ),
    "toTable" -> { test => i =>
      val in = test.newTopicOn(1, test.blue)
      test.produce(test.blue, in, 1, Seq("x"))
      i.target.service.streams ++= Map(s"in${i.n}" -> Seq(Entry("blue", test.blue, in)))
      val rows = test.spark.readStream.format(
        "dynamic-kafka"
      ).options(i.target.options() - "streamId" + ("streamIds" -> s"in${i.n}")).load()
        .selectExpr(i.shuffled.map { case (name, t) => i.values(Seq(name -> t)) }: _*)
      val query = rows.writeStream.trigger(Trigger.AvailableNow())
        .option("checkpointLocation", test.newFolder().toString).toTable(i.table)
      try test.assert(query.awaitTermination(300000))
      finally query.stop()
    }
  )
}
