package io.github.dynamickafka.schemaregistry

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.format.table.ParsedFormats.{read, refused}
import io.github.dynamickafka.format.table.{ClusterRegistries, FormatTable}
import io.github.dynamickafka.testkit.TimeLimit

class RegistriesSuite extends AnyFunSuite with TimeLimit {
  private val confluent = Seq("format" -> "avro-confluent", "schema" -> "id INT")
  private def of(options: (String, String)*) = read(confluent ++ options: _*)
  private def registries(options: FormatTable) = options.value.registries

  private def assertRefused(condition: String, parts: String*)(options: (String, String)*): Unit = {
    val error = refused(read(options: _*))
    assert(error.getCondition == s"DYNAMIC_KAFKA.$condition", error.getMessage)
    parts.foreach(part => assert(error.getMessage.contains(part), error.getMessage))
    assert(!error.getMessage.contains("secret"))
  }

  test("options of one cluster replace those of all, also where ids contain dots or each other") {
    val all = registries(of(
      "registry.url" -> "http://all:1",
      "registry.timeoutMs" -> "5s",
      "cluster.eu.registry.url" -> "http://eu:1",
      "cluster.eu.west.registry.url" -> "http://west:1",
      "cluster.eu.west.registry.subject" -> "s",
      "cluster.eu.registry.basic-auth.user-info" -> "a:b"
    ))
    assert(Seq("us", "eu", "eu.west").map(all.of(_).url) == Seq(
      "http://all:1",
      "http://eu:1",
      "http://west:1"
    ))
    assert(all.of("eu").timeoutMs == 5000 && all.of("us").timeoutMs == 5000)
    assert(all.of("eu.west").subject.contains("s") && all.of("eu").subject.isEmpty)
    assert(all.of("eu").resolved().authorization.exists(_.startsWith("Basic ")))
    assert(all.of("us").resolved().authorization.isEmpty)
    assert(!all.toString.contains("http") && !of("registry.url" -> "http://x").toString.contains("http"))
  }

  test(
    "the registry that the metadata says, over the options of all clusters and below those of the cluster"
  ) {
    val all = registries(of(
      "registry.url" -> "http://all:1",
      "registry.bearerAuth.token" -> "t",
      "cluster.blue.registry.url" -> "http://blue:1"
    ))
    val metadata = Map("registry.url" -> "http://own:1", "registry.basicAuth.userInfo" -> "u:p")
    val found = all.in(ClusterRegistries(counts = true).of(metadata))
    assert(found.of("green").url == "http://own:1" && found.of("blue").url == "http://blue:1")
    assert(found.of("green").resolved().authorization.exists(_.startsWith("Basic ")))
    assert(all.in(ClusterRegistries().of(metadata)) == all)
    val stated = all.in(ClusterRegistries(counts = true, Set("registry.URL")).of(metadata)).of("green")
    assert(stated.url == "http://all:1" && stated.resolved().authorization.exists(_.startsWith("Basic ")))
    val e = refused(ClusterRegistries(counts = true).of(Map("registry.url" -> "nothing")))
    assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION")
  }

  test("Flink's names, for both sides or one") {
    val flink = of(
      "avro-confluent.url" -> "http://r:1",
      "avro-confluent.subject" -> "s",
      "avro-confluent.basic-auth.user-info" -> "u:p",
      "avro-confluent.ssl.truststore.location" -> "/t"
    )
    val own = of(
      "registry.url" -> "http://r:1",
      "registry.subject" -> "s",
      "registry.basicAuth.userInfo" -> "u:p",
      "registry.ssl.truststore.location" -> "/t"
    )
    assert(flink == own)
    assert(own.value.registries.of("blue").resolved().tls == Map("ssl.truststore.location" -> "/t"))
    val sided = of(
      "keyFormat" -> "avro-confluent",
      "keyFields" -> "id",
      "registry.url" -> "http://r:1",
      "key.avro-confluent.url" -> "http://keys:1"
    )
    assert(registries(sided).of("blue").url == "http://r:1")
    assert(sided.key.get.side.registries.of("blue").url == "http://keys:1")
    assertRefused("INVALID_OPTION", "the same option is also set")(
      confluent ++ Seq("registry.url" -> "http://a:1", "avro-confluent.url" -> "http://b:1"): _*
    )
    assertRefused("INVALID_OPTION", "registry.basicAuth.userInfo")(
      confluent ++ Seq(
        "registry.url" -> "http://a:1",
        "avro-confluent.basic-auth.credentials-source" -> "URL"
      ): _*
    )
    assertRefused("UNKNOWN_OPTION")(confluent ++ Seq(
      "registry.url" -> "http://a",
      "avro-confluent.nothing" -> "1"
    ): _*)
    assertRefused("UNKNOWN_OPTION", "registry.url")(confluent :+ ("registry.ur" -> "1"): _*)
  }

  test("what is missing, invalid or without effect; no error contains a secret") {
    assertRefused("MISSING_OPTION", "registry.url", "avro-confluent")(confluent: _*)
    Seq("http://secret:secret@r:1", "r:8081", "ftp://r", "http://r?token=secret", "http://a b").foreach(url =>
      assertRefused("INVALID_OPTION", "registry.url")(confluent :+ ("registry.url" -> url): _*)
    )
    assertRefused("INVALID_OPTION", "cluster.blue.registry.url")(
      confluent :+ ("cluster.blue.registry.url" -> "http://secret:secret@r:1"): _*
    )
    val json = Seq("format" -> "json", "schema" -> "id INT")
    Seq(
      "registry.url",
      "registry.bearerAuth.token",
      "cluster.blue.registry.url",
      "avro-confluent.bearer-auth.token"
    )
      .foreach(name => assertRefused("INVALID_OPTION", name)(json :+ (name -> "http://secret"): _*))
    assertRefused("INVALID_OPTION", "has no registry")("format" -> "json", "schema" -> "registry")
    assertRefused("INVALID_OPTION", "EXCEPT_KEY")(
      "format" -> "avro-confluent",
      "registry.url" -> "http://r",
      "schema" -> "registry",
      "keyFormat" -> "string",
      "valueFieldsInclude" -> "EXCEPT_KEY"
    )
    assertRefused("INVALID_OPTION", "the same option is also set")(
      confluent ++ Seq(
        "registry.basicAuth.userInfo" -> "secret1",
        "registry.basic-auth.user-info" -> "secret2"
      ): _*
    )
    val unknown = refused(registries(of("cluster.blue.registry.url" -> "http://b:1")).of("green"))
    assert(unknown.getMessage.contains("cluster.green.registry.url"))
  }

  test("bytes with the id of a schema") {
    val framed = WireFormat.framed(0x7f020304, Array(9.toByte))
    assert(framed.toSeq == Seq[Byte](0, 0x7f, 2, 3, 4, 9))
    assert(WireFormat.hasHeader(framed) && WireFormat.id(framed) == 0x7f020304)
    assert(WireFormat.id(WireFormat.framed(-2, Array.emptyByteArray)) == -2)
    assert(!WireFormat.hasHeader(framed.take(4)) && !WireFormat.hasHeader(Array[Byte](1, 0, 0, 0, 1, 9)))
  }
}
