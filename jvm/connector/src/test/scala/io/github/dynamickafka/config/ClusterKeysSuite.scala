package io.github.dynamickafka.config

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.option.ClusterKeys
import io.github.dynamickafka.testkit.TimeLimit

class ClusterKeysSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  import Options._

  /** Ids that are prefixes of each other and contain parts of keys. */
  private val id =
    Gen.choose(1, 4).flatMap(Gen.listOfN(_, Gen.oneOf("a", "b", "A", "a-b", "kafka"))).map(_.mkString("."))
  private val setting =
    Gen.oneOf("kafka.client.id", "startingOffsets", "max-offsets-per-trigger", "client.id")

  test("a key refers to the longest known id that it starts with") {
    forAll(Gen.nonEmptyListOf(id), setting) { (ids, name) =>
      ids.foreach { id =>
        val key = s"$id.$name"
        val longest = ids.filter(known => key.startsWith(s"$known.")).maxBy(_.length)
        assert(ClusterKeys.split(
          key,
          ids,
          SourceOptionSpecs.table
        ).contains(longest -> key.drop(longest.length + 1)))
      }
    }
  }

  test("ids are distinguished by case, hyphens and dots") {
    val known = Seq("a", "A", "a-b", "ab", "a.b")
    known.foreach(id =>
      assert(ClusterKeys.split(
        s"$id.kafka.client.id",
        known,
        SourceOptionSpecs.table
      ).contains(id -> "kafka.client.id"))
    )
  }

  test("a key of a longer, unknown id does not refer to a known id that is its prefix") {
    val options = parse(
      "cluster.a.b.kafka.client.id" -> "x",
      "cluster.a.b.startingOffsets" -> "latest",
      "cluster.a.kafka.client.id" -> "y"
    ).clusters
    assert(
      new ClusterScope(options, Set("a")).unmatched ==
        Seq("cluster.a.b.kafka.client.id", "cluster.a.b.startingOffsets")
    )
    assert(new ClusterScope(options, Set("a")).consumer("a", Map.empty).client("client.id") == "y")
    assert(new ClusterScope(options, Set("a", "a.b")).unmatched.isEmpty)
    assert(new ClusterScope(options, Set("a", "a.b")).consumer("a.b", Map.empty).client("client.id") == "x")
  }

  test("an option of a format of one cluster is refused, with the way around and without the value") {
    for (name <- Seq("csv.sep", "value.json.timestampFormat", "avro-confluent.url")) {
      val scope = new ClusterScope(parse(s"cluster.blue.$name" -> "hunter2").clusters, Set("blue"))
      val e = refused(scope.consumer("blue", Map.empty))
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION", e.getMessage)
      for (part <- Seq(s"cluster.blue.$name", "two streams", "cluster.blue.registry."))
        assert(e.getMessage.contains(part), e.getMessage)
      assert(!e.getMessage.contains("hunter2"))
    }
  }

  test("cluster ids are 1 to 128 letters, digits, dots, underscores and hyphens") {
    Seq("a", "A.b_c-1", "x" * 128).foreach(id => assert(ClusterKeys.isClusterId(id)))
    Seq("", "x" * 129, "a b", "ä", "a/b", "*").foreach(id => assert(!ClusterKeys.isClusterId(id)))
  }
}
