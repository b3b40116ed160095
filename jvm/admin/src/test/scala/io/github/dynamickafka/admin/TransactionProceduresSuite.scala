package io.github.dynamickafka.admin

import io.github.dynamickafka.source.{Entry, Queries}

/** `transactions` and `resolve`, on brokers. What a resolution does is in the suites of `sink.commit`. */
class TransactionProceduresSuite extends Queries {

  private val sink = Seq(
    "deliveryGuarantee" -> "exactly-once",
    "clusterRouting" -> "all",
    "clusterRequestTimeoutMs" -> "4000",
    "commitTimeoutMs" -> "6000"
  )

  test("the transactions of an open decision, and its resolution") {
    val (from, out) = (newTopicOn(1, blue), newTopicOn(1, blue, green))
    target { t =>
      scene { s =>
        s.orders(Entry("blue", blue, from))
        t.out(Entry("blue", blue, out), Entry("green", green, out))
        produce(blue, from, 1, Seq("a", "b"))
        dying("decided")(t.start(s.frame().select("key", "value"), sink: _*))
        val k = catalog(t.options("clusterRequestTimeoutMs" -> "4000"))
        val call = s"CALL $k.system.transactions('${t.checkpoint}')"
        assert(
          columns(call) ==
            "batch BIGINT,generation BIGINT,cluster STRING,transactional_id STRING,state STRING"
        )
        val open = rows(call)
        assert(open.map(row => (row(0), row(2), row(4))).toSet == Set(
          (0L, "blue", "open"),
          (0L, "green", "open")
        ))
        def resolve(how: String) = s"CALL $k.system.resolve(checkpoint => '${t.checkpoint}', $how)"
        val one = "use exactly one of accept_loss, rewrite and abandon_cluster"
        assert(error(resolve("batch => 0"))._2.contains(one))
        assert(error(resolve("batch => 0, rewrite => true, abandon_cluster => 'blue'"))._2.contains(one))
        val (condition, text) = error(resolve("batch => 7, accept_loss => true"))
        assert(
          condition == "PROCEDURE_REFUSED" && text.contains(
            "the open decision is that of batch 0, not of batch 7"
          ),
          text
        )
        assert(
          error(s"CALL $k.system.transactions('${newFolder()}')")._2.contains("has no journal of decisions")
        )
        val resolved = resolve("batch => 0, accept_loss => true")
        assert(rows(resolved) == Seq(row(0L, "accept-loss", open.size.toLong)))
        assert(rows(call).isEmpty && Seq(blue, green).map(values(_, out)) == Seq(
          Seq("a", "b"),
          Seq("a", "b")
        ))
      }
    }
  }
}
