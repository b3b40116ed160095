package io.github.dynamickafka.config

import scala.jdk.CollectionConverters._

import org.apache.kafka.connect.mirror.{DefaultReplicationPolicy, IdentityReplicationPolicy}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.{MirroredTopics, ReplacedClusterPolicy}

/** `mirrorMakerReplicationPolicy`: names of topics, compared with MirrorMaker's own classes. */
class ReplicationPoliciesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val prefix = "mirrorMakerReplicationPolicy."
  private val required = Map(
    "metadataService" -> "file",
    "metadataService.path" -> "streams.yaml",
    "streamIds" -> "orders",
    "replacedClusterPolicy" -> "mirror-maker"
  )
  private val group = Map("commitOffsets" -> "true", "commitGroupId" -> "g")

  private def parse(options: Map[String, String]) =
    SourceOptions.parse(new CaseInsensitiveStringMap(options.asJava)).changes.replaced

  private def topics(policy: String, properties: Map[String, String]): MirroredTopics =
    parse(required ++ group + ("mirrorMakerReplicationPolicy" -> policy) ++
      properties.map { case (name, value) => (prefix + name) -> value }) match {
      case ReplacedClusterPolicy.MirrorMaker("g", None, topics) => topics
      case other => fail(s"$other")
    }

  private def refused(options: Map[String, String]) = {
    val e = intercept[DynamicKafkaIllegalArgumentException](parse(options))
    (e.getCondition.stripPrefix("DYNAMIC_KAFKA."), e.getMessage)
  }

  test("topics have the names that MirrorMaker gives them") {
    val separators = Gen.option(Gen.oneOf(".", "-", "_", "=>"))
    val names = Gen.oneOf(Gen.identifier, Gen.const("heartbeats"))
    def ofClass(of: Class[_]) = s"class:${of.getName}"
    val default = Seq("default", ofClass(classOf[DefaultReplicationPolicy]))
    val identity = Seq("identity", ofClass(classOf[IdentityReplicationPolicy]))
    forAll(Gen.identifier, names, separators, Gen.oneOf(true, false)) { (alias, topic, separator, internal) =>
      val properties = separator.map("replication.policy.separator" -> _).toMap ++
        Option.when(!internal)("replication.policy.internal.topic.separator.enabled" -> "false")
      (default ++ identity).foreach { name =>
        val theirs =
          if (identity.contains(name)) new IdentityReplicationPolicy else new DefaultReplicationPolicy
        theirs.configure(properties.asJava)
        val ours = topics(name, properties)
        assert(ours.mirrored(alias, topic) == theirs.formatRemoteTopic(alias, topic))
        assert(ours.checkpoints(alias) == theirs.checkpointsTopic(alias))
        Seq(topic, ours.mirrored(alias, topic)).foreach(known =>
          assert(ours.upstream(known) == Option(theirs.upstreamTopic(known)))
        )
      }
    }
  }

  test("a class of the user is configured with the properties") {
    val ours = topics(s"class:${classOf[SuffixPolicy].getName}", Map("suffix" -> "-of-"))
    assert(ours.mirrored("blue", "orders") == "orders-of-blue")
    assert(ours.upstream("orders-of-blue").contains("orders") && ours.upstream("orders").isEmpty)
    assert(ours.checkpoints("blue") == "blue.checkpoints.internal")
  }

  test("what is no policy, and a property that no policy has, is refused when the frame is made") {
    val policy = required ++ group
    def of(text: String) = refused(policy + ("mirrorMakerReplicationPolicy" -> text))
    assert(of("other")._1 == "INVALID_OPTION")
    assert(of("class:no.such.Policy")._2.contains("no.such.Policy"))
    assert(of("class:java.lang.Object")._2.contains("ReplicationPolicy"))
    val (condition, text) = refused(policy + (prefix + "separator" -> "-"))
    assert(condition == "INVALID_OPTION" && text.contains("replication.policy.separator"))
  }

  test("the group is required, and that the query commits to it") {
    assert(refused(required)._1 == "MISSING_OPTION")
    val (condition, text) = refused(required ++ group - "commitOffsets")
    assert(condition == "MISSING_OPTION" && text.contains("commitOffsets"))
    assert(refused(required ++ group - "commitGroupId")._1 == "MISSING_OPTION")
    assert(parse(required ++ group + ("mirrorMakerSourceAlias" -> "primary")) match {
      case ReplacedClusterPolicy.MirrorMaker("g", Some("primary"), _) => true
      case _ => false
    })
  }
}

/** Topics are called `<topic><suffix><alias>`. */
class SuffixPolicy extends DefaultReplicationPolicy {
  private var suffix = "."

  override def configure(properties: java.util.Map[String, _]): Unit =
    suffix = String.valueOf(properties.get("suffix"))

  override def formatRemoteTopic(alias: String, topic: String): String = topic + suffix + alias
  override def topicSource(topic: String): String =
    if (topic.contains(suffix)) topic.substring(topic.indexOf(suffix) + suffix.length) else null
  override def upstreamTopic(topic: String): String =
    if (topic.contains(suffix)) topic.substring(0, topic.indexOf(suffix)) else null
}
