package io.github.dynamickafka.admin

import scala.collection.immutable.SortedMap
import scala.util.control.NonFatal

import io.github.dynamickafka.metadata.Topology
import io.github.dynamickafka.offset.replacement.RecordsRead
import io.github.dynamickafka.offset.{
  CompositeOffset,
  CompositeOffsetJson,
  Entries,
  HandOver,
  HistoryPlan,
  ReadUntil
}
import io.github.dynamickafka.option.{ClusterKeys, Suggestions}
import io.github.dynamickafka.sink.commit.{BatchInput, JournalJson}
import io.github.dynamickafka.source.checkpoint.{
  InitialOffset,
  LoggedBatch,
  Refusal,
  RememberedTopology,
  SourceCheckpointJson,
  SparkCheckpoint
}

/** What becomes of the files in a checkpoint when a cluster gets another id. Pure. */
private[admin] final class ClusterRename(old: String, now: String) {

  def offset(text: String): String = renamed(CompositeOffsetJson.read(text)).json

  /** How a file in the folder of a source is renamed; None: it has no ids of clusters. */
  def inSource(file: String): Option[(String, String) => String] = file match {
    // A start reads the newest topology, or an earlier one if that is damaged.
    case name if name.matches("topology/\\d+\\.json") => of(SourceCheckpointJson.topology)(renamed)
    case name if name.matches("deferred/\\d+\\.json") =>
      of(SourceCheckpointJson.deferral)(deferral =>
        deferral.copy(ranges = keys(deferral.ranges), identities = keys(deferral.identities))
      )
    case "initial.json" => of(SourceCheckpointJson.initial)(renamed)
    case "read.json" => of(SourceCheckpointJson.recordsRead)(read =>
        RecordsRead(read.partitions.map { case (key, at) => key.copy(cluster = id(key.cluster)) -> at })
      )
    case "entries.json" | "latest.json" => Some((text, _) => offset(text))
    case _ => None
  }

  private def of[A](file: SourceCheckpointJson.File[A])(change: A => A): Option[(String, String) => String] =
    Some((text, where) => file.write(change(file.read(text, where))))

  def id(cluster: String): String = if (cluster == old) now else cluster

  private def keys[A](all: SortedMap[String, A]): SortedMap[String, A] =
    all.map { case (cluster, value) => id(cluster) -> value }

  /** The offset with the new id: the same object, which keeps its text, if the offset does not have the cluster. */
  private def renamed(offset: CompositeOffset): CompositeOffset = {
    val found = offset.copy(
      keys(offset.clusters),
      keys(offset.entered),
      keys(offset.retained).map { case (cluster, kept) =>
        cluster -> kept.map((_, of) => of.copy(former = of.former.map(f => f.copy(id = id(f.id)))))
      },
      ReadUntil(keys(offset.draining), keys(offset.ends)),
      keys(offset.identities),
      offset.earlier.map(e => e.copy(entries = Entries(keys(e.entries.positions), keys(e.entries.epochs))))
    )
    if (found == offset) offset else found
  }

  private def renamed(topology: RememberedTopology): RememberedTopology = RememberedTopology(
    renamed(topology.current),
    renamed(topology.former),
    // Ids may contain dots: the name of the option is what follows the last one.
    topology.options.map { case (name, value) =>
      val dot = name.lastIndexOf('.')
      (if (dot > 0 && name.take(dot) == s"cluster.$old") s"cluster.$now${name.drop(dot)}" else name) -> value
    }
  )

  private def renamed(topology: Topology): Topology = topology.copy(
    clusters = keys(topology.clusters).map { case (cluster, of) =>
      cluster -> of.copy(id = cluster, replaces = of.replaces.map(id))
    },
    removals = keys(topology.removals)
  )

  private def renamed(initial: InitialOffset): InitialOffset = initial.copy(
    renamed(initial.offset),
    initial.unresolved.map(id),
    initial.unresolvedTopics.map { case (cluster, topics) => id(cluster) -> topics },
    initial.history.map { plan =>
      val (tables, next) = (plan.tables, plan.handOver)
      HistoryPlan(
        tables.map { case (stream, table) =>
          stream -> table.copy(
            cluster = table.cluster.map(id),
            files = table.files.map(file => file.copy(clusters = keys(file.clusters))),
            ends = keys(table.ends)
          )
        },
        HandOver(keys(next.offsets), keys(next.times), keys(next.topicTimes))
      )
    }
  )
}

private[admin] object ClusterRename {
  private val Journal = SparkCheckpoint.SinkJournal

  /**
   * The files that change, with what they are and what they become.
   *
   * @param newest the newest batch, which is finished
   * @throws Refusal if the id is not known, or the new one cannot be used
   */
  def changes(
      files: CheckpointFiles,
      log: SparkCheckpoint,
      newest: LoggedBatch,
      old: String,
      now: String
  ): SortedMap[String, (String, String)] = {
    checkId(now)
    val where = s"batch ${newest.number} of ${files.location}"
    val offsets = log.composite(newest)
    val known = offsets.flatMap { case (_, o) =>
      o.clusters.keySet ++ o.retained.keySet ++ o.draining.keySet ++ o.identities.keySet
    }.toSet
    if (!known(old)) throw new Refusal(
      s"$where has no cluster '$old'.${Suggestions.didYouMean(old, known)}"
    )
    if (known(now)) throw new Refusal(s"$where has a cluster '$now' already")
    offsets.foreach { case (source, offset) => log.refuseDeferred(source, offset, newest) }
    val rename = new ClusterRename(old, now)
    def changed(name: String)(change: (String, String) => String): (String, (String, String)) = {
      val text = files.text(name).getOrElse(throw new Refusal(s"$name of ${files.location} was deleted"))
      try name -> (text -> change(text, s"${files.location}/$name"))
      catch {
        case NonFatal(e) =>
          throw new Refusal(s"${files.location}/$name is damaged, or of another version", e)
      }
    }
    val ofSources = for {
      (source, _) <- offsets
      home = s"sources/${source.name}/dynamic-kafka"
      folder <- Seq("", "topology/", "deferred/")
      name <- files.names(s"$home/$folder".stripSuffix("/"))
      change <- rename.inSource(folder + name)
    } yield changed(s"$home/$folder$name")(change)
    val ofSink = files.names(Journal).flatMap {
      case name if name.matches("\\d+-\\d+\\.json") =>
        val mark = s"$Journal/${name.stripSuffix(".json")}.done"
        if (!files.exists(mark)) throw new Refusal(
          s"${files.location}/$Journal/$name: the decision is not finished. Start the query once more, or close the decision with " +
            "'resolve'"
        )
        val decision = changed(s"$Journal/$name")(JournalJson.renamedDecision(_, _)(rename.id))
        val (before, after) = decision._2
        // The mark has the digest of the decision.
        if (before == after) Nil else Seq(decision, changed(mark)((_, _) => BatchInput.digest(after)))
      case name if name.matches("slot-\\w+\\.json") =>
        Seq(changed(s"$Journal/$name")(JournalJson.renamedSlot(_, _)(rename.id)))
      case _ => Nil
    }
    val entry = s"offsets/${newest.number}" ->
      (newest.written -> newest.text(offsets.map { case (source, o) =>
        source -> rename.offset(o.json)
      }.toMap))
    SortedMap.from((ofSources ++ ofSink :+ entry).filter { case (_, (before, after)) => before != after })
  }

  /** @throws Refusal if metadata could not have a cluster with this id */
  def checkId(id: String): Unit = if (!ClusterKeys.isClusterId(id))
    throw new Refusal(s"'$id' is not a valid cluster id: ${ClusterKeys.Rule}")
}
