package io.github.dynamickafka.metadata.watch

import java.io.IOException
import java.net.URI
import java.nio.file.{Files, StandardCopyOption}
import java.sql.Connection
import java.time.Duration
import java.util.concurrent.CountDownLatch

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.fabric8.kubernetes.api.model.{ConfigMapBuilder, GenericKubernetesResource}
import io.fabric8.kubernetes.client.KubernetesClient
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext
import io.fabric8.kubernetes.client.utils.Serialization
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, Path, RawLocalFileSystem}

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.remote.ApiServerDouble.{Faults, withFaults}
import io.github.dynamickafka.metadata.remote._
import io.github.dynamickafka.metadata.service._
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

class AnswerMatrixSuite extends AnswerMatrix {
  import AnswerMatrix._

  test("what queries make of the answers of a source of documents") {
    assertMatrix(new Door {
      @volatile private var answer: Answer = Good
      @volatile private var waiting = new CountDownLatch(1)

      private def invalid(id: String) = Errors.metadataInvalid(s"stream '$id'", "it is garbage")

      override def service(): KafkaMetadataService = new DocumentMetadataService {
        override protected def read(): Map[String, KafkaStream] = answer match {
          case Has(streams, bad) =>
            (streams ++ bad.map(id => KafkaStream.invalid(id, invalid(id)))).map(s => s.streamId -> s).toMap
          case Down => throw new IOException("down")
          case NoDocument => throw invalid("orders")
          case Late =>
            waiting.await()
            throw new IOException("released")
        }
      }

      override def put(now: Answer): Boolean = {
        waiting = new CountDownLatch(1)
        answer = now
        true
      }

      override def release(): Unit = waiting.countDown()
    })
  }

  test("what queries make of the answers of the service 'file'") {
    assertMatrix(new Door {
      private val folder = Files.createTempDirectory("dynamic-kafka-test-")
      private val (file, next) = (folder.resolve("streams.json"), folder.resolve("next"))

      private val late = new Configuration
      late.set("fs.late.impl", classOf[LateFileSystem].getName)
      late.set("fs.late.impl.disable.cache", "true")

      override def service() =
        new FileMetadataService(ServiceArguments(MetadataServiceSpecs.File, "path" -> s"late://$file"), late)
      override val instead = Whole

      override def put(answer: Answer): Boolean = answer match {
        case has: Has => replace(text(has))
        case NoDocument => replace("nothing")
        case Down => Files.deleteIfExists(file)
        case Late =>
          LateFileSystem.waiting = new CountDownLatch(1)
          true
      }

      override def release(): Unit = LateFileSystem.waiting.countDown()

      private def replace(content: String) = {
        val _ = Files.move(Files.writeString(next, content), file, StandardCopyOption.ATOMIC_MOVE)
        true
      }
    })
  }

  test("what queries make of the answers of the service 'http'") {
    DocumentServer.serving { server =>
      assertMatrix(new Door {
        private var waiting = new CountDownLatch(0)

        override def service() = new HttpMetadataService(
          ServiceArguments(MetadataServiceSpecs.Http, "url" -> server.url, "timeoutMs" -> "60000")
        )
        override val instead = Whole

        override def put(answer: Answer): Boolean = {
          waiting = new CountDownLatch(if (answer == Late) 1 else 0)
          server.answer = answer match {
            case has: Has => DocumentServer.Answer(200, text(has))
            case Down => DocumentServer.Answer(503, "")
            case NoDocument => DocumentServer.Answer(200, "nothing")
            case Late => DocumentServer.Answer(200, text(Good), halfway = Some(waiting))
          }
          true
        }

        override def release(): Unit = waiting.countDown()
      })
    }
  }

  test("what queries make of the answers of the service 'jdbc'") {
    Using.resource(
      EmbeddedPostgres.builder().setServerConfig(
        "fsync",
        "off"
      ).setPGStartupWait(Duration.ofMinutes(3)).start()
    ) { postgres =>
      Using.resource(postgres.getPostgresDatabase.getConnection()) { connection =>
        assertMatrix(new Rows(connection, s"jdbc:postgresql://localhost:${postgres.getPort}/postgres"))
      }
    }
  }

  private final class Rows(connection: Connection, url: String) extends Door {
    connection.setAutoCommit(false)

    override def service() =
      new JdbcMetadataService(ServiceArguments(
        MetadataServiceSpecs.Jdbc,
        "url" -> url,
        "query" -> "select document from streams",
        "properties.user" -> "postgres",
        "timeoutMs" -> "60000"
      ))
    override val instead = Whole

    override def put(answer: Answer): Boolean = {
      answer match {
        case has: Has => replace(text(has))
        case NoDocument => replace("nothing")
        case Down =>
          run("drop table streams")
          connection.commit()
        case Late => run("lock table streams in access exclusive mode")
      }
      true
    }

    override def release(): Unit = connection.rollback()

    private def replace(document: String): Unit = {
      run("create table if not exists streams (document text)")
      run("delete from streams")
      Using.resource(connection.prepareStatement("insert into streams values (?)")) { statement =>
        statement.setString(1, document)
        statement.executeUpdate()
      }
      connection.commit()
    }

