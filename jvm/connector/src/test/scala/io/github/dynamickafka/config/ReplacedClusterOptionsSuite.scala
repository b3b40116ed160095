package io.github.dynamickafka.config

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options._
import io.github.dynamickafka.config.replacement.ReplicationPolicies
import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.topology.ReplacedClusterPolicy

/** `replacedClusterPolicy` and the options that some of its values need, and others do not use. */
class ReplacedClusterOptionsSuite extends AnyFunSuite with TimeLimit {

  private def policy(options: (String, String)*) = parse(options: _*).replacedClusters
  private def named(name: String, more: (String, String)*) =
    (("replacedClusterPolicy" -> name) +: more)

  private def refusal(condition: String, options: Seq[(String, String)], texts: String*): Unit = {
    val text = refused(parse(options: _*)).getMessage
    (condition +: texts).foreach(t => assert(text.contains(t), text))
  }

  test("each value, with its defaults") {
    assert(policy() == ReplacedClusterPolicy.Fail)
    Seq(
      "fail" -> ReplacedClusterPolicy.Fail,
      "earliest" -> ReplacedClusterPolicy.Earliest,
      "latest" -> ReplacedClusterPolicy.Latest,
      "same-offsets" -> ReplacedClusterPolicy.SameOffsets,
      "timestamp" -> ReplacedClusterPolicy.Timestamp(60000L)
    ).foreach { case (name, value) => assert(policy(named(name): _*) == value) }
    val overlap = "replacedClusterOverlap" -> "5s"
    assert(policy(named("Timestamp", overlap): _*) == ReplacedClusterPolicy.Timestamp(5000L))
    assert(
      policy(named("group-offsets", overlap, "commitGroupId" -> "g"): _*) ==
        ReplacedClusterPolicy.GroupOffsets("g", 5000L)
    )
  }

  test("a policy without the option that it needs is refused") {
    refusal("MISSING_OPTION", named("group-offsets"), "'commitGroupId'")
    refusal("MISSING_OPTION", named("mirror-maker"), "'commitGroupId'")
    refusal("MISSING_OPTION", named("mirror-maker", "commitGroupId" -> "g"), "'commitOffsets'")
  }

  test("an option that the policy does not use is refused") {
    refusal("INVALID_OPTION", named("earliest", "replacedClusterOverlap" -> "1min"), "'timestamp'")
    refusal("INVALID_OPTION", named("fail", "mirrorMakerSourceAlias" -> "a"), "'mirror-maker'")
    refusal(
      "INVALID_OPTION",
      named("timestamp", "mirrorMakerReplicationPolicy" -> "identity"),
      "'mirror-maker'"
    )
    refusal(
      "INVALID_OPTION",
      named("timestamp", "mirrorMakerReplicationPolicy.replication.policy.separator" -> "-"),
      "'mirror-maker'"
    )
    refusal("INVALID_OPTION", named("timestamp", "commitGroupId" -> "g"), "no effect")
    refusal("INVALID_OPTION", named("resume"), "'group-offsets', 'mirror-maker'")
    refusal("INVALID_OPTION", named("timestamp", "replacedClusterOverlap" -> "-1"), "at least 0 ms")
  }

  test("how MirrorMaker names topics") {
    val spec = SourceOptionSpecs.MirrorMakerReplicationPolicy
    assert(spec.parse("default") == ReplicationPolicies.Default && spec.parse(
      "identity"
    ) == ReplicationPolicies.Identity)
    assert(spec.parse("class:com.example.Names") == ReplicationPolicies.OfClass("com.example.Names"))
    Seq("class:", "com.example.Names", "").foreach(text => refused(spec.parse(text)))
  }
}
