package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.scalacheck.Gen

/** Composite offsets of any shape, with difficult names. */
object Generators {
  val clusterId: Gen[String] = Gen.oneOf("a", "a-b", "a-b-c", "blue", "Blue", "green.eu", "x_1", "0")
  val topic: Gen[String] = Gen.oneOf("orders", "b-c", "c", "version", "Orders.v1_x", "clusters")
  val offset: Gen[Long] = Gen.frequency(3 -> Gen.choose(0L, 1000L), 1 -> Gen.choose(0L, Long.MaxValue))

  val positions: Gen[Positions] = for {
    topics <- Gen.choose(1, 4).flatMap(Gen.listOfN(_, topic))
    all <- Gen.sequence[Seq[(String, Int, Long)], (String, Int, Long)](topics.flatMap { t =>
      (0 until 3).map(p => offset.map(o => (t, p * 7, o)))
    })
  } yield Positions.from(all.distinctBy(x => (x._1, x._2)))

  def byCluster[A](value: Gen[A]): Gen[SortedMap[String, A]] =
    Gen.choose(0, 4).flatMap(Gen.listOfN(_, Gen.zip(clusterId, value))).map(SortedMap.from(_))

  val retainedTopic: Gen[RetainedTopic] = for {
    since <- Gen.choose(0L, 2000000000000L)
    kept <- positions
    id <- Gen.option(Gen.identifier)
    offsets = kept.byTopic.head._2
    epochs <- epochsOf(Positions(Seq("t" -> offsets)))
    former <- Gen.option(Gen.zip(clusterId, Gen.option(Gen.identifier)))
  } yield RetainedTopic(
    since,
    offsets,
    id,
    epochs.of("t"),
    former.map { case (of, kafkaId) =>
      FormerCluster(of, kafkaId)
    }
  )

  val retained: Gen[Retained] = for {
    topics <- Gen.mapOf(Gen.zip(topic, retainedTopic))
    drained <- Gen.someOf(topics.keySet)
    past <- Gen.listOf(topic)
  } yield Retained(SortedMap.from(topics), drained.toSet, past.toSet)

  /** Leader epochs of some of these positions. */
  def epochsOf(positions: Positions): Gen[Positions] = for {
    all <- Gen.option(Gen.choose(0, Int.MaxValue))
    each <- Gen.listOfN(positions.size, Gen.choose(0L, 3L))
    some <- Gen.listOfN(positions.size, Gen.oneOf(true, false))
    complete <- Gen.oneOf(true, false)
  } yield Positions.from(positions.iterator.zip(each).zip(some).collect {
    case (((t, p, _), epoch), known) if complete || known => (t, p, all.fold(epoch)(_.toLong))
  })

  def identity(positions: Positions, entered: Positions): Gen[ClusterIdentity] = for {
    kafkaId <- Gen.option(Gen.identifier)
    topics <- Gen.mapOf(Gen.zip(topic, Gen.identifier))
    epochs <- epochsOf(positions)
    from <- epochsOf(entered)
  } yield ClusterIdentity(kafkaId, SortedMap.from(topics), epochs, from)

  val topicEnds: Gen[TopicEnds] = for {
    by <- Gen.oneOf("latest", "committed", "timestamp:1763700000000", """{"0":-1,"7":"x"}""")
    partitions <- Gen.mapOf(Gen.zip(Gen.choose(0, 20), offset))
  } yield TopicEnds(by, SortedMap.from(partitions))

  val ends: Gen[StoppingOffsets.ByTopic] = Gen.mapOf(Gen.zip(topic, topicEnds)).map(SortedMap.from(_))

  val earlier: Gen[EarlierEntries] = for {
    batch <- Gen.identifier
    entered <- byCluster(positions)
    epochs <- Gen.sequence[Seq[(String, Positions)], (String, Positions)](entered.toSeq.map { case (id, of) =>
      epochsOf(of).map(id -> _)
    })
  } yield EarlierEntries(batch, Entries(entered, SortedMap.from(epochs.filter(_._2.nonEmpty))))

  val compositeOffset: Gen[CompositeOffset] = for {
    clusters <- byCluster(positions)
    entered <- byCluster(positions)
    retained <- byCluster(retained)
    draining <- byCluster(positions)
    ends <- byCluster(ends)
    ids <- Gen.someOf(clusters.keySet ++ entered.keySet + "elsewhere")
    identities <- Gen.sequence[Seq[(String, ClusterIdentity)], (String, ClusterIdentity)](ids.toSeq.map(id =>
      identity(clusters.getOrElse(id, Positions.empty), entered.getOrElse(id, Positions.empty)).map(id -> _)
    )).map(SortedMap.from(_))
    earlier <- Gen.choose(0, 2).flatMap(Gen.containerOfN[Vector, EarlierEntries](_, earlier))
    history <- Gen.frequency(3 -> SortedMap.empty[String, Long], 1 -> byCluster(offset))
  } yield CompositeOffset(
    clusters,
    entered,
    retained,
    ReadUntil(draining, ends),
    identities,
    earlier,
    history
  )
}
