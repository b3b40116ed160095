package io.github.dynamickafka.config

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, AdminClientConfig}
import org.apache.kafka.clients.consumer.{ConsumerConfig, KafkaConsumer}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.config.Options._
import io.github.dynamickafka.kafka.{
  ConsumerSettings,
  KafkaProperties,
  ProducerSettings,
  TransactionTimeLimits
}
import io.github.dynamickafka.metadata.OffsetsPolicy._
import io.github.dynamickafka.option.OptionName
import io.github.dynamickafka.testkit.TimeLimit

class ClusterPropertiesSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private val metadata = Map("bootstrap.servers" -> "blue:9092")

  private def resolve(
      options: Seq[(String, String)],
      id: String = "blue",
      known: Set[String] = Set("blue"),
      properties: Map[String, String] = metadata
  ): ClusterProperties = new ClusterScope(parse(options: _*).clusters, known).consumer(id, properties)

  private def client(options: (String, String)*) = resolve(options).client

  private def consumer(of: ClusterProperties) = new ConsumerSettings(of.clusterId, of.client)

  private def producer(options: Seq[(String, String)]) =
    new ProducerSettings(
      "blue",
      new ClusterScope(parse(options: _*).clusters, Set("blue")).producer("blue", metadata).client
    )

  test("precedence: cluster option, metadata, shared option, default") {
    val sources = Seq(
      "cluster.blue.kafka.max.partition.fetch.bytes" -> "1",
      "max.partition.fetch.bytes" -> "2",
      "kafka.max.partition.fetch.bytes" -> "3"
    )
    forAll(Gen.someOf(sources)) { chosen =>
      val (options, ofMetadata) = chosen.toSeq.partition { case (name, _) =>
        name != "max.partition.fetch.bytes"
      }
      val expected = sources.find(chosen.contains(_)).fold("8388608")(_._2)
      val resolved = resolve(options, properties = metadata ++ ofMetadata)
      assert(consumer(resolved).forConsumer.get("max.partition.fetch.bytes") == expected)
    }
  }

  test("the infix kafka. is optional unless the name is an option of the connector") {
    val properties = client("cluster.blue.client.id" -> "a", "cluster.blue.maxOffsetsPerTrigger" -> "5")
    assert(properties("client.id") == "a")
    assert(!properties.keys.exists(OptionName.normalize(_).contains("offsetspertrigger")))
  }

  test("a Kafka property is found in any spelling; names unknown to Kafka keep theirs") {
    val properties = resolve(
      Seq("kafka.Client.Id" -> "shared", "kafka.config.providers.Mine.class" -> "x"),
      properties = metadata + ("client.id" -> "ours")
    ).client
    assert(properties("client.id") == "ours" && !properties.contains("Client.Id"))
    assert(properties("config.providers.Mine.class") == "x")
  }

  test("a property of a cluster with kafka. takes precedence over the same one without it") {
    val names =
      Seq("client.id", "client.rack", "metrics.num.samples", "retry.backoff.ms", "send.buffer.bytes")
    for (n <- 1 to names.size; some <- names.combinations(n)) {
      val found =
        client(some.flatMap(p => Seq(s"cluster.blue.$p" -> "1", s"cluster.blue.kafka.$p" -> "2")): _*)
      assert(some.map(found) == some.map(_ => "2"))
    }
  }

  test("an unknown option of a cluster is refused with a suggestion") {
    val error = refused(client("cluster.blue.startingOfsets" -> "latest"))
    assert(error.getCondition == "DYNAMIC_KAFKA.UNKNOWN_OPTION")
    assert(error.getMessage.contains("Did you mean 'cluster.blue.startingOffsets'?"))
  }

  test("clients have these defaults and no other ones, some of them others in real-time mode") {
    val ofAll = metadata ++ Map("reconnect.backoff.ms" -> "500", "reconnect.backoff.max.ms" -> "1000")
    val ofConsumers = ofAll ++ Map(
      "max.partition.fetch.bytes" -> "8388608",
      "receive.buffer.bytes" -> "-1",
      "allow.auto.create.topics" -> "false",
      "enable.auto.commit" -> "false",
      "auto.offset.reset" -> "none"
    )
    def passed(properties: java.util.Map[String, AnyRef]) = properties.asScala.collect {
      case (name, value) if name != "client.id" && !name.endsWith("serializer") => name -> value.toString
    }.toMap
    val reading = consumer(resolve(Nil))
    assert(passed(reading.forConsumer) == ofConsumers + ("fetch.max.wait.ms" -> "10"))
    assert(passed(reading.forRealTime.forConsumer) == ofConsumers + ("fetch.max.wait.ms" -> "250"))
    val writing = producer(Nil)
    assert(passed(writing.forProducer) == ofAll ++ Map("batch.size" -> "262144", "linger.ms" -> "5"))
    assert(passed(writing.forRealTime.forProducer) == ofAll ++ Map(
      "batch.size" -> "262144",
      "linger.ms" -> "0"
    ))
  }

  test("a value of the user takes precedence over the defaults of each mode, also if it is equal to one") {
    val all = for {
      (name, values) <- Seq(
        "fetch.max.wait.ms" -> Seq("10", "250", "500"),
        "max.partition.fetch.bytes" -> Seq("8388608", "1048576"),
        "linger.ms" -> Seq("5", "0"),
        "batch.size" -> Seq("262144", "16384"),
        "request.timeout.ms" -> Seq("6000", "30000")
      )
      value <- values
    } yield name -> value
    forAll(Gen.someOf(all)) { some =>
      val chosen = some.toMap
      val options = chosen.map { case (name, value) => s"kafka.$name" -> value }.toSeq
      val reading = consumer(resolve(options))
      val writing = producer(options).or("batch.size" -> "512")
      val limited = TransactionTimeLimits.ofRetry(TransactionTimeLimits.ofTasks(writing))
      def check(made: java.util.Map[String, AnyRef], foreign: Set[String]): Unit =
        for ((name, value) <- chosen if !foreign(name)) assert(made.get(name) == value, name)
      Seq(reading, reading.forRealTime).foreach(s => check(s.forConsumer, Set("linger.ms", "batch.size")))
      // A default that makes no difference is no reason for other clients.
      assert((reading == reading.forRealTime) == chosen.contains("fetch.max.wait.ms"))
      assert((writing == writing.or("batch.size" -> "1024")) == chosen.contains("batch.size"))
      Seq(writing, writing.forRealTime, limited, limited.forRealTime).foreach(s =>
        check(s.forProducer, Set("fetch.max.wait.ms", "max.partition.fetch.bytes"))
      )
    }
  }

  test(
    "the driver's client uses clusterRequestTimeoutMs, the executors' consumers use Kafka's time limits"
  ) {
    assert(resolve(Nil).admin("default.api.timeout.ms") == "60000")
    val short = resolve(Seq("clusterRequestTimeoutMs" -> "500"))
    assert(short.admin("default.api.timeout.ms") == "500")
    assert(!short.client.keys.exists(_.endsWith("timeout.ms")), short.client)
  }

  test("the driver's client has time to try several addresses of a cluster within clusterRequestTimeoutMs") {
    def requestMs(limit: Long) =
      resolve(Seq("clusterRequestTimeoutMs" -> limit.toString)).admin("request.timeout.ms").toLong
    assert(requestMs(60000) == 7500)
    assert(requestMs(15000) == 2500)
    assert(requestMs(3000) == 2500, "not shorter than a busy cluster needs")
    assert(requestMs(500) == 500)
    assert(requestMs(600000) == 30000, "not longer than Kafka's default")
  }

  test("Kafka accepts the properties with every combination of time limits") {
    val time = Gen.option(Gen.choose(1, 200000))
    forAll(time, time, Gen.choose(1, 200000)) { (request, api, limit) =>
      // Kafka refuses the properties if the user's own two values contradict each other.
      whenever(request.zip(api).forall { case (r, a) => r <= a }) {
        val chosen = Seq("clusterRequestTimeoutMs" -> limit.toString) ++
          request.map("kafka.request.timeout.ms" -> _.toString) ++
          api.map("kafka.default.api.timeout.ms" -> _.toString)
        val resolved = resolve(chosen)
        val admin = resolved.admin
        assert(admin("request.timeout.ms").toInt <= admin("default.api.timeout.ms").toInt)
        Seq(resolved.client, admin).foreach { properties =>
          request.foreach(r => assert(properties("request.timeout.ms") == r.toString))
          api.foreach(a => assert(properties("default.api.timeout.ms") == a.toString))
        }
      }
    }
  }

  test("Kafka's clients can be created with the properties and resolve references") {
    val resolved = resolve(
      Seq(
        "kafka.request.timeout.ms" -> "90000",
        "kafka.client.id" -> reference("env:PATH"),
        "clusterRequestTimeoutMs" -> "5s"
      ),
      properties = Map("bootstrap.servers" -> "localhost:1")
    )
    Admin.create(resolved.admin.asJava.asInstanceOf[java.util.Map[String, AnyRef]]).close()
    new KafkaConsumer[Array[Byte], Array[Byte]](consumer(resolved).forConsumer).close()
    val config = new AdminClientConfig(resolved.admin.asJava)
    assert(config.getString("client.id") == sys.env("PATH"))
  }

  test(
    "a rack by reference is resolved by consumers alone, and an unset variable fails none of the clients"
  ) {
    def resolved(variable: String) =
      resolve(
        Seq("kafka.client.rack" -> reference(s"env:$variable")),
        properties = Map("bootstrap.servers" -> "localhost:1")
      )
    def rack(of: ClusterProperties) = {
      val properties = consumer(of).forConsumer
      new KafkaConsumer[Array[Byte], Array[Byte]](properties).close()
      new ConsumerConfig(properties).getString("client.rack")
    }
    val unset = "DYNAMIC_KAFKA_UNSET"
    assert(!sys.env.contains(unset))
    assert(resolved("PATH").client("client.rack") == reference("env:PATH"))
    assert(rack(resolved("PATH")) == sys.env("PATH"))
    assert(rack(resolved(unset)) == reference(s"env:$unset"))
    val admin = resolved(unset).admin
    assert(!admin.contains("client.rack"))
    Admin.create(admin.asJava.asInstanceOf[java.util.Map[String, AnyRef]]).close()
  }

  test("Kafka's config providers are set if a value refers to one, unless the user has set them") {
    val reference = "kafka.sasl.jaas.config" -> Options.reference("env:JAAS")
    assert(!client().keys.exists(_.startsWith("config.providers")))
    val properties = client(reference)
    assert(properties("config.providers") == "file,env,dir")
    Seq("file", "env", "dir").foreach { name =>
      val provider = Class.forName(properties(s"config.providers.$name.class"))
      assert(classOf[org.apache.kafka.common.config.provider.ConfigProvider].isAssignableFrom(provider))
    }
    val own = client(reference, "kafka.config.providers" -> "vault")
    assert(own("config.providers") == "vault" && !own.contains("config.providers.file.class"))
  }

  test("an admin client gets no consumer-only properties, but all properties unknown to Kafka") {
    val admin = resolve(Seq("kafka.group.id" -> "g", "kafka.my.login.setting" -> "x")).admin
    val consumerOnly = {
      val names = new java.util.HashSet[String](ConsumerConfig.configNames())
      names.removeAll(AdminClientConfig.configNames())
      names
    }
    assert(!admin.keys.exists(consumerOnly.contains))
    assert(admin("my.login.setting") == "x" && admin("bootstrap.servers") == "blue:9092")
  }

  test("admin clients are not registered in JMX unless configured; consumers keep Kafka's default") {
    // Kafka 4.0 removed the former.
    val before4 = "auto.include.jmx.reporter"
    val (name, off, on) =
      if (KafkaProperties.isKnown(before4)) (before4, "false", "true")
      else ("metric.reporters", "", "org.apache.kafka.common.metrics.JmxReporter")
    assert(resolve(Nil).admin(name) == off && !client().contains(name))
    assert(resolve(Seq(s"kafka.$name" -> on)).admin(name) == on)
  }

  test("metadata properties that are meant for other readers are ignored and reported") {
    val shared = metadata ++ Map("auto.offset.reset" -> "latest", "Enable.Auto.Commit" -> "true")
    assert(ClusterScope.ignored(shared) == Seq("auto.offset.reset", "enable.auto.commit"))
    val properties = resolve(Nil, properties = shared).client
    assert(!properties.contains("auto.offset.reset") && !properties.contains("enable.auto.commit"))
  }

  test("group ids are equal only for equal properties of one cluster") {
    def group(options: (String, String)*) = resolve(options :+ ("kafka.group.id" -> "g")).client("group.id")
    assert(group().matches("g-blue-[0-9a-f]{8}"))
    assert(group() == group())
    assert(group() != group("kafka.ssl.key.password" -> "other"))
    val both = Set("blue", "green")
    val ids = both.map(id => resolve(Seq("kafka.group.id" -> "g"), id, both).client("group.id"))
    assert(ids.size == 2)
    // Without the hash, g + a-b and g-a + b would be equal.
    val ab = resolve(Seq("kafka.group.id" -> "g"), "a-b", Set("a-b")).client("group.id")
    assert(ab != resolve(Seq("kafka.group.id" -> "g-a"), "b", Set("b")).client("group.id"))
  }

  test("kafka.group.id replaces groupIdPrefix, and committed offsets are read from that very group") {
    val resolved = resolve(Seq("kafka.group.id" -> "g", "groupIdPrefix" -> "team"))
    assert(resolved.client("group.id").startsWith("g-blue-") && resolved.groupId.contains("g"))
    val prefixed = resolve(Seq("groupIdPrefix" -> "team"))
    assert(prefixed.client("group.id") == "team-blue" && prefixed.groupId.isEmpty)
  }

  test("clientIdPrefix sets the client ids of each cluster unless client.id is set") {
    val prefix = "clientIdPrefix" -> "team"
    val resolved = resolve(Seq(prefix))
    assert(resolved.client("client.id") == "team-blue" && resolved.admin("client.id") == "team-blue")
    assert(resolve(Seq(prefix, "kafka.client.id" -> "me")).client("client.id") == "me")
    assert(resolve(Seq(prefix), properties = metadata + ("client.id" -> "its")).client("client.id") == "its")
    assert(!resolve(Nil).client.contains("client.id"))
  }

  test("the connector's own options for one cluster") {
    val clusters = parse(
      "cluster.blue.max-offsets-per-trigger" -> "7",
      "cluster.blue.startingOffsets" -> """{"orders": {"0": 3}}""",
      "cluster.blue.endingOffsets" -> """{"blue": {"orders": {"0": 9}}}"""
    ).clusters
    val scope = new ClusterScope(clusters, Set("blue", "green"))
    assert(scope.value("blue", SourceOptionSpecs.MaxOffsetsPerTrigger).contains(7L))
    assert(scope.value("green", SourceOptionSpecs.MaxOffsetsPerTrigger).isEmpty)
    assert(
      scope.offsets("blue", SourceOptionSpecs.StartingOffsets).contains(
        Exact(Map("blue" -> Map("orders" -> Map(0 -> 3L))))
      )
    )
    assert(
      scope.offsets("blue", SourceOptionSpecs.EndingOffsets).contains(
        Exact(Map("blue" -> Map("orders" -> Map(0 -> 9L))))
      )
    )
  }

  test("no secret is printed") {
    val resolved = resolve(Seq("kafka.sasl.jaas.config" -> "hush-hush"))
    assert(!resolved.toString.contains("hush-hush") && resolved.toString.contains("blue:9092"))
  }
}
