package io.github.dynamickafka.kafka

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.config.Options.reference
import io.github.dynamickafka.config.{MetadataServiceSpecs, SinkOptionSpecs, SourceOptionSpecs}
import io.github.dynamickafka.format.table.Formats
import io.github.dynamickafka.option.OptionSpec
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs
import io.github.dynamickafka.testkit.TimeLimit

/** Every name by which a secret can be set is known as one, whatever its alias, prefix and spelling. */
class SecretOptionsSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private val declared =
    (SourceOptionSpecs.table.all ++ SinkOptionSpecs.table.all ++ RegistryOptionSpecs.all).distinct
  private val ofServices = MetadataServiceSpecs.all.flatMap(_.arguments).distinct

  /** The names of an option: its own, its aliases, as an option of a format of one side or both, of one cluster. */
  private def names(spec: OptionSpec[_]): Seq[String] = {
    val own = spec.name +: spec.aliases
    val ofFormats = for {
      name <- Seq(spec.name) if name.startsWith(RegistryOptionSpecs.Prefix)
      format <- Formats.registered.all if format.hasRegistry
      side <- Seq("", "key.", "value.")
    } yield s"$side${format.name}.${name.stripPrefix(RegistryOptionSpecs.Prefix)}"
    val all = own ++ ofFormats
    if (spec.perCluster) all ++ own.map("cluster.eu.west-1." + _) else all
  }

  private val (secretProperties, otherProperties) =
    KafkaProperties.names.partition(KafkaProperties.isPassword)
  private def ofKafka(properties: Seq[String]) = properties.flatMap(p =>
    Seq(s"kafka.$p", s"cluster.eu.west-1.kafka.$p", s"metadataService.properties.$p")
  )

  private val ofDrivers =
    Seq("password", "sslpassword", "trustStorePassword", "accessToken", "keyStoreSecret")
      .map("metadataService.properties." + _)

  private val secrets: Seq[String] =
    declared.filter(_.valueType.isSecret).flatMap(names) ++ ofKafka(secretProperties) ++
      ofDrivers ++ ofServices.filter(_.valueType.isSecret).map("metadataService." + _.name) ++
      Seq("metadataService.headers.Authorization", "metadataService.headers.X-Api-Key")

  private val harmless: Seq[String] =
    declared.filterNot(_.valueType.isSecret).flatMap(names) ++ ofKafka(otherProperties) ++
      ofServices.filterNot(_.valueType.isSecret).map("metadataService." + _.name) ++
      Seq("user", "sslmode", "ssl.truststore.location").map("metadataService.properties." + _)

  /** Any case, and hyphens between any two letters, as options are compared. */
  private def spelled(name: String): Gen[String] =
    Gen.listOfN(name.length, Gen.zip(Gen.oneOf(true, false), Gen.frequency(4 -> "", 1 -> "-"))).map { how =>
      name.zip(how).zipWithIndex.map { case ((c, (upper, hyphen)), i) =>
        val atDot = c == '.' || i + 1 >= name.length || name(i + 1) == '.'
        s"${if (upper) c.toUpper else c.toLower}${if (atDot) "" else hyphen}"
      }.mkString
    }

  test("a secret by any of its names") {
    assert(secrets.size > 100)
    secrets.foreach(name => assert(SecretOptions.contained(Map(name -> "s3cret")) == Seq(name), name))
    forAll(Gen.oneOf(secrets).flatMap(spelled), minSuccessful(2000)) { name =>
      assert(SecretOptions.contained(Map(name -> "s3cret")) == Seq(name), name)
      assert(SecretOptions.contained(Map(name -> reference("env:SECRET"))).isEmpty, name)
    }
  }

  test("nothing else is a secret") {
    harmless.foreach(name => assert(SecretOptions.contained(Map(name -> "x")).isEmpty, name))
  }

  test("what was stored: Flink's names of credentials, of one side, and the password of a database") {
    val found = Seq(
      "avro-confluent.bearer-auth.token",
      "value.avro-confluent.ssl.keystore.password",
      "key.debezium-avro-confluent.basic-auth.user-info",
      "metadataService.properties.password"
    )
    assert(SecretOptions.contained(found.map(_ -> "x").toMap) == found.sorted)
  }

  test("a document with secrets is one") {
    def contained(document: String) = SecretOptions.contained(Map("metadataService.document" -> document))
    val yaml =
      "clusters:\n  blue:\n    properties:\n      bootstrap.servers: b:1\n      sasl.jaas.config: x password=y;\n"
    assert(contained(yaml).nonEmpty)
    assert(contained("""{"properties": {"ssl.keystore.password":"y"}}""").nonEmpty)
    assert(contained(yaml.replace("x password=y;", reference("env:JAAS"))).isEmpty)
    assert(contained("streams: {orders: {password: [b]}}\n".replace("password", "topics")).isEmpty)
  }

  private val jaas =
    """org.apache.kafka.common.security.scram.ScramLoginModule required username="kafka" password="p\"ss-w0rd";"""

  test("secrets that Spark would print are detected by their names") {
    val exposed = Map(
      "kafka.sasl.jaas.config" -> jaas,
      "Kafka.SASL.jaas.config" -> jaas,
      "cluster.a.b.kafka.ssl.keystore.key" -> "x",
      "cluster.blue.sasl.jaas.config" -> jaas,
      "metadataService.properties.sasl.jaas.config" -> jaas,
      "metadata-service.headers.Authorization" -> "Bearer x",
      "metadataService.url" -> "jdbc:mysql://me:x@host/db"
    )
    val hidden = Map(
      "kafka.ssl.keystore.password" -> "x",
      "kafka.client.id" -> "x",
      "kafka.ssl.keystore.key" -> reference("env:KEY"),
      "metadataService.path" -> "x",
      "metadata-service.url" -> "jdbc:postgresql://host/db?password=x",
      "metadataservice.url" -> "https://host/streams",
      "streamIds" -> "sasl.jaas.config"
    )
    assert(SecretOptions.exposed(exposed ++ hidden) == exposed.keys.toSeq.sorted)
  }

  test("a literal user and password is an option that Spark would show") {
    val options =
      Map("registry.basicAuth.userInfo" -> "u:p", "cluster.b.registry.basic-auth.user-info" -> "u:p")
    assert(SecretOptions.exposed(options) == options.keys.toSeq.sorted)
    assert(SecretOptions.exposed(Map("registry.basicAuth.userInfo" -> reference("env:USER"))).isEmpty)
  }
}
