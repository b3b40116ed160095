package io.github.dynamickafka.admin

import scala.collection.immutable.{SortedMap, SortedSet}
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.Conformance
import io.github.dynamickafka.offset.replacement.ReplacingClusters
import io.github.dynamickafka.offset.{
  ClusterView,
  CompositeOffsetJson,
  Continuation,
  NextOffset,
  Positions,
  Reconcile
}
import io.github.dynamickafka.topology.{
  OffsetsPolicy,
  Removal,
  ReplacedClusterPolicy,
  Topology,
  TopologyCluster,
  TopologyTopic
}

/** The changes that `plan` shows, for the cases in `tests/conformance/plan`, which the command reads too. */
class PlannedChangeSuite extends AnyFunSuite {

  private def fields(node: JsonNode): Seq[(String, JsonNode)] =
    node.properties.asScala.map(e => e.getKey -> e.getValue).toSeq

  private def topology(one: JsonNode) = Topology(
    SortedMap.from(fields(one.get("topology")).map { case (id, topics) =>
      val named = fields(topics).map { case (name, t) =>
        name -> TopologyTopic(
          Option(t.get("stream")).fold("s")(_.asText),
          t.get("draining").asBoolean,
          partitions = Option(t.get("partitions")).map(p => SortedSet.from(p.elements.asScala.map(_.asInt)))
        )
      }
      val replaces = Option(one.get("replaces")).flatMap(of => Option(of.get(id))).map(_.asText)
      id -> TopologyCluster(id, SortedMap.from(named), Map.empty[String, String], replaces = replaces)
    }),
    removals = SortedMap.from(fields(one.get("removed")).map { case (id, topics) =>
      id -> Removal(SortedSet.from(Conformance.texts(topics)), Set.empty)
    })
  )

  private def positions(node: JsonNode) = Positions.from(for {
    (topic, of) <- fields(node)
    (p, at) <- fields(of)
  } yield (topic, p.toInt, at.asLong))

  private def rows(node: JsonNode): Seq[(String, String, Int, Long)] = node.elements.asScala
    .map(r => (r.get(0).asText, r.get(1).asText, r.get(2).asInt, r.get(3).asLong)).toSeq

  Conformance.cases("plan").foreach { one =>
    test(one.get("name").asText) {
      val start = CompositeOffsetJson.read(one.get("offset").asText)
      val drainRemoved = one.get("drain_removed").asBoolean
      val kafka = fields(one.get("kafka")).map { case (id, of) =>
        id -> (positions(of.get("ends")) -> positions(of.get("earliest")))
      }.toMap
      val continued = Option(one.get("continued")).toSeq.flatMap(fields)
        .map { case (id, at) => id -> positions(at) }.toMap
      val rules = Reconcile.Rules(-1, drainRemoved, (_, _, _, _) => OffsetsPolicy.Earliest)
      val replacing = ReplacingClusters(start, topology(one), drainRemoved)
      val isLatest = Option(one.get("replaced_cluster_policy")).exists(_.asText == "latest")
      val transition = Reconcile(replacing.start, replacing.topology, 2000L, rules)
      val views = transition.clusters.collect {
        case (id, work) if kafka.contains(id) =>
          def asked(at: Positions) = at.filter((t, p) => work.topics(t) && work.only.get(t).forall(_(p)))
          val (ends, earliest) = kafka(id)
          val entering =
            if (!replacing.former.contains(id)) Positions.empty
            else if (isLatest) asked(ends)
            else asked(earliest)
          id -> ClusterView.Reachable(
            asked(ends),
            asked(earliest),
            entering = entering,
            missing = work.topics -- ends.topics,
            kafkaId = continued.get(id).map(_ => "another")
          )
      }
      val next = NextOffset(
        replacing.start,
        transition,
        views,
        ReplacedClusterPolicy.Fail,
        _ => false,
        continued.map { case (id, at) => id -> Continuation(at) }
      )
      val found = PlannedChange.all(
        start,
        replacing.topology,
        drainRemoved,
        next,
        (id, t, p) => kafka.get(id).flatMap(_._1.get(t, p))
      )
      def of(change: String)(number: PlannedChange => Long) =
        found.filter(_.change == change).map(c => (c.cluster, c.topic, c.partition, number(c)))
      assert(of("enters")(_.position) == rows(one.get("enters")))
      assert(of("drains")(_.target.get) == rows(one.get("drains")))
      assert(of("leaves")(_.position) == rows(one.get("leaves")))
      // What has reached its drain target is not lost, whatever Kafka has behind it.
      found.filter(c => c.lost).foreach(c =>
        assert(c.change == "leaves" && c.records.exists(_ > 0), c)
      )
    }
  }
}
