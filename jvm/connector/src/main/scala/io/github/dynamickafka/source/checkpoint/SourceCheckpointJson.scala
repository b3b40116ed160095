package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.{SortedMap, SortedSet}
import scala.util.control.NonFatal

import io.github.dynamickafka.config.OffsetsParser
import io.github.dynamickafka.error.{DynamicKafkaRuntimeException, Errors}
import io.github.dynamickafka.metadata.{
  OffsetsPolicy,
  Removal,
  Topology,
  TopologyCluster,
  TopologyPattern,
  TopologyTopic
}
import io.github.dynamickafka.offset.JsonForm._
import io.github.dynamickafka.offset.replacement.{LastRecord, RecordsRead}
import io.github.dynamickafka.offset.{
  CompositeOffset,
  CompositeOffsetJson,
  Deferral,
  HandOver,
  HistoryDataSource,
  HistoryFile,
  HistoryPlan,
  HistoryTable,
  JsonForm,
  LogKey,
  OffsetForms,
  OffsetRange,
  Positions,
  RowTimes
}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs

/** The forms of the files of [[SourceCheckpoint]], all of one version. */
private[dynamickafka] object SourceCheckpointJson {
  private val Version = 1

  /** A file with a value of this type. Rejects any other version. */
  final class File[A] private[SourceCheckpointJson] (form: JsonForm[A]) {
    def write(value: A): String = form.text(value)

    /** @param file the path of the file, for errors */
    def read(text: String, file: String): A = {
      def damaged(reason: String, cause: Throwable = null) =
        Errors.invalidOffset(s"the file $file is damaged: $reason", cause)
      val root =
        try JsonForm.mapper.readTree(text)
        catch { case NonFatal(e) => throw damaged("it is not JSON", e) }
      if (!root.isObject) throw damaged("it is not a JSON object")
      if (root.path("version").asInt(-1) != Version)
        throw Errors.unknownOffsetVersion(s"The file $file", root.path("version").asText("none"), Version)
      try form.read(root, "")
      catch {
        case e: DynamicKafkaRuntimeException if !isOtherVersion(e) =>
          throw damaged(Option(e.getMessageParameters.get("reason")).getOrElse(e.getMessage), e)
        case NonFatal(e) if !isOtherVersion(e) => throw damaged("a part is missing or has another type", e)
      }
    }
  }

  private[checkpoint] def isOtherVersion(e: Throwable): Boolean = e match {
    case e: DynamicKafkaRuntimeException => e.getCondition.endsWith(".UNKNOWN_OFFSET_VERSION")
    case _ => false
  }

  private def versioned[A](fields: (Fields, A) => A): JsonForm[A] = record[A] { (f, of) =>
    val _ = f("version", Version.toLong)(number)
    fields(f, of)
  }

  private val policy: JsonForm[OffsetsPolicy] = text.as(
    OffsetsParser.starting(_).fold(reason => throw Errors.invalidOffset(reason), identity)
  )(OffsetsParser.render)

  private def topicOf(f: Fields, of: => TopologyTopic) = TopologyTopic(
    f("stream", of.stream)(text),
    f.orElse("draining", of.draining, false)(flag),
    f.maybe("startingOffsets", of.startingOffsets)(policy),
    f.maybe("stoppingOffsets", of.stoppingOffsets)(policy),
    f.maybe("partitions", of.partitions)(
      seq(number).as(all => SortedSet.from(all.map(_.toInt)))(_.toVector.map(_.toLong))
    ),
    f.orElse("matched", of.matched, false)(flag),
    f.orElse(
      "registry",
      of.registry.filter { case (name, value) => RegistryOptionSpecs.isStorable(name, value) },
      Map.empty[String, String]
    )(textByName)
  )

  private def cluster(id: String) = record[TopologyCluster]((f, of) =>
    TopologyCluster(
      id,
      properties = f("properties", of.properties)(textByName),
      withheld = f.orElse("withheld", of.withheld, Set.empty[String])(texts),
      replaces = f.maybe("replaces", of.replaces)(text),
      topics = f("topics", of.topics)(byName(record(topicOf(_, _)))),
      patterns = f.orElse("patterns", of.patterns.toVector, Vector.empty[TopologyPattern])(
        seq(record((f, of) => TopologyPattern(f("regex", of.regex)(text), topicOf(f, of.topic))))
      )
    )
  )

  private val clusters: JsonForm[Topology] = byNames(cluster).as(Topology(_))(_.clusters)

  private val removal = record[Removal]((f, of) =>
    Removal(
      all = f("all", of.all)(flag),
      topics = f("topics", of.topics)(texts.as(SortedSet.from(_))(_.toSet)),
      patterns = f("patterns", of.patterns)(texts)
    )
  )

  val topology: File[RememberedTopology] = new File(versioned[RememberedTopology] { (f, of) =>
    val current = f("current", of.current)(clusters)
    val former = f("former", of.former)(clusters)
    val removals =
      f.orElse("removed", of.current.removals, SortedMap.empty[String, Removal])(byName(removal))
    RememberedTopology(current.copy(removals = removals), former, f("options", of.options)(byName(text)))
  })

  private val rowTimes = record[RowTimes]((f, of) =>
    RowTimes(f("least", of.least)(integer), f("greatest", of.greatest)(integer))
  )

  private val historyFile = record[HistoryFile]((f, of) =>
    HistoryFile(
      f("path", of.path)(text),
      f("least", of.least)(integer),
      f("greatest", of.greatest)(integer),
      f.orElse("clusters", of.clusters, SortedMap.empty[String, RowTimes])(byName(rowTimes))
    )
  )

  /** Offsets and times, also of [[HistoryTable.AnyPartition]]. */
  private val byCluster = new OffsetForms(partitions(HistoryTable.AnyPartition, integer)).byCluster

  private val historyTable = record[HistoryTable]((f, of) =>
    HistoryTable(
      HistoryDataSource(
        f("format", of.source.format)(text),
        f("path", of.source.path)(text),
        f("options", of.source.options)(textByName),
        f("schema", of.source.schema)(text)
      ),
      f.maybe("cluster", of.cluster)(text),
      f.maybe("topic", of.topic)(text),
      f("files", of.files)(seq(historyFile)),
      f("ends", of.ends)(byCluster)
    )
  )

  private val history = record[HistoryPlan]((f, of) =>
    HistoryPlan(
      f("streams", of.tables)(byName(historyTable)),
      HandOver(
        f("offsets", of.handOver.offsets)(byCluster),
        f("times", of.handOver.times)(byCluster),
        f("topicTimes", of.handOver.topicTimes)(byName(byName(integer)))
      )
    )
  )

  val initial: File[InitialOffset] = new File(versioned[InitialOffset]((f, of) =>
    InitialOffset(
      f("offset", of.offset)(CompositeOffsetJson.form),
      f("unresolved", of.unresolved)(texts),
      f.orElse("unresolvedTopics", of.unresolvedTopics, Map.empty[String, Set[String]])(
        byName(texts).as(_.toMap)(SortedMap.from(_))
      ),
      f.maybe("history", of.history)(history)
    )
  ))

  /** Positions as composite offsets, which are packed if they are large. */
  private val positions: JsonForm[SortedMap[String, Positions]] =
    CompositeOffsetJson.form.as(_.clusters)(CompositeOffset(_))

  /** The last records that were read. */
  val recordsRead: File[RecordsRead] = new File(
    versioned[(SortedMap[String, Positions], SortedMap[String, Positions])]((f, of) =>
      (f("offsets", of._1)(positions), f("times", of._2)(positions))
    ).as { case (offsets, times) =>
      RecordsRead((for {
        (id, ofCluster) <- offsets.iterator
        (topic, p, offset) <- ofCluster.iterator
      } yield LogKey(id, topic, p) -> LastRecord(offset, times(id).get(topic, p).get)).toMap)
    } { read =>
      def part(value: LastRecord => Long) = Positions.byCluster(read.partitions.iterator.map {
        case (key, last) => (key.cluster, key.topic, key.partition, value(last))
      })
      (part(_.offset), part(_.time))
    }
  )

  /** A deferral: its start and its end as composite offsets, with the identities of their logs. */
  val deferral: File[Deferral] = new File(
    versioned[(String, String, CompositeOffset, SortedMap[String, Positions])]((f, of) =>
      (
        f("start", of._1)(text),
        f("end", of._2)(text),
        f("from", of._3)(CompositeOffsetJson.form),
        f("until", of._4)(positions)
      )
    ).as { case (start, end, from, until) =>
      Deferral(
        start,
        end,
        from.clusters.map { case (id, starts) =>
          id -> starts.iterator.map { case (topic, p, at) =>
            OffsetRange(topic, p, at, until(id).get(topic, p).get, from.identity(id).epochs.get(topic, p))
          }.toSeq
        },
        from.identities.map { case (id, of) => id -> of.copy(epochs = Positions.empty) }.filterNot(
          _._2.isEmpty
        )
      )
    } { of =>
      val from = of.reached(CompositeOffset.empty.copy(identities = of.identities))
      (of.start, of.end, from, of.numbers(range => Some(range.until)))
    }
  )
}
