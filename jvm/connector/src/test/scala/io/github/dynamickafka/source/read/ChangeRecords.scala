package io.github.dynamickafka.source.read

/** Records with the structure that the documentation of each tool shows. */
object ChangeRecords {

  /** Debezium's connector for PostgreSQL, a table with `REPLICA IDENTITY FULL`. */
  object Debezium {
    val source: String =
      """"source": {"version": "3.0.0.Final", "connector": "postgresql", "name": "shop", "ts_ms": 1763870400123,
        |"snapshot": "false", "db": "shop", "sequence": "[\"24023119\",\"24023128\"]", "schema": "public",
        |"table": "customers", "txId": 555, "lsn": 24023128, "xmin": null}""".stripMargin

    private def record(op: String, before: String, after: String) =
      s"""{"before": $before, "after": $after, $source, "transaction": null, "op": "$op", "ts_ms": 1763870400456}"""

    private val anne = """{"id": 1004, "name": "Anne", "credit": "10.50"}"""
    private val annabel = """{"id": 1004, "name": "Annabel", "credit": null}"""

    val read: String = record("r", "null", anne)
    val create: String = record("c", "null", anne)
    val update: String = record("u", anne, annabel)
    val delete: String = record("d", annabel, "null")

    /** With the default replica identity an update that does not change the key has no `before`. */
    val updateWithoutBefore: String = record("u", "null", annabel)
    val deleteWithoutBefore: String = record("d", "null", "null")
    val truncate: String = record("t", "null", "null")
    val badField: String = record("c", "null", """{"id": "secret-text", "name": "Anne", "credit": "1"}""")
    val numbersAsTexts: String = record("c", "null", """{"id": "1004", "name": 5, "credit": 1.5}""")

    /** With `value.converter.schemas.enable`. */
    def withSchema(payload: String): String =
      s"""{"schema": {"type": "struct", "fields": [{"type": "int32", "optional": false, "field": "id"}],
         |"optional": false, "name": "shop.public.customers.Envelope", "version": 1}, "payload": $payload}""".stripMargin
  }

  /** Canal's flat messages: all values are texts, and one record has the rows of one statement. */
  object Canal {
    private def record(kind: String, data: String, old: String, table: String = "products") =
      s"""{"data": $data, "database": "inventory", "es": 1589373515000, "gtid": "", "id": 3, "isDdl": false,
         |"mysqlType": {"id": "INTEGER", "name": "VARCHAR(255)", "credit": "DECIMAL(10,2)"}, "old": $old,
         |"pkNames": ["id"], "sql": "", "sqlType": {"id": 4, "name": 12, "credit": 3}, "table": "$table",
         |"ts": 1589373515477, "type": "$kind"}""".stripMargin

    private val two =
      """[{"id": "101", "name": "scooter", "credit": "3.14"}, {"id": "102", "name": null, "credit": "8.1"}]"""
    val insert: String = record("INSERT", two, "null")
    val update: String = record("UPDATE", two, """[{"name": null}, {"name": "battery", "credit": "9.1"}]""")
    val updateWithoutOld: String = record("UPDATE", two, "null")
    val delete: String = record("DELETE", two, "null")
    val create: String = record("CREATE", "null", "null")
    val alter: String = record("ALTER", "null", "null")
    val lengths: String = record("UPDATE", two, """[{"name": "x"}]""")
    val otherTable: String = record("INSERT", """[{"id": "not a number"}]""", "null", table = "orders")
    val badField: String = record("INSERT", """[{"id": "1x", "name": "a", "credit": "1"}]""", "null")
  }

  object Maxwell {
    private def record(kind: String, more: String) =
      s"""{"database": "test", "table": "maxwell", "type": "$kind", "ts": 1449786310, "xid": 940752, "commit": true,
         |"primary_key_columns": ["id"], $more}""".stripMargin

    val insert: String = record("insert", """"data": {"id": 1, "name": "Stanislaw Lem", "credit": 42.5}""")
    val update: String = record(
      "update",
      """"data": {"id": 1, "name": "Lem", "credit": null}, "old": {"name": null, "credit": 42.5}"""
    )
    val delete: String = record("delete", """"data": {"id": 1, "name": "Lem", "credit": null}""")
    val bootstrapStart: String = record("bootstrap-start", """"data": {}""")
    val bootstrap: String = record("bootstrap-insert", """"data": {"id": 1, "name": "Lem", "credit": 1}""")
    val unknown: String = record("table-create", """"def": {}""")
  }

  /** Oracle GoldenGate for Big Data, the JSON formatter. */
  object Ogg {
    private def record(op: String, more: String) =
      s"""{"table": "OGG.PRODUCTS", "op_type": "$op", "op_ts": "2020-05-13 15:40:06.000000",
         |"current_ts": "2020-05-13 15:40:07.125000", "pos": "00000000000000000003596",
         |"primary_keys": ["id"], $more}""".stripMargin

    private val before = """"before": {"id": 111, "name": "scooter", "credit": 5.15}"""
    private val after = """"after": {"id": 111, "name": "Big scooter", "credit": 5.17}"""
    val insert: String = record("I", after)
    val update: String = record("U", s"$before, $after")
    val delete: String = record("D", before)
    val truncate: String = record("T", """"after": null""")
  }
}
