package io.github.dynamickafka.metadata.remote

import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger
import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.fabric8.kubernetes.api.model.GenericKubernetesResource
import io.fabric8.kubernetes.client.KubernetesClient
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext
import io.fabric8.kubernetes.client.utils.Serialization
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, FailureText}
import io.github.dynamickafka.metadata.remote.ApiServerDouble.withServer
import io.github.dynamickafka.metadata.service.{ServiceArguments, ServiceByName}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaMetadataService}
import io.github.dynamickafka.testkit.TimeLimit

/** Resources in the forms of Strimzi's documentation, in an API server that stores them. */
class StrimziMetadataServiceSuite extends AnyFunSuite with TimeLimit with Eventually {

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(100, Seconds), Span(5, Millis))

  private val Plain = "{name: plain, port: 9092, type: internal, tls: false}"
  private val Tls =
    "{name: tls, port: 9093, type: internal, tls: true, authentication: {type: scram-sha-512}}"
  private val PlainStatus = "{name: plain, bootstrapServers: 'plain:9092'}"
  private val TlsStatus =
    "{name: tls, bootstrapServers: 'tls:9093', certificates: [\"A1\\nA2\\n\", \"B1\\n\"]}"

  private def kafka(
      name: String,
      spec: Seq[String] = Seq(Plain),
      status: String = s"{clusterId: x, listeners: [$PlainStatus]}",
      annotations: String = "{}",
      namespace: String = "data",
      version: String = "v1"
  ) = s"""apiVersion: kafka.strimzi.io/$version
         |kind: Kafka
         |metadata: {name: $name, namespace: $namespace, annotations: $annotations}
         |spec: {kafka: {listeners: [${spec.mkString(", ")}]}}
         |status: $status
         |""".stripMargin

  private def topic(
      name: String,
      cluster: String,
      stream: String = "orders",
      more: String = "",
      annotations: String = "{}",
      namespace: String = "data",
      version: String = "v1"
  ) = s"""apiVersion: kafka.strimzi.io/$version
         |kind: KafkaTopic
         |metadata:
         |  name: $name
         |  namespace: $namespace
         |  labels: {dynamic-kafka/stream: '$stream', strimzi.io/cluster: '$cluster'}
         |  annotations: $annotations
         |spec: {partitions: 1, replicas: 1$more}
         |""".stripMargin

  private def parsed(yaml: String) = Serialization.unmarshal(yaml, classOf[GenericKubernetesResource])

  private def context(one: GenericKubernetesResource) = {
    val Array(group, version) = one.getApiVersion.split('/')
    new ResourceDefinitionContext.Builder().withGroup(group).withVersion(version).withKind(one.getKind)
      .withPlural(one.getKind.toLowerCase + "s").withNamespaced(true).build()
  }

  private def resource(client: KubernetesClient, yaml: String) = {
    val one = parsed(yaml)
    client.genericKubernetesResources(context(one))
      .inNamespace(one.getMetadata.getNamespace).resource(one)
  }

  private def put(client: KubernetesClient, resources: String*): Unit = resources.foreach { yaml =>
    val one = resource(client, yaml)
    if (one.get() == null) one.create() else one.update()
  }

  private def delete(client: KubernetesClient, yaml: String): Unit = {
    val _ = resource(client, yaml).delete()
  }

  private def service(
      client: KubernetesClient,
      listener: String = "",
      namespaces: String = "data",
      properties: Map[String, String] = Map.empty,
      ttlMs: Long = 0
  ) = new StrimziMetadataService(
    ServiceArguments(
      MetadataServiceSpecs.Strimzi,
      properties.map { case (name, value) => s"properties.$name" -> value }.toSeq ++ Seq(
        "namespace" -> namespaces,
        "listener" -> listener,
        "timeoutMs" -> "60000",
        "ttlMs" -> ttlMs.toString
      ): _*
    ),
    () => client.getConfiguration
  )

  private def clusters(
      service: KafkaMetadataService,
      stream: String = "orders"
  ): Map[String, ClusterMetadata] =
    service.describeStreams(ju.List.of(stream)).get(stream).getClusterMetadataMap.asScala.toMap

  private def topics(service: KafkaMetadataService): Map[String, Set[String]] =
    clusters(service).map { case (id, cluster) => id -> cluster.getTopics.asScala.toSet }

  private def failure(service: KafkaMetadataService): String =
    FailureText.of(intercept[IOException](clusters(service)))

  private def invalid(service: KafkaMetadataService): String = {
    val e = intercept[DynamicKafkaIllegalArgumentException](clusters(service))
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
    e.getMessage
  }

  test("streams by label, clusters by the Kafka of each topic, addresses by its status") {
    withServer { (_, client) =>
      put(
        client,
        kafka("blue"),
        kafka("green", status = "{listeners: [{name: plain, bootstrapServers: 'g-0:9092,g-1:9092'}]}"),
        kafka("other", status = "{}"),
        topic("orders", "blue"),
        topic("orders-eu", "blue", more = ", topicName: Orders_EU"),
        topic("orders-of-green", "green", more = ", topicName: orders"),
        topic("payments", "green", stream = "payments"),
        topic("logs", "blue").replace("dynamic-kafka/stream", "team")
      )
      val strimzi = service(client, properties = Map("client.id" -> "me"))
      assert(strimzi.getAllStreams().asScala.map(_.streamId) == Set("orders", "payments"))
      assert(topics(strimzi) == Map("blue" -> Set("orders", "Orders_EU"), "green" -> Set("orders")))
      val orders = clusters(strimzi)
      assert(orders("blue").getProperties.asScala ==
        Map("bootstrap.servers" -> "plain:9092", "client.id" -> "me"))
      assert(orders("green").getProperties.get("bootstrap.servers") == "g-0:9092,g-1:9092")
      assert(orders.values.forall(c => c.state == ClusterMetadata.Active && c.write && c.replaces == null))
      assert(Seq("blue", "green", "other", "red").map(strimzi.isClusterActive) == Seq(
        true,
        true,
        false,
        false
      ))
      assert(strimzi.describeStreams(ju.List.of("none")).isEmpty)
      strimzi.close()
      assert(topics(strimzi).size == 2)
      strimzi.close()
    }
  }

  test("a listener with TLS: protocol, mechanism and trusted certificates, unless properties have them") {
    withServer { (_, client) =>
      put(client, kafka("blue", Seq(Tls), s"{listeners: [$TlsStatus]}"), topic("orders", "blue"))
      assert(clusters(service(client))("blue").getProperties.asScala == Map(
        "bootstrap.servers" -> "tls:9093",
        "security.protocol" -> "SASL_SSL",
        "sasl.mechanism" -> "SCRAM-SHA-512",
        "ssl.truststore.type" -> "PEM",
        "ssl.truststore.certificates" -> "A1\nA2\nB1"
      ))
      val own = service(
        client,
        properties = Map("ssl.truststore.location" -> "/t.p12", "sasl.mechanism" -> "SCRAM-SHA-256")
      )
      assert(clusters(own)("blue").getProperties.asScala == Map(
        "bootstrap.servers" -> "tls:9093",
        "security.protocol" -> "SASL_SSL",
        "sasl.mechanism" -> "SCRAM-SHA-256",
        "ssl.truststore.location" -> "/t.p12"
      ))
      val protocols = Seq(
        "tls: true, authentication: {type: tls}" -> Seq("SSL"),
        "tls: false, authentication: {type: scram-sha-512}" -> Seq("SASL_PLAINTEXT", "SCRAM-SHA-512"),
        "tls: true, authentication: {type: custom, sasl: true}" -> Seq("SASL_SSL"),
        "tls: true, authentication: {type: oauth}" -> Seq("SASL_SSL", "OAUTHBEARER")
      )
      protocols.foreach { case (spec, expected) =>
        put(client, kafka("blue", Seq(s"{name: plain, $spec}")))
        val found = clusters(service(client))("blue").getProperties
        assert(Seq("security.protocol", "sasl.mechanism").flatMap(k => Option(found.get(k))) == expected)
      }
    }
  }

  test("of several listeners one has to be named, by the option or by an annotation") {
    withServer { (_, client) =>
      val both = s"{listeners: [$PlainStatus, $TlsStatus]}"
      put(client, kafka("blue", Seq(Plain, Tls), both), topic("orders", "blue"))
      val several = invalid(service(client))
      Seq("Kafka data/blue", "several listeners: 'plain', 'tls'", "'metadataService.listener'", "annotation")
        .foreach(part => assert(several.contains(part)))
      val missing = invalid(service(client, "external"))
      assert(missing.contains("Kafka data/blue") && missing.contains("no listener 'external'"))
      assert(missing.contains("'plain', 'tls'"))
      def address(strimzi: KafkaMetadataService) =
        clusters(strimzi)("blue").getProperties.get("bootstrap.servers")
      assert(address(service(client, "tls")) == "tls:9093")
      put(client, kafka("blue", Nil, both))
      assert(invalid(service(client, "tls")).contains("Kafka data/blue"))
      put(client, kafka("blue", Seq(Plain, Tls), both, "{dynamic-kafka/listener: plain}"))
      assert(address(service(client, "tls")) == "plain:9092")
    }
  }

  test("a Kafka that is missing or not ready is a failure by name, for the streams on it, until it is ready") {
    withServer { (_, client) =>
      put(client, topic("orders", "blue"), topic("orders-g", "green"), kafka("green"))
      put(client, topic("payments", "green", stream = "payments"))
      val strimzi = service(client)
      val missing = failure(strimzi)
      assert(missing.contains("Kafka data/blue does not exist") && missing.contains("KafkaTopic data/orders"))
      assert(missing.contains("'dynamic-kafka/stream'"))
      assert(clusters(strimzi, "payments").keySet == Set("green"))
      // For a query with a pattern, an error of this stream.
      val all =
        strimzi.getAllStreams().asScala.map(s => s.streamId -> s.getClusterMetadataMap.keySet.asScala).toMap
      assert(all == Map("orders" -> Set(), "payments" -> Set("green")))
      val steps = Seq(
        "null" -> "its status has no listeners",
        "{conditions: [{type: NotReady, status: 'True', reason: Creating, message: Kafka cluster is being deployed}]}" ->
          "its status has no listeners (Creating: Kafka cluster is being deployed)",
        s"{listeners: [$TlsStatus]}" -> "its status has no listener 'plain'",
        "{listeners: [{name: plain}]}" -> "its status has no bootstrapServers of listener 'plain'"
      )
      steps.foreach { case (status, text) =>
        put(client, kafka("blue", status = status))
        val found = failure(strimzi)
        assert(found.contains("Kafka data/blue is not ready") && found.contains(text))
      }
      // A failed reconciliation takes no listener away.
      put(
        client,
        kafka("blue", status = s"{conditions: [{type: NotReady, status: 'True'}], listeners: [$PlainStatus]}")
      )
      assert(topics(strimzi) == Map("blue" -> Set("orders"), "green" -> Set("orders-g")))
    }
  }

  test("annotations: of topics, and of a Kafka for all of its streams") {
    withServer { (_, client) =>
      val ofKafka =
        "{dynamic-kafka/state: draining, dynamic-kafka/write: 'false', dynamic-kafka/replaces: old, " +
          "dynamic-kafka/cluster-id: blue-2, other/state: x}"
      val ofTopic = "{dynamic-kafka/state: active, dynamic-kafka/starting-offsets: latest, " +
        "dynamic-kafka/stopping-offsets: 'timestamp:5'}"
      put(
        client,
        kafka("blue", annotations = ofKafka),
        topic("orders", "blue", annotations = ofTopic),
        topic("orders-b", "blue", annotations = ofTopic),
        topic("payments", "blue", stream = "payments")
      )
      val strimzi = service(client)
      def shown(stream: String) = {
        val blue = clusters(strimzi, stream)("blue-2")
        Seq[Any](blue.state, blue.write, blue.startingOffsets, blue.stoppingOffsets, blue.replaces)
      }
      assert(shown("orders") == Seq[Any]("active", false, "latest", "timestamp:5", "old"))
      assert(shown("payments") == Seq[Any]("draining", false, null, null, "old"))
      // A mistake of another team, which shares the namespace.
      put(client, kafka("another", annotations = "{dynamic-kafka/x: y}"), topic("logs", "another", "logs"))
      assert(shown("payments").head == "draining")
      assert(strimzi.isClusterActive("blue-2") && !strimzi.isClusterActive("blue"))
      val wrong = Seq(
        topic("orders-b", "blue", annotations = "{dynamic-kafka/state: removed}") ->
          Seq(
            "KafkaTopic data/orders-b, annotation 'dynamic-kafka/state'",
            "differs",
            "KafkaTopic data/orders,"
          ),
        topic("orders-b", "blue", annotations = "{dynamic-kafka/sate: removed}") ->
          Seq("annotation 'dynamic-kafka/sate'", "unknown", "Did you mean 'state'"),
        topic("orders-b", "") -> Seq("KafkaTopic data/orders-b", "no label 'strimzi.io/cluster'")
      )
      wrong.foreach { case (resource, parts) =>
        put(client, resource.replace("strimzi.io/cluster: ''", "a: b"))
        val found = invalid(strimzi)
        parts.foreach(part => assert(found.contains(part)))
      }
      delete(client, topic("orders-b", "blue"))
      val values =
        Seq("state: Draining" -> "'Draining' is not a valid state", "write: 'no'" -> "'no' is neither")
      values.foreach { case (annotation, text) =>
        put(client, topic("orders", "blue", annotations = s"{dynamic-kafka/$annotation}"))
        val found = invalid(strimzi)
        assert(found.contains("KafkaTopic data/orders, annotation") && found.contains(text))
      }
    }
  }

  test("several namespaces: one id for two clusters is refused until an annotation gives another one") {
    withServer { (_, client) =>
      put(client, kafka("blue"), topic("orders", "blue"))
      put(client, kafka("blue", namespace = "eu"), topic("orders", "blue", namespace = "eu"))
      val strimzi = service(client, namespaces = "data, eu")
      val twice = invalid(strimzi)
      assert(twice.contains("Kafka eu/blue") && twice.contains("Kafka data/blue"))
      assert(twice.contains("'dynamic-kafka/cluster-id'"))
      put(client, kafka("blue", namespace = "eu", annotations = "{dynamic-kafka/cluster-id: blue-eu}"))
      assert(topics(strimzi) == Map("blue" -> Set("orders"), "blue-eu" -> Set("orders")))
    }
  }

  test("an API server with v1beta2 only, and one without Strimzi") {
    withServer { (server, client) =>
      def absent(version: String, kind: String, times: Int) = {
        val label = if (kind == "kafkatopics") "?labelSelector=dynamic-kafka%2Fstream" else ""
        server.expect().get().withPath(s"/apis/kafka.strimzi.io/$version/namespaces/data/$kind$label")
          .andReturn(404, "").times(times)
      }
      put(client, kafka("blue", version = "v1beta2"), topic("orders", "blue", version = "v1beta2"))
      absent("v1", "kafkatopics", 1)
      val strimzi = service(client)
      assert(topics(strimzi) == Map("blue" -> Set("orders")))
      assert(topics(strimzi) == Map("blue" -> Set("orders")))
      Seq("v1", "v1beta2").foreach(absent(_, "kafkatopics", 1))
      val none = failure(strimzi)
      assert(none.contains("no KafkaTopic resources") && none.contains("kafka.strimzi.io/v1beta2"))
      server.expect().get()
        .withPath("/apis/kafka.strimzi.io/v1beta2/namespaces/data/kafkas").andReturn(403, "").once()
      val denied = failure(strimzi)
      assert(denied.contains("Kafka resources in the namespace 'data' cannot be read") && denied.contains(
        "Forbidden"
      ))
      assert(topics(strimzi) == Map("blue" -> Set("orders")))
    }
  }

  test("changes of topics and of a Kafka's status are noticed at once, whatever is cached") {
    withServer { (_, client) =>
      put(client, kafka("blue"), topic("orders", "blue"))
      val strimzi = service(client, ttlMs = 3600000)
      val changes = new AtomicInteger
      val notices = strimzi.onChange { () =>
        val _ = changes.incrementAndGet()
      }
      eventually(assert(changes.get > 0))
      assert(topics(strimzi) == Map("blue" -> Set("orders")))
      def noticed(change: => Unit)(check: => Boolean): Unit = {
        val before = changes.get
        change
        eventually(assert(changes.get > before && check))
      }
      noticed(put(client, topic("more", "blue")))(topics(strimzi) == Map("blue" -> Set("orders", "more")))
      noticed(put(
        client,
        kafka("blue", status = s"{listeners: [{name: plain, bootstrapServers: 'new:1'}]}")
      ))(
        clusters(strimzi)("blue").getProperties.get("bootstrap.servers") == "new:1"
      )
      noticed(delete(client, topic("more", "blue")))(
        topics(strimzi) == Map("blue" -> Set("orders"))
      )
      notices.close()
      val after = changes.get
      put(client, topic("late", "blue"))
      assert(changes.get == after)
      strimzi.close()
    }
  }

  test("the KafkaTopic of the document is a topic of a stream") {
    val page = Files.readString(Path.of(System.getProperty("dynamickafka.root"), "docs/metadata.md"))
    val begin = page.indexOf("apiVersion: kafka.strimzi.io/v1\nkind: KafkaTopic")
    val yaml = page.substring(
      begin,
      page.indexOf("```", begin)
    ).replace("metadata:\n", "metadata:\n  namespace: data\n")
    withServer { (_, client) =>
      put(client, kafka("blue"), yaml)
      assert(topics(service(client)) == Map("blue" -> Set("orders")))
    }
  }

  test("created by name; without the client's classes the error says what to add") {
    withServer { (server, client) =>
      put(
        client,
        kafka("blue", Seq(Plain, Tls), s"{listeners: [$PlainStatus, $TlsStatus]}"),
        topic("orders", "blue")
      )
      val settings = Map("kubernetes.master" -> server.url("/"), "kubernetes.auth.tryKubeConfig" -> "false")
      settings.foreach { case (k, v) => System.setProperty(k, v) }
      try {
        val strimzi =
          ServiceByName.create("Strimzi", "namespace=data", "listener=tls", "properties.client.id=me")
        assert(clusters(strimzi)("blue").getProperties.get("client.id") == "me")
        strimzi.close()
      } finally settings.keys.foreach(System.clearProperty)
    }
    val text = ServiceByName.answerWithout("kubernetes", "strimzi", "namespace=data")
    assert(text.contains("DYNAMIC_KAFKA.INVALID_OPTION"))
    assert(text.contains("'org.apache.spark:spark-kubernetes_2.13:"))
  }
}
