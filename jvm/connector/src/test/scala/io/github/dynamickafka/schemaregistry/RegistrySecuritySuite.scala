package io.github.dynamickafka.schemaregistry

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.{parse, reference}
import io.github.dynamickafka.schemaregistry.RegistryServer.serving
import io.github.dynamickafka.testkit.{LocalCertificates, TimeLimit}

/** Secrets by reference and TLS of requests to registries, by the implementation of Kafka's clients, which is found as a service. */
class RegistrySecuritySuite extends AnyFunSuite with TimeLimit with RegistryTest {

  test("credentials by reference are resolved for each request") {
    serving { server =>
      val file = Files.createTempFile("registry", ".properties")
      Files.writeString(file, "user=me:first\ntoken=one\n")
      val basic = server.settings("basicAuth.userInfo" -> reference(s"file:$file:user"))
      val bearer = server.settings("bearerAuth.token" -> reference(s"file:$file:token"))
      def sent(settings: RegistrySettings) = {
        client.about(settings).schema(1)
        server.requests.last.headers("authorization")
      }
      def encoded(text: String) = java.util.Base64.getEncoder.encodeToString(text.getBytes)
      assert(sent(basic) == s"Basic ${encoded("me:first")}")
      assert(sent(bearer) == "Bearer one")
      Files.writeString(file, "user=me:second\ntoken=two\n")
      assert(sent(basic) == s"Basic ${encoded("me:second")}")
      assert(sent(bearer) == "Bearer two")
      Files.delete(file)
      assertUnavailable(failure(client.about(basic).schema(1)), "ConfigException")
      val invalid = server.settings("bearerAuth.token" -> "secret\u0000text")
      val e = failure(client.about(invalid).schema(1))
      assertUnavailable(e, "invalid in a header")
      assert(!e.getMessage.contains("secret") && e.getCause == null)
      assert(!invalid.toString.contains("secret") && !invalid.resolved().toString.contains("secret"))
    }
  }

  test("TLS: an authority in registry.ssl.*; another one fails at once, and the text says what to set") {
    def certificates(name: String) =
      new LocalCertificates(Files.createTempDirectory("registry").resolve(name))
    val (own, other) = (certificates("own"), certificates("other"))
    val server = new RegistryServer(tls = Some(own.context))
    try {
      val id = server.register("s", "\"int\"")
      assert(client.about(server.settings(own.trusting.toSeq: _*)).schema(id).map(_.text).contains("\"int\""))
      for (trusting <- Seq(other.trusting, Map.empty[String, String])) {
        val settings = server.settings(trusting.toSeq :+ ("timeoutMs" -> "600000"): _*)
        val e = failure(client.about(settings).schema(id))
        assertUnavailable(e, "its certificate is not trusted")
        assert(
          e.getMessage.contains("registry.ssl.truststore") && e.getMessage.contains("'blue'"),
          e.getMessage
        )
      }
      assert(server.requests.size == 1)
    } finally server.close()
  }

  test("TLS: a registry that asks for the certificate in registry.ssl.keystore.*, as files and as texts") {
    val own = new LocalCertificates(Files.createTempDirectory("registry").resolve("own"), clients = true)
    val server = new RegistryServer(tls = Some(own.context), asksClients = true)
    try {
      val id = server.register("s", "\"int\"")
      val file = Files.createTempFile("registry", ".properties")
      Files.writeString(file, s"password=${own.client("ssl.keystore.password")}\n")
      val byReference = own.client + ("ssl.keystore.password" -> reference(s"file:$file:password"))
      for (accepted <- Seq(own.client, own.clientInPem, byReference))
        assert(client.about(server.settings(accepted.toSeq: _*)).schema(id).map(_.text).contains("\"int\""))
      assert(server.requests.size == 3)
      for (refused <- Seq(own.trusting, own.expiredClient)) {
        val settings = server.settings(refused.toSeq :+ ("timeoutMs" -> "500"): _*)
        val e = failure(client.about(settings).schema(id))
        assertUnavailable(e, s"schema id $id", "cluster 'blue'", server.url)
        assert(!e.getMessage.contains(own.client("ssl.keystore.password")))
      }
      val wrong = server.settings((own.client + ("ssl.keystore.password" -> "secret-wrong")).toSeq: _*)
      val e = failure(client.about(wrong).schema(id))
      assertUnavailable(e, "cluster 'blue'")
      assert(!e.getMessage.contains("secret-wrong") && server.requests.size == 3)
    } finally server.close()
  }

  test("a reference as the address is resolved for each request, and shown as a placeholder") {
    val file = Files.createTempFile("registry", ".properties")
    Files.writeString(file, "url=http://r:1\n")
    val settings = parse(
      "format" -> "avro-confluent",
      "schema" -> "id INT",
      "registry.url" -> reference(s"file:$file:url")
    ).records.format.value.registries.of("blue")
    assert(settings.resolved().urls == Seq("http://r:1") && settings.shown == "(redacted)")
  }
}
