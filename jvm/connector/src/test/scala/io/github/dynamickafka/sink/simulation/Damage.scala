package io.github.dynamickafka.sink.simulation

import scala.util.Random

import io.github.dynamickafka.sink.commit.{Journal, JournalEntry, JournalJson}
import io.github.dynamickafka.storage.SimulatedFileManager

/** What happens to a checkpoint between two runs, and what that excuses. */
private[simulation] final class Damage(world: World, random: Random, profile: Profile) {
  import History.Main

  private val home = s"/${world.name}/$Main"
  private val journal = s"$home/dynamic-kafka-sink/"
  private var backup = Map.empty[String, String]
  private var isPlannedAnew = false
  private var isHandMade = false

  private def of(prefix: String, files: Map[String, String] = world.files): Map[String, String] =
    files.filter { case (path, _) => path.startsWith(prefix) }

  private def last(folder: String, files: Map[String, String] = world.files): Long =
    of(s"$home/$folder/", files).keys.map(_.split('/').last.toLong).maxOption.getOrElse(-1L)

  private def query(files: Map[String, String] = world.files): String = files.getOrElse(s"$home/metadata", "")

  def between(): Unit = {
    if (profile.handMade) makeCommit()
    if (random.nextInt(1000) < profile.restores) random.nextInt(6) match {
      case 0 | 1 => loseOffsets()
      case 2 => lose("the last file of the commit log")(s"$home/commits/${last("commits")}")
      case 3 if backup.nonEmpty => restore(home, "the checkpoint")
      case 4 if backup.nonEmpty && query(backup) == query() => restore(journal, "the journal")
      case _ => newQuery()
    }
    if (random.nextInt(3) == 0) backup = of(home)
  }

  /** To get past a batch that is decided and not finished, somebody adds it to the commit log. */
  private def makeCommit(): Unit = world.inside {
    val batch = last("offsets")
    val isDecided = of(journal).exists { case (path, text) =>
      World.isDecision(path) && {
        val entry = JournalJson.read[JournalEntry](text, path)
        entry.claim.queryId == query() && entry.batch == batch &&
        new Journal(s"file:$home", SimulatedFileManager.hadoop).batches.input(batch)
          .exists(entry.input.difference(_).isEmpty)
      }
    }
    if (batch > last("commits") && isDecided) {
      isHandMade = true
      world.files += s"$home/commits/$batch" -> ""
      world.tell(s"batch $batch is added to the commit log by hand")
    }
  }

  /** A power cut, or a part of a restore. */
  private def loseOffsets(): Unit = {
    val batch = last("offsets")
    if (batch >= 0) {
      isPlannedAnew = true
      lose(s"what Spark's part has of batch $batch")(
        s"$home/offsets/$batch",
        s"$home/commits/$batch",
        s"$home/sources/0/dynamic-kafka/deferred/$batch.json"
      )
    }
  }

  /** Not so much that Spark cannot start: it plans a batch again from the end of the batch before, which it may have purged. */
  private def lose(what: String)(paths: String*): Unit = {
    val left = world.files -- paths
    val batch = last("offsets", left)
    val canStart = batch <= 0 ||
      Seq(s"$home/commits/$batch", s"$home/offsets/${batch - 1}").exists(left.contains)
    if (canStart) {
      world.files = left
      world.tell(s"$what is lost")
    }
  }

  /** All but the journal is deleted. */
  private def newQuery(): Unit = {
    world.files = world.files -- of(s"$home/").keys.filterNot(_.startsWith(journal))
    world.tell("a new query starts in the folder of the former one")
  }

  private def restore(folder: String, what: String): Unit = {
    world.files = world.files -- of(folder).keys ++ of(folder, backup)
    world.isRestored = true
    world.tell(s"$what is restored from a backup")
    // What the older files do not know may be written again.
    val decided = of(journal).collect {
      case (path, text) if World.isDecision(path) => JournalJson.read[JournalEntry](text, path)
    }.filter(_.claim.queryId == query()).map(_.batch)
    val known = math.min(last("commits"), decided.maxOption.getOrElse(-1L))
    val deferred = of(s"$home/sources/").values.flatMap(_.split(',')).filter(_.nonEmpty).map(_.toLong)
    val from = (deferred ++ Seq(endOf(known).getOrElse(0L))).min
    val before = world.excused.get(World.query(Main, query())).map(math.min(_, from))
    world.excused += World.query(Main, query()) -> before.getOrElse(from)
  }

  private def endOf(batch: Long): Option[Long] =
    world.files.get(s"$home/offsets/$batch").map(_.takeWhile(_ != ';').toLong)

  /** A copy of the checkpoint, which a query that writes to topics of its own tries out. */
  def copy(from: String, to: String): Unit = {
    val (before, after) = (s"/${world.name}/$from/", s"/${world.name}/$to/")
    world.files = world.files -- of(after).keys ++ of(before).map { case (path, text) =>
      path.replace(before, after) -> text
    }
    world.tell(s"$from is copied to $to")
  }

  /** Records of finished batches that are not visible. */
  def missing(): Option[String] = {
    val id = query()
    // A batch that a later run has planned, and fails to write, is not finished.
    val end = endOf(last("commits")).getOrElse(0L)
    val lost = (0L until end).map(World.record(Main, id, _)).filter(record =>
      world.visible(record) == 0 && !world.recreated(record)
    )
    Option.when(lost.nonEmpty)(lost.take(10).mkString(", "))
  }

  /** Whether a query may be stopped for good by this condition, in this history. */
  def mayEndWith(condition: String): Boolean = condition match {
    case "JOURNAL_CONFLICT" => isPlannedAnew || world.isRestored || profile.tasks.deferring > 0
    case "PARTIAL_COMMIT" => (!profile.replayLost && profile.changes > 0) || isHandMade
    case "TRANSACTION_UNKNOWN" => isHandMade || profile.changes > 0 || profile.mostAlive > 1
    case "REPLAY_DIFFERS" => profile.replayLost && profile.tasks.deferring > 0
    case _ => false
  }
}
