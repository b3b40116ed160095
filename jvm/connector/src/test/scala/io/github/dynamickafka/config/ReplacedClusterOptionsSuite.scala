package io.github.dynamickafka.config

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options._
import io.github.dynamickafka.metadata.{MirroredTopics, ReplacedClusterPolicy}
import io.github.dynamickafka.testkit.TimeLimit

/** `replacedClusterPolicy` and the options that some of its values need, and others do not use. */
class ReplacedClusterOptionsSuite extends AnyFunSuite with TimeLimit {

  private def policy(options: (String, String)*) = parse(options: _*).changes.replaced
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
      "Same-Offsets" -> ReplacedClusterPolicy.SameOffsets
    ).foreach { case (name, value) => assert(policy(named(name): _*) == value) }
  }

  test("a policy without the option that it needs is refused") {
    refusal("MISSING_OPTION", named("mirror-maker"), "'commitGroupId'")
    refusal("MISSING_OPTION", named("mirror-maker", "commitGroupId" -> "g"), "'commitOffsets'")
  }

  test("an option that the policy does not use is refused") {
    refusal("INVALID_OPTION", named("fail", "mirrorMakerSourceAlias" -> "a"), "'mirror-maker'")
    refusal(
      "INVALID_OPTION",
      named("latest", "mirrorMakerReplicationPolicy" -> "identity"),
      "'mirror-maker'"
    )
    refusal(
      "INVALID_OPTION",
      named("latest", "mirrorMakerReplicationPolicy.replication.policy.separator" -> "-"),
      "'mirror-maker'"
    )
    refusal("INVALID_OPTION", named("latest", "commitGroupId" -> "g"), "no effect")
    refusal("INVALID_OPTION", named("resume"), "'same-offsets', 'mirror-maker'")
  }

  test("the policies by time and by a group are refused with the way around") {
    Seq("timestamp", "Group-Offsets").foreach(name =>
      refusal("INVALID_OPTION", named(name), "'same-offsets', 'mirror-maker'", "'reset'", "'group:<id>'")
    )
    refusal("UNKNOWN_OPTION", named("latest", "replacedClusterOverlap" -> "1min"), "'replacedClusterOverlap'")
  }

  test("how MirrorMaker names topics") {
    val spec = SourceOptionSpecs.MirrorMakerReplicationPolicy
    def topics(text: String) = spec.parse(text)(Map.empty)
    assert(Seq("default", "identity").map(topics) == Seq(false, true).map(MirroredTopics.Standard(_)))
    refused(topics("class:com.example.Names"))
    Seq("class:", "com.example.Names", "").foreach(text => refused(spec.parse(text)))
  }
}
