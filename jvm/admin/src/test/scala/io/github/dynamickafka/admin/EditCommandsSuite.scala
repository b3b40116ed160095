package io.github.dynamickafka.admin

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import scala.collection.immutable.{SortedMap, SortedSet}
import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.ControlThrowable

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.{Removal, Topology, TopologyCluster, TopologyTopic}
import io.github.dynamickafka.offset.replacement.{LastRecord, RecordsRead}
import io.github.dynamickafka.offset.{
  ClusterIdentity,
  CompositeOffset,
  CompositeOffsetJson,
  Deferral,
  EarlierEntries,
  Entries,
  HandOver,
  HistoryDataSource,
  HistoryFile,
  HistoryPlan,
  HistoryTable,
  LogKey,
  OffsetRange,
  Positions,
  ReadUntil,
  Retained,
  RowTimes,
  TopicEnds
}
import io.github.dynamickafka.source.checkpoint.{
  InitialOffset,
  Refusal,
  RememberedTopology,
  SourceCheckpointJson,
  SparkCheckpoint
}
import io.github.dynamickafka.storage.{InProcessFiles, RawInProcessFiles}
import io.github.dynamickafka.testkit.TimeLimit

/** `rename-cluster` and `restore`: edits of a checkpoint, which can be undone to the byte. */
class EditCommandsSuite extends AnyFunSuite with TimeLimit with Checkpoints {
  private val home = "sources/0/dynamic-kafka"
  private val sink = "dynamic-kafka-sink"
  private val some = Positions.from(Seq(("orders", 0, 4L), ("orders", 1, 7L)))
  private val ofBlue = SortedMap("blue" -> some)
  private val offset = CompositeOffset(
    SortedMap("blue" -> some, "green" -> some),
    ofBlue,
    SortedMap("blue" -> Retained.at(1L, Positions.from(Seq(("former", 0, 9L))), Set("gone"))),
    ReadUntil(ofBlue, SortedMap("blue" -> SortedMap("orders" -> TopicEnds("latest", SortedMap(0 -> 9L))))),
    SortedMap("blue" -> ClusterIdentity(Some("kafka"), SortedMap("orders" -> "id"))),
    Vector(EarlierEntries("digest", Entries(ofBlue, ofBlue))),
    SortedMap("orders" -> 1L)
  )
  private val simple = CompositeOffset(ofBlue)

  private val topology = {
    def cluster(id: String, replaces: Option[String]) = TopologyCluster(
      id,
      SortedMap("orders" -> TopologyTopic("orders")),
      Map("bootstrap.servers" -> s"$id:9092"),
      replaces = replaces
    )
    val all = SortedMap("blue" -> cluster("blue", None), "green" -> cluster("green", Some("blue")))
    RememberedTopology(
      Topology(all, SortedMap("blue" -> Removal(SortedSet("former"), Set.empty))),
      Topology(all),
      SortedMap("cluster.blue.maxOffsetsPerTrigger" -> "5", "streamIds" -> "orders")
    )
  }

  private val initial = {
    val table = HistoryTable(
      HistoryDataSource("json", "/p", Map.empty, "{}"),
      Some("blue"),
      None,
      Vector(HistoryFile("/p/0", 1, 2, SortedMap("blue" -> RowTimes(1, 2)))),
      ofBlue
    )
    InitialOffset(
      simple,
      Set("blue"),
      Map("blue" -> Set("orders")),
      Some(HistoryPlan(
        SortedMap("orders" -> table),
        HandOver(ofBlue, ofBlue, SortedMap("blue" -> SortedMap("orders" -> 5L)))
      ))
    )
  }

  /** Of version 2 of the journal. */
  private def decision(batch: Int) =
    s"""{"version":2,"claim":{"queryId":"q","run":"r","instance":"i","generation":3,"location":"l"},"batch":$batch,"round":0,"input":{"digests":{}},"transactions":[""" +
      Seq("blue", "green").map(id =>
        s"""{"cluster":"$id","transactionalId":"p-q-i-3-$id-0.1-0-0.0","producerId":1,"epoch":2,"partition":0,"rows":4,"topics":["t"]}"""
      ).mkString(",") + """],"clusters":{"blue":{"kafkaId":null,"properties":{"bootstrap.servers":"blue:9092"},"topicIds":{}},""" +
      """"green":{"kafkaId":"g","properties":{},"topicIds":{"t":"1"}}},"leftOut":["blue"]}"""

