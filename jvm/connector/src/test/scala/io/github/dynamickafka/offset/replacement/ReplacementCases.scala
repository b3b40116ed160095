package io.github.dynamickafka.offset.replacement

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.util.Random

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

import io.github.dynamickafka.offset.mirror.MirrorContinuation
import io.github.dynamickafka.offset.{ClusterView, Continuation, Positions, ReplacedCluster}
import io.github.dynamickafka.topology.MirroredTopics

/**
 * Random replacements of a Kafka cluster, with where a query continues by each policy. The command `plan` of the Python package has
 * to say the same.
 */
object ReplacementCases {
  private type Key = (String, Int)

  private val mapper = new ObjectMapper
  private val Seed = 20261L

  def file: Path =
    Path.of(sys.props("dynamickafka.root"), "tests", "conformance", "replacement", "random.json")

  /** One case in each line. */
  def text: String = {
    val random = new Random(Seed)
    (1 to 200).map(n => one(s"replacement $n", random).toString).mkString("[\n", ",\n", "\n]\n")
  }

  private def one(name: String, random: Random): ObjectNode = {
    def chance(percent: Int) = random.nextInt(100) < percent
    def number(most: Int) = random.nextInt(most).toLong
    def partitions(percent: Int) = for (t <- Seq("t", "u"); p <- 0 to 1 if chance(percent)) yield (t, p)
    val positions = Positions.from(partitions(85).map { case (t, p) => (t, p, number(20)) })
    val read = positions.iterator.collect {
      case (t, p, at) if at > 0 && chance(65) =>
        (t, p) -> LastRecord(math.max(0, at - 1 - number(2)), 900 + number(200))
    }.toMap
    val ends = Positions.from(partitions(85).map { case (t, p) =>
      (t, p, positions.get(t, p).fold(number(30))(_ + number(12) - 1).max(0L))
    })
    val earliest = Positions.from(ends.iterator.map { case (t, p, end) =>
      (t, p, if (chance(70)) 0L else number(end.toInt + 1))
    })
    val of = Replacement(
      ReplacedCluster("a", "K", "L"),
      "old",
      positions,
      read,
      if (chance(20)) 0L else 950 + number(200),
      Seq("t", "u", "old.t", "heartbeats").filter(_ => chance(85)).toSet,
      ClusterView.Reachable(ends, earliest, missing = Set("t", "u").diff(ends.topics))
    )
    val root = mapper.createObjectNode().put("name", name)
    write(root, "positions", positions)
    write(root, "ends", ends)
    write(root, "earliest", earliest)
    val topics = root.putArray("topics")
    of.topics.toSeq.sorted.foreach(topics.add)
    rows(root, "read", read.map { case (key, last) => key -> record(Some(last)) })
    root.put("last_batch", of.lastBatchMs)
    val questions = SameOffsets.questions(of)
    val answers = questions.map(_.map { case (key, question) =>
      def some(offset: Long) = Option.when(chance(80)) {
        LastRecord(
          offset,
          read.get(key).filter(_ => chance(80)).fold(900 + number(70000))(_.time)
        )
      }
      val there = some(question.record)
      key -> SameOffsets.Answer(there, if (there.isEmpty) some(question.position + number(2)) else None)
    })
    rows(
      root,
      "answers",
      answers.fold(
        _ => Map.empty[Key, Seq[Option[Long]]],
        _.map { case (key, a) => key -> (record(a.record) ++ record(a.next)) }.toMap
      )
    )
    result(root, "same-offsets", answers.flatMap(a => SameOffsets.continuation(of, a.toMap)))
    mirrored(root, of, random)
    root
  }

  private def mirrored(root: ObjectNode, of: Replacement, random: Random): Unit = {
    val isIdentity = random.nextInt(100) < 70
    val mirror =
      new MirrorContinuation(of, "g", "old", MirroredTopics.Standard(isIdentity))
    root.put("identity", isIdentity)
    val records = root.putArray("checkpoints")
    val all = (0 until 12).map { _ =>
      val topic = Seq("t", "u", "old.t", "old.u")(random.nextInt(4))
      val (group, partition) = (if (random.nextInt(8) == 0) "h" else "g", random.nextInt(2))
      val values = Option.when(random.nextInt(12) > 0)((random.nextInt(24).toLong, random.nextInt(24).toLong))
      val row = records.addArray().add(group).add(topic).add(partition)
      values.foreach { case (upstream, downstream) => row.add(upstream).add(downstream) }
      def text(of: String) = ByteBuffer.allocate(2).putShort(of.length.toShort).array ++ of.getBytes(UTF_8)
      val key = text(group) ++ text(topic) ++ ByteBuffer.allocate(4).putInt(partition).array
      key -> values.map { case (upstream, downstream) =>
        ByteBuffer.allocate(20).putShort(0.toShort).putLong(upstream).putLong(downstream).array
      }.orNull
    }
    result(
      root,
      "mirror-maker",
      mirror.question.flatMap(question =>
        mirror.continuation(all.foldLeft(question) { case (q, (key, value)) => q.add(key, value) })
      )
    )
  }

  private def record(of: Option[LastRecord]): Seq[Option[Long]] = Seq(of.map(_.offset), of.map(_.time))

  private def result(root: ObjectNode, name: String, found: Either[String, Continuation]): Unit =
    found.fold(reason => { val _ = root.put(name, reason) }, of => write(root, name, of.positions))

  private def rows(root: ObjectNode, name: String, all: Map[Key, Seq[Option[Long]]]): Unit = {
    val to = root.putArray(name)
    all.toSeq.sortBy(_._1).foreach { case ((topic, p), numbers) =>
      val row = to.addArray().add(topic).add(p)
      numbers.foreach(_.fold(row.addNull())(row.add(_)))
    }
  }

  private def write(root: ObjectNode, name: String, positions: Positions): Unit = {
    val node = root.putObject(name)
    positions.byTopic.foreach { case (topic, at) =>
      val topics = node.putObject(topic)
      at.foreach { case (p, offset) => topics.put(p.toString, offset) }
    }
  }
}

/** Writes the file, after a change of the rules. */
object ReplacementCasesFile extends App {
  Files.createDirectories(ReplacementCases.file.getParent)
  println(s"wrote ${Files.writeString(ReplacementCases.file, ReplacementCases.text)}")
}