    private def run(sql: String): Unit = Using.resource(connection.createStatement()) { statement =>
      val _ = statement.execute(sql)
    }
  }

  test("what queries make of the answers of the service 'configmap'") {
    withFaults { (_, client, faults) =>
      assertMatrix(new Door {
        override def service() =
          new KubernetesConfigMapMetadataService(
            ServiceArguments(
              MetadataServiceSpecs.ConfigMap,
              "namespace" -> "data",
              "name" -> "streams",
              "key" -> "key",
              "timeoutMs" -> "60000"
            ),
            () => client.getConfiguration
          )
        override val instead = Whole

        override def put(answer: Answer): Boolean = answer match {
          case has: Has => replace(text(has))
          case NoDocument => replace("nothing")
          case Down =>
            val _ = client.configMaps().inNamespace("data").withName("streams").delete()
            true
          case Late =>
            faults.waiting = new CountDownLatch(1)
            true
        }

        override def release(): Unit = faults.waiting.countDown()

        private def replace(document: String) = {
          val map =
            new ConfigMapBuilder().withNewMetadata().withNamespace("data").withName("streams").endMetadata()
              .withData(Map("key" -> document).asJava).build()
          val there = client.resource(map)
          if (there.get() == null) there.create() else there.update()
          true
        }
      })
    }
  }

  test("what queries make of the answers of the service 'strimzi'") {
    withFaults((_, client, faults) => assertMatrix(new Resources(client, faults)))
  }

  /** A stream is known by its topics, so that none is without a cluster. Each change is one request, so that no answer is between two. */
  private final class Resources(client: KubernetesClient, faults: Faults) extends Door {
    private val first = Map("orders" -> "blue", "other" -> "black")
    private var topics = Map.empty[String, GenericKubernetesResource]
    (first.values ++ Seq("green", "red", "one", "two", "three")).foreach(cluster => apply(kafka(cluster)))

    override def service() = new StrimziMetadataService(
      ServiceArguments(MetadataServiceSpecs.Strimzi, "namespace" -> "data", "timeoutMs" -> "60000"),
      () => client.getConfiguration
    )

    override def put(answer: Answer): Boolean = answer match {
      case Has(streams, invalid) if streams.nonEmpty && streams.forall(!_.getClusterMetadataMap.isEmpty) =>
        val good = for (s <- streams; id <- s.getClusterMetadataMap.keySet.asScala.toSeq)
          yield topic(s.streamId, id, "{}")
        val bad = invalid.map(id => topic(id, first(id), "{dynamic-kafka/none: x}"))
        val now = (good ++ bad).map(one => one.getMetadata.getName -> one).toMap
        now.filter { case (name, one) => !topics.get(name).contains(one) }.values.foreach(apply)
        (topics -- now.keys).values.foreach(one => resource(one).delete())
        topics = now
        true
      case Down =>
        faults.areForbidden = true
        true
      case Late =>
        faults.waiting = new CountDownLatch(1)
        true
      case _ => false
    }

    override def release(): Unit = {
      faults.areForbidden = false
      faults.waiting.countDown()
    }

    private def topic(stream: String, cluster: String, annotations: String) = parsed(
      s"""apiVersion: kafka.strimzi.io/v1
         |kind: KafkaTopic
         |metadata:
         |  name: $stream-$cluster
         |  namespace: data
         |  labels: {dynamic-kafka/stream: $stream, strimzi.io/cluster: $cluster}
         |  annotations: $annotations
         |spec: {partitions: 1, replicas: 1}
         |""".stripMargin
    )

    private def kafka(name: String) = parsed(
      s"""apiVersion: kafka.strimzi.io/v1
         |kind: Kafka
         |metadata: {name: $name, namespace: data}
         |spec: {kafka: {listeners: [{name: plain, port: 9092, type: internal, tls: false}]}}
         |status: {listeners: [{name: plain, bootstrapServers: 'b:9092'}]}
         |""".stripMargin
    )

    private def parsed(yaml: String) = Serialization.unmarshal(yaml, classOf[GenericKubernetesResource])

    private def resource(one: GenericKubernetesResource) = {
      val context = new ResourceDefinitionContext.Builder().withGroup("kafka.strimzi.io").withVersion("v1")
        .withKind(one.getKind).withPlural(one.getKind.toLowerCase + "s").withNamespaced(true).build()
      client.genericKubernetesResources(context).inNamespace("data").resource(one)
    }

    private def apply(one: GenericKubernetesResource): Unit = {
      val there = resource(one)
      val _ = if (there.get() == null) there.create() else there.update()
    }
  }
}

private object LateFileSystem {
  @volatile var waiting = new CountDownLatch(0)
}

/** The local files, of which none can be opened until a test says so. */
class LateFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("late:///")

  override def open(file: Path, bufferSize: Int): FSDataInputStream = {
    LateFileSystem.waiting.await()
    super.open(file, bufferSize)
  }
}