  /** A checkpoint whose newest batch is finished, with all files that it may contain. */
  private def checkpoint(): Path = {
    val folder = newFolder().resolve("checkpoint")
    Seq(0, 1).foreach(log(folder, _, offset.json))
    def put(name: String, text: String) = write(folder.resolve(name), text)
    put("metadata", "{}")
    Seq("offsets/.1.crc", ".metadata.crc", s"$home/.latest.json.crc").foreach(put(_, "crc\u0000\u0001"))
    Seq("latest.json", "entries.json").foreach(name => put(s"$home/$name", simple.json))
    Seq(0, 1).foreach(n => put(s"$home/topology/$n.json", SourceCheckpointJson.topology.write(topology)))
    put(s"$home/initial.json", SourceCheckpointJson.initial.write(initial))
    val read = RecordsRead(Map(LogKey("blue", "orders", 0) -> LastRecord(7, 3)))
    put(s"$home/read.json", SourceCheckpointJson.recordsRead.write(read))
    val deferral = Deferral(
      "start",
      "end",
      SortedMap("blue" -> Seq(OffsetRange("orders", 0, 1, 2))),
      SortedMap("blue" -> ClusterIdentity(Some("kafka")))
    )
    put(s"$home/deferred/0.json", SourceCheckpointJson.deferral.write(deferral))
    put(s"$home/deferred/0.entered", "")
    Seq(0, 1).foreach { batch =>
      put(s"$sink/$batch-0.json", decision(batch))
      put(s"$sink/$batch-0.done", sha256(decision(batch)))
    }
    put(
      s"$sink/slot-0a.json",
      """{"version":2,"slot":"p-q-i-3","cluster":"blue","producerId":1,"epoch":1}"""
    )
    put(
      s"$sink/run-5.json",
      """{"version":2,"queryId":"q","run":"r","instance":"i","generation":5,"location":"blue"}"""
    )
    folder
  }

  private def rename(checkpoint: Path, old: String, now: String, more: String*): CommandLine.Reply =
    done(Seq("rename-cluster", s"$checkpoint", old, now) ++ more: _*)

  /** The folder of the only edit. */
  private def editOf(checkpoint: Path): Path = {
    val folder = checkpoint.resolve("dynamic-kafka-edits")
    Option(folder.toFile.list).fold(folder)(found => folder.resolve(found.toSeq.head))
  }

  private def ofQuery(checkpoint: Path) =
    files(checkpoint).filterNot(_._1.startsWith("dynamic-kafka-edits/"))

  test("a cluster is renamed everywhere, and nothing else changes") {
    val folder = checkpoint()
    val before = files(folder)
    val found = rename(folder, "blue", "azure", "--json").json
    val ofSource = Seq("deferred/0.json", "entries.json", "initial.json", "latest.json", "read.json") ++
      Seq("topology/0.json", "topology/1.json")
    val ofSink = Seq("0-0.done", "0-0.json", "1-0.done", "1-0.json", "slot-0a.json")
    val changed = ofSource.map(name => s"$home/$name") ++ ofSink.map(name => s"$sink/$name") :+ "offsets/1"
    assert(Seq("batch", "old", "new").map(found.get(_).asText) == Seq("1", "blue", "azure"))
    assert(found.get("files").elements.asScala.map(_.asText).toSeq == changed.sorted)
    val after = ofQuery(folder)
    changed.filterNot(_.endsWith(".done")).foreach { name =>
      val text = read(folder.resolve(name))
      assert(text.contains("\"azure\"") && !text.contains("\"blue\"") && !text.contains(".blue."), text)
    }
    // The connector compares the mark with the digest of the decision.
    assert(read(folder.resolve(s"$sink/1-0.done")) == sha256(read(folder.resolve(s"$sink/1-0.json"))))
    assert(read(folder.resolve(s"$sink/1-0.json")).contains("\"transactionalId\":\"p-q-i-3-blue-0.1-0-0.0\""))
    assert(CompositeOffsetJson.read(logged(folder, 1).head).identity("azure") == offset.identity("blue"))
    // Spark would refuse the file with the checksum of its former content.
    val sums = Seq("offsets/.1.crc", s"$home/.latest.json.crc")
    assert(before.removedAll(changed ++ sums) == after.removedAll(changed))
    // The codecs lose nothing.
    rename(folder, "azure", "blue")
    assert(ofQuery(folder) == before.removedAll(sums))
    assert(done("rename-cluster", s"$folder", "green", "emerald").out.linesIterator.toSeq.take(2) == Seq(
      "after batch 1, cluster green is emerald in",
      s"  $sink/0-0.done"
    ))
  }

