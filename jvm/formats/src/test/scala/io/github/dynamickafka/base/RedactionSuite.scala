package io.github.dynamickafka.base

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.testkit.TimeLimit

class RedactionSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private val jaas =
    """org.apache.kafka.common.security.scram.ScramLoginModule required username="kafka" password="p\"ss-w0rd";"""

  private val properties = Map(
    "bootstrap.servers" -> "blue:9092",
    "security.protocol" -> "SASL_SSL",
    "fetch.max.wait.ms" -> "10",
    "check.crcs" -> "true",
    "sasl.client.callback.handler.class" -> "com.example.Handler",
    "sasl.jaas.config" -> jaas,
    "ssl.keystore.password" -> "keystore-pw",
    "ssl.truststore.certificates" -> "-----BEGIN",
    "my.own" -> "whatever-it-is"
  )
  private val secret =
    Seq("sasl.jaas.config", "ssl.keystore.password", "ssl.truststore.certificates", "my.own")

  test("only properties known to be harmless may be stored") {
    assert(Redaction.safe(properties) == properties -- secret)
  }

  // Tokens have thousands of characters, and a stack overflow in a message ends a query.
  test("values of any length, on a small stack") {
    val parts = Seq("a", "\\\"", "\\\\", "'", " ", ";", "=", "\n", "é", "/", "&x=", "${b}")
    val long = parts.map(_ * 30000) :+ parts.mkString * 5000 :+ """a="b" """ * 5000
    val values = long.flatMap(l =>
      Seq(
        l,
        s"""a.B required password="$l";""",
        s"a.B required password='$l",
        s"a.B required $l;",
        s"jdbc:x://h/$l",
        s"jdbc:x:$l@h?password=$l"
      )
    )
    var failure = Option.empty[Throwable]
    val small = new Thread(
      null,
      () =>
        try values.foreach { value =>
            val all = Map("sasl.jaas.config" -> value, "my.own" -> value)
            assert(!Redaction.scrub(s"before $value after", all).contains(value))
            assert(Redaction.show(all) == "my.own=(redacted), sasl.jaas.config=(redacted)")
            val urls = AddressText.jdbc(value).length + AddressText.credentials(value).size
            assert(Redaction.storable(all).size + urls >= 0)
          }
        catch { case e: Throwable => failure = Some(e) },
      "small-stack",
      192 * 1024
    )
    small.start()
    small.join()
    assert(failure == None)
  }

  test(
    "references may be stored: whole values, and a JAAS configuration whose options are references or harmless"
  ) {
    def ref(text: String) = "$" + s"{$text}"
    val module = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    val stored = Map(
      "bootstrap.servers" -> ref("env:SERVERS"),
      "ssl.key.password" -> s" ${ref("file:/etc/x.properties:pw")} ",
      "sasl.jaas.config" -> s"""$module username="svc" password="${ref("file:/etc/x:pw")}";""",
      "some.vendors.token" -> ref("dir:/run/secrets:token")
    )
    assert(Redaction.storable(properties ++ stored) == Redaction.safe(properties) ++ stored)
    Seq(
      s"""$module username="${ref("env:USER")}" password="pw-${ref("env:X")}";""",
      s"""$module username="svc" password="secret" serviceName="${ref("env:X")}";""",
      s"""$module username="svc" secret password="${ref("env:X")}";""",
      s"""$module password="${ref("env:X")}"; $module password="secret";""",
      s"""$module password=secret;""",
      s"secret ${ref("env:X")}",
      s"${ref("env:X")}secret",
      ref(s"env:X${ref("secret")}")
    ).foreach(value => assert(Redaction.storable(Map("sasl.jaas.config" -> value)).isEmpty, value))
  }

  test("all names are shown in order, without secret values") {
    val shown = Redaction.show(properties)
    secret.foreach(name => assert(shown.contains(s"$name=(redacted)") && !shown.contains(properties(name))))
    assert(shown.startsWith("bootstrap.servers=blue:9092, check.crcs=true, fetch.max.wait.ms=10, "))
  }

  test("secrets are removed from texts of other libraries, including parts of a JAAS configuration") {
    val text = s"""cannot log in kafka at blue:9092 with p\\"ss-w0rd / p"ss-w0rd / keystore-pw: $jaas"""
    assert(
      Redaction.scrub(text, properties) ==
        "cannot log in kafka at blue:9092 with (redacted) / (redacted) / (redacted): (redacted)"
    )
  }

  test("a secret is removed whatever surrounds it") {
    val text = Gen.alphaNumStr
    val secrets = Gen.choose(4, 20).flatMap(Gen.listOfN(_, Gen.alphaNumChar)).map(_.mkString)
    forAll(text, Gen.nonEmptyListOf(secrets), text) { (before, values, after) =>
      // The rest of the replacement itself must not look like a secret.
      whenever(values.forall(v => !Redaction.Redacted.contains(v) && v.toBooleanOption.isEmpty)) {
        val properties = values.zipWithIndex.map { case (value, i) => s"secret.$i" -> value }.toMap
        val scrubbed = Redaction.scrub(before + values.mkString(" ") + after, properties)
        values.foreach(value => assert(!scrubbed.contains(value)))
      }
    }
  }

  test("short and boolean values are kept: replacing them would make any text unreadable") {
    assert(Redaction.scrub("abc is true", Map("a" -> "abc", "b" -> "true")) == "abc is true")
  }

  test("an error is replaced only if it or a cause contains a secret") {
    val harmless = new RuntimeException("no answer", new IllegalStateException("blue:9092"))
    assert(Redaction.scrub(harmless, properties) eq harmless)
    val telling = new RuntimeException("no answer", new IllegalStateException("keystore-pw is wrong"))
    val scrubbed = Redaction.scrub(telling, properties)
    assert(scrubbed.getCause.getMessage == "java.lang.IllegalStateException: (redacted) is wrong")
    assert(scrubbed.getCause.getStackTrace.sameElements(telling.getCause.getStackTrace))
  }
}