  test("no file of the source is left out") {
    val sources =
      Path.of(sys.props("dynamickafka.root"), "jvm/connector/src/main/scala/io/github/dynamickafka/source")
    val written = """new Path\(home, "([^"]+)"\)""".r
    val names = Using.resource(Files.walk(sources))(_.iterator.asScala.filter(_.toString.endsWith(".scala"))
      .flatMap(file => written.findAllMatchIn(read(file)).map(_.group(1))).toSet)
    assert(names.size >= 6)
    names.foreach(name =>
      assert(
        new ClusterRename("a", "b").inSource(if (name.endsWith(".json")) name else s"$name/0.json").nonEmpty,
        name
      )
    )
  }

  test("a log of version 2: the folders of sources are their names, also of one that looks like a number") {
    Seq("first", "01").foreach { name =>
      val folder = checkpoint()
      Files.move(folder.resolve("sources/0"), folder.resolve(s"sources/$name"))
      write(folder.resolve("offsets/1"), s"v2\n{}\n1:{\"orders\":{\"0\":7}}\n$name:${offset.json}")
      val found = rename(folder, "blue", "azure", "--json").json.get("files").toString
      assert(found.contains(s"sources/$name/dynamic-kafka/initial.json"))
      val now = read(folder.resolve("offsets/1")).split("\n")
      assert(now.toSeq.take(3) == Seq("v2", "{}", "1:{\"orders\":{\"0\":7}}"))
      assert(now(3) == s"$name:${new ClusterRename("blue", "azure").offset(offset.json)}")
    }
  }

  test("a large offset, which is packed") {
    val folder = checkpoint()
    val many = Positions.from((0 until 20000).map(p => ("orders", p, p.toLong)))
    val packed = CompositeOffset(SortedMap("blue" -> many, "green" -> some)).json
    assert(packed.contains("\"packed\""))
    log(folder, 1, packed)
    rename(folder, "blue", "azure")
    assert(CompositeOffsetJson.read(logged(folder, 1).head).clusters == SortedMap(
      "azure" -> many,
      "green" -> some
    ))
  }

  test("what is refused, and nothing is changed") {
    def refused(damage: Path => Any, says: String, old: String = "blue", now: String = "azure"): Unit = {
      val folder = checkpoint()
      damage(folder)
      val before = files(folder)
      assert(why("rename-cluster", s"$folder", old, now).contains(says.replace("{c}", s"$folder")))
      assert(files(folder) == before, says)
    }
    def nothing(folder: Path) = folder
    refused(
      c => Files.delete(c.resolve("commits/1")),
      "batch 1 of {c} is logged and not finished: start the query once more, with availableNow"
    )
    refused(nothing, "batch 1 of {c} has no cluster 'blu'. Did you mean 'blue'?", old = "blu")
    refused(nothing, "batch 1 of {c} has a cluster 'green' already", now = "green")
    refused(nothing, "'a b' is not a valid cluster id", now = "a b")
    refused(
      c => Files.delete(c.resolve(s"$sink/1-0.done")),
      s"{c}/$sink/1-0.json: the decision is not finished. Start the query once more, or close"
    )
    refused(
      c => write(c.resolve(s"$sink/1-0.json"), """{"version":3}"""),
      s"{c}/$sink/1-0.json is damaged, or of another version"
    )
    refused(
      c => write(c.resolve(s"$home/topology/1.json"), "{"),
      "topology/1.json is damaged, or of another version"
    )
    refused(
      c =>
        write(
          c.resolve(s"$home/deferred/1.json"),
          SourceCheckpointJson.deferral.write(Deferral("", sha256(offset.json), SortedMap.empty))
        ),
      "records of batch 1 of {c} are deferred, and not read yet: start the query once more"
    )
    refused(log(_, 1, """{"orders":{"0":7}}"""), "batch 1 of {c} has no offset of a dynamic-kafka source")
  }

  test("restore undoes edits to the byte, one after the other") {
    val folder = checkpoint()
    val states = Seq("blue" -> "azure", "green" -> "emerald", "azure" -> "blue").map { case (old, now) =>
      val state = files(folder)
      rename(folder, old, now)
      state
    }
    // A start takes the file, and a stop leaves another one.
    write(folder.resolve(s"$home/latest.json"), CompositeOffset.empty.json)
    states.reverse.foreach { state =>
      assert(done("restore", s"$folder").out.startsWith("undone: rename-cluster "))
      assert(files(folder) == state)
    }
    assert(!Files.exists(folder.resolve("dynamic-kafka-edits")))
    assert(why("restore", s"$folder") == s"there is no edit of $folder that can be undone")
    val changed = rename(folder, "blue", "azure", "--json").json.get("files")
    val found = done("restore", s"$folder", "--json").json
    assert(found.get("edit").asText == "rename-cluster blue azure" && found.get("batch").asInt == 1)
    assert(found.get("files") == changed)
  }

  test("what is not undone") {
    def refused(damage: Path => Any, says: String): Unit = {
      val folder = checkpoint()
      rename(folder, "blue", "azure")
      damage(folder)
      val before = files(folder)
      val expected = says.replace("{c}", s"$folder").replace("{n}", s"${editOf(folder).getFileName}")
      assert(why("restore", s"$folder").contains(expected))
      assert(files(folder) == before)
    }
    refused(
      log(_, 2, simple.json),
      "it was made after batch 1, and the query has logged batch 2 since"
    )
    refused(c => Files.delete(c.resolve("commits/1")), "batch 1 of {c} is logged and not finished")
    refused(c => write(c.resolve(s"$sink/slot-0a.json"), "{}"), s"$sink/slot-0a.json has changed since")
    refused(
      c => write(editOf(c).resolve(s"before/$sink/slot-0a.json"), "{}"),
      s"'before/$sink/slot-0a.json' in dynamic-kafka-edits/{n} is damaged"
    )
    Seq("{", "{}", "[]", """{"version":2}""").foreach(text =>
      refused(
        c => write(editOf(c).resolve("edit.json"), text),
        "{c}/dynamic-kafka-edits/{n} is not an edit that this program wrote"
      )
    )
  }

  test(
    "names in the description of an edit are checked: no file outside of the checkpoint, and no other file, is changed"
  ) {
    Seq(
      "../x",
      "offsets/../../x",
      "sources/0/dynamic-kafka/../../../../x",
      "sources/../../x/dynamic-kafka/y",
      "dynamic-kafka-sink/..",
      "/tmp/x",
      "file:/tmp/x",
      "metadata",
      "dynamic-kafka-edits/1/done",
      ""
    ).foreach { name =>
      val folder = checkpoint()
      val outside = write(folder.resolveSibling("x"), "mine")
      write(
        folder.resolve("dynamic-kafka-edits/1/edit.json"),
        s"""{"version":1,"command":"c","batch":1,"files":{"$name":{"before":null,"after":"${sha256(
            "mine"
          )}"}}}"""
      )
      write(folder.resolve("dynamic-kafka-edits/1/done"), "")
      val before = files(folder)
      assert(why("restore", s"$folder").contains("is not an edit that this program wrote"), name)
      assert(read(outside) == "mine" && files(folder) == before)
    }
  }

  test("links in a checkpoint are refused: what they lead to is neither read nor changed") {
    Seq("sources/0/dynamic-kafka/topology", "dynamic-kafka-sink", "sources/0", "offsets/1").foreach { name =>
      val folder = checkpoint()
      val outside = folder.resolveSibling("outside")
      Files.move(folder.resolve(name), outside)
      Files.createSymbolicLink(folder.resolve(name), outside)
      val before =
        if (Files.isDirectory(outside)) files(outside) else SortedMap("" -> Files.readAllBytes(outside).toSeq)
      Seq(Seq("rename-cluster", s"$folder", "blue", "azure"), Seq("restore", s"$folder")).foreach(command =>
        assert(why(command: _*).contains(s"$folder/$name is a symbolic link"))
      )
      assert(before ==
        (if (Files.isDirectory(outside)) files(outside)
         else SortedMap("" -> Files.readAllBytes(outside).toSeq)))
    }
    // The checkpoint itself may be one.
    val folder = checkpoint()
    val link = Files.createSymbolicLink(folder.resolveSibling("link"), folder)
    rename(link, "blue", "azure")
    done("restore", s"$link")
  }

  test("files keep their mode and their owner, in the edit and in its undoing") {
    val folder = checkpoint()
    val names = Seq("offsets/1", s"$home/read.json", "offsets/.1.crc").map(folder.resolve)
    val mode = PosixFilePermissions.fromString("rw-r-----")
    val isRoot = System.getProperty("user.name") == "root"
    names.foreach { file =>
      Files.setPosixFilePermissions(file, mode)
      if (isRoot) Seq("unix:uid", "unix:gid").foreach(Files.setAttribute(file, _, 12345))
    }
    def access = names.filter(Files.exists(_))
      .map(file => (Files.getPosixFilePermissions(file), Files.getAttribute(file, "unix:uid")))
    val before = access
    rename(folder, "blue", "azure")
    assert(access == before.take(2))
    done("restore", s"$folder")
    assert(access == before)
  }

  private object Killed extends ControlThrowable

  /** A process that ends before the n-th file gets its name. */
  private def killedAt(n: Int, folder: Path)(body: => Any): Boolean = {
    var count = 0
    RawInProcessFiles.renaming = to =>
      if (to.toUri.getPath.startsWith(s"$folder/")) {
        count += 1
        if (count == n) throw Killed
      }
    try {
      body
      false
    } catch { case Killed => true }
    finally RawInProcessFiles.renaming = _ => ()
  }

  private def opened(folder: Path): (CheckpointFiles, SparkCheckpoint) = {
    val hadoop = new Configuration
    hadoop.set("fs.file.impl", classOf[InProcessFiles].getName)
    hadoop.setBoolean("fs.file.impl.disable.cache", true)
    (new CheckpointFiles(s"$folder", hadoop), SparkCheckpoint(s"$folder", hadoop))
  }

  private def edit(folder: Path): Unit = {
    val (files, log) = opened(folder)
    new CheckpointEdit(log, files)(
      "rename-cluster blue azure",
      "me",
      1L,
      ClusterRename.changes(files, log, log.newestFinished(), "blue", "azure")
    )
  }

  private def restore(folder: Path): Unit = {
    val (files, log) = opened(folder)
    val _ = new CheckpointEdit(log, files).restore()
  }

  test("wherever an edit or its undoing is interrupted, restore gives the former files") {
    def run(action: Path => Unit, prepare: Path => Unit) = (1 to 40).takeWhile { step =>
      val folder = checkpoint()
      val before = files(folder)
      prepare(folder)
      val killed = killedAt(step, folder)(action(folder))
      if (killed && Files.exists(editOf(folder).resolve("edit.json"))) {
        val interrupted = "was interrupted, or its undoing: run 'restore' first"
        assert(why("rename-cluster", s"$folder", "green", "emerald").contains(interrupted))
        val to = folder.resolveSibling("new")
        assert(why("migrate", s"$folder", "--to", s"$to", "--to-kafka").contains(interrupted))
        restore(folder)
      }
      if (killed) assert(ofQuery(folder) == before, s"step $step")
      killed
    }.size
    // The description of the edit, and each file but the checksums, which are deleted.
    assert(run(edit, _ => ()) == 14)
    assert(run(restore, edit) == 15)
  }

  test("a checkpoint that changes meanwhile is not edited, and nothing is left of the edit") {
    val folder = checkpoint()
    val before = files(folder)
    val (all, log) = opened(folder)
    val text = read(folder.resolve("offsets/1"))
    def apply(planned: String, batch: Long) = intercept[Refusal](
      new CheckpointEdit(log, all)("c", "me", batch, SortedMap("offsets/1" -> (planned -> "new")))
    ).getMessage
    val says = s"$folder has changed meanwhile: stop its query first"
    assert(apply(text, batch = 0L) == says && apply("other", batch = 1L) == says)
    assert(files(folder) == before)
  }
}
