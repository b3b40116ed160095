package io.github.dynamickafka.admin

import java.io.OutputStream
import java.net.URI
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{FSDataInputStream, FileStatus, Path => HadoopPath, RawLocalFileSystem}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.{CompositeOffsetJson, Positions}
import io.github.dynamickafka.source.checkpoint.{LoggedBatch, Refusal}
import io.github.dynamickafka.testkit.TimeLimit

/** `migrate`: checkpoints of Spark's own Kafka source, as Spark has written them, and back. */
class MigrateCommandSuite extends AnyFunSuite with TimeLimit with Checkpoints {

  private val clusters = Map(
    "several-sources" -> Seq("0=blue", "2=green"),
    "offsets-2" -> Seq("0=blue", "2=green"),
    "names" -> Seq("second=blue", "first=green"),
    "aggregation" -> Seq("blue"),
    "commits-2" -> Seq("blue")
  )

  private def clustersOf(form: String) =
    clusters(form.take(form.lastIndexOf('-'))).flatMap(id => Seq("--cluster", id))

  private def batch(checkpoint: Path, number: Int) =
    LoggedBatch.read(number.toLong, read(checkpoint.resolve(s"offsets/$number")), "")

  golden.toFile.list.toSeq.sorted.foreach { form =>
    test(s"there and back, with all files of others: $form") {
      val (home, before) = (newFolder(), files(golden.resolve(form)))
      val (there, back) = (home.resolve("new"), home.resolve("back"))
      val found =
        done(Seq("migrate", s"${golden.resolve(form)}", "--to", s"$there", "--json") ++ clustersOf(form): _*)
      assert(found.err.isEmpty && found.json.get("batch").asInt == 2 && !found.json.get("dry_run").asBoolean)
      val again = done("migrate", s"$there", "--to", s"$back", "--to-kafka", "--json")
      assert(again.json == found.json && files(golden.resolve(form)) == before)
      (0 to 2).foreach { number =>
        val (was, moved, now) =
          (batch(golden.resolve(form), number), batch(there, number), batch(back, number))
        Seq(moved, now).foreach { b =>
          assert(b.version == was.version && b.metadata == was.metadata)
          assert(b.offsets.map(_._1) == was.offsets.map(_._1))
        }
        was.offsets.zip(moved.offsets).zip(now.offsets).foreach {
          case (((source, text), (_, composite)), (_, plain)) =>
            LoggedBatch.kafka(text.get) match {
              case None => assert(composite == text && plain == text)
              case Some(positions) =>
                val Seq(cluster) = found.json.get("sources").elements.asScala
                  .filter(_.get("source").asText == source.name).map(_.get("cluster").asText).toSeq
                assert(CompositeOffsetJson.read(composite.get).clusters.toMap == Map(cluster -> positions))
                assert(plain.flatMap(LoggedBatch.kafka).contains(positions))
            }
        }
      }
      val kept = before.filterNot { case (name, _) => name.matches("(offsets|sources)/.*") }
      assert(kept.contains("metadata") && kept.contains("commits/2"))
      // Checksums of Spark's file system would be those of the former offsets.
      assert(files(there).removedAll((0 to 2).map(n => s"offsets/$n")) == kept)
      assert(home.toFile.list.toSet == Set("new", "back"))
    }
  }

  test("text, and JSON of a dry run, which writes nothing") {
    val checkpoint = old()
    val to = checkpoint.resolveSibling("a").resolve("b")
    val before = files(checkpoint.getParent)
    val dry = done("migrate", s"$checkpoint", "--to", s"$to", "--cluster", "blue", "--dry-run")
    assert(dry.out.startsWith(
      s"the query would continue in $to after batch 2, at these offsets\n\nsource  cluster"
    ))
    assert(!Files.exists(to.getParent) && files(checkpoint.getParent) == before)
    assert(done(
      "migrate",
      s"$checkpoint",
      "--to",
      s"$to",
      "--cluster",
      "blue"
    ).out.linesIterator.toSeq == Seq(
      s"the query continues in $to after batch 2, at these offsets",
      "",
      "source  cluster  topic   partition  offset",
      "0       blue     orders          0      14",
      "0       blue     orders          1      10"
    ))
  }

  test("random offsets there and back are the same") {
    val random = new Random(7)
    def anOffset = Seq(0L, 1L, 1L << 31, (1L << 53) + 1, Long.MaxValue)(random.nextInt(5))
    (1 to 30).foreach { _ =>
      val home = newFolder()
      val (there, back) = (home.resolve("there"), home.resolve("back"))
      val sources = 1 + random.nextInt(4)
      val expected = (0 to 2).map { number =>
        val offsets = Seq.fill(sources)(Positions.from(for {
          topic <- 0 until random.nextInt(4)
          p <- Seq.fill(random.nextInt(12))(random.nextInt(2000))
        } yield (s"t.$topic", p, anOffset)))
        log(home.resolve("old"), number, offsets.map(CompositeOffsetJson.writePositions): _*)
        offsets.map(CompositeOffsetJson.writePositions)
      }
      val ids =
        (0 until sources).flatMap(n => Seq("--cluster", s"$n=${Seq("blue", "green")(random.nextInt(2))}"))
      done(Seq("migrate", s"${home.resolve("old")}", "--to", s"$there") ++ ids: _*)
      done("migrate", s"$there", "--to", s"$back", "--to-kafka")
      assert((0 to 2).map(logged(back, _)) == expected)
    }
  }

  test("a source without topics yet; version 3 of the commit log; a source whose name looks like a number") {
    val waiting = old()
    val to = waiting.resolveSibling("new")
    write(waiting.resolve("sources/0/0"), "\u0000v1\n{}")
    log(waiting, 3, "-")
    write(waiting.resolve("commits/3"), "v3\n{}")
    done("migrate", s"$waiting", "--to", s"$to", "--cluster", "blue")
    assert(logged(to, 3) == Seq("""{"version":2,"clusters":{"blue":{}}}"""))
    assert(read(to.resolve("commits/3")).startsWith("v3\n"))

    val named = old()
    write(named.resolve("offsets/2"), "v2\n{}\n01:{\"orders\":{\"0\":14}}\n1:{\"orders\":{\"0\":2}}")
    val found = done(
      "migrate",
      s"$named",
      "--to",
      s"${named.resolveSibling("new")}",
      "--cluster",
      "01=blue",
      "--cluster",
      "1=green",
      "--json"
    )
    assert(found.json.get("sources").elements.asScala.map(_.get("source").toString).toSeq == Seq(
      "\"01\"",
      "1"
    ))
    assert(logged(named.resolveSibling("new"), 2) == Seq(
      """01:{"version":2,"clusters":{"blue":{"orders":{"0":14}}}}""",
      """1:{"version":2,"clusters":{"green":{"orders":{"0":2}}}}"""
    ))
  }

  /** What an operator with `transformWithState` has in a checkpoint, in part. */
  private def operator(checkpoint: Path, schemas: String*): Path = {
    val file = checkpoint.resolve("state/1/_metadata/v2/0")
    write(file.resolveSibling(".0.crc"), "crc")
    val paths = schemas.map(s => s""""$s"""").mkString(",")
    write(
      file,
      s"""v2\n{"operatorInfo":{"operatorId":1},"stateStoreInfo":[{"storeName":"default","stateSchemaFilePaths":[$paths]}]}"""
    )
  }

  test("the schemas of state are those of the copy, and others are named") {
    val checkpoint = old()
    val to = checkpoint.resolveSibling("new")
    val link = Files.createSymbolicLink(checkpoint.resolveSibling("link"), checkpoint)
    val file = operator(
      checkpoint,
      s"file:$checkpoint/state/1/_stateSchema/0",
      s"file:$link/state/1/_stateSchema/0",
      "s3a://lake/old/state/1/0"
    )
    val reply = done("migrate", s"$checkpoint", "--to", s"$to", "--cluster", "blue")
    assert(reply.err.stripLineEnd ==
      s"the state has its schema in s3a://lake/old/state/1/0, not in $checkpoint: the query in $to needs it too")
    val copy = to.resolve(checkpoint.relativize(file))
    assert(read(copy) == read(file).replace(s"$checkpoint", s"$to").replace(s"$link", s"$to"))
    assert(!Files.exists(copy.resolveSibling(".0.crc")))
    write(file, "v2\n{}")
    assert(why("migrate", s"$checkpoint", "--to", s"$to-2", "--cluster", "blue")
      .contains(s"$file is not the metadata of an operator that Spark wrote"))
    assert(!Files.exists(Path.of(s"$to-2")))
  }

  test("what is refused, and nothing is written") {
    def damaged(damage: Path => Any, says: String, options: String*): Unit = {
      val checkpoint = old()
      damage(checkpoint)
      val to = checkpoint.resolveSibling("new")
      Seq(Nil, Seq("--dry-run"), Seq("--json")).foreach { more =>
        val arguments = Seq("migrate", s"$checkpoint", "--to", s"$to") ++
          (if (options.isEmpty) Seq("--cluster", "blue") else options) ++ more
        assert(why(arguments: _*).contains(says.replace("{old}", s"$checkpoint")), says)
        assert(!Files.exists(to))
      }
    }
    val again = "start the old query once more, with availableNow"
    damaged(planned(_, 3, """{"orders":{"0":15}}"""), s"batch 3 of {old} is logged and not finished: $again")
    damaged(
      c => Seq(3, 4).foreach(planned(c, _, "{}")),
      s"batches 3, 4 of {old} are logged and not finished: $again"
    )
    damaged(
      c => deleted(c.resolve("commits")),
      s"nothing is committed in {old}, which has planned batch 0, 1, 2: $again"
    )
    damaged(
      log(_, 3, """{"version":2,"clusters":{"blue":{"orders":{"0":5}}}}"""),
      "source 0 of batch 3 of {old} is a dynamic-kafka source already: --to-kafka moves it back to Spark's kafka source"
    )
    damaged(
      log(_, 3, """{"offset":6,"timestamp":3000}""", "4"),
      "batch 3 of {old} has no offset of Spark's kafka source"
    )
    damaged(
      c => Files.delete(c.resolve("offsets/2")),
      "batch 2 of {old} is committed, but the newest batch in 'offsets' is 1"
    )
    damaged(c => deleted(c.resolve("offsets")), "has no folder 'offsets'")
    damaged(
      c => write(c.resolve("commits/2"), "v4\n{}"),
      "supports versions v1, v2, v3 of Spark's commit log"
    )
    damaged(
      log(_, 3, """{"orders":{"0":-2}}"""),
      "source 0 of batch 3 of {old}: topic 'orders', partition 0 has the offset -2"
    )
    damaged(
      _ => (),
      "batch 2 of {old} has no offset of a dynamic-kafka source: its query reads Spark's kafka source already",
      "--to-kafka"
    )
    val several = golden.resolve("several-sources-4.2.0")
    val use = "use --cluster 0=ID --cluster 2=ID"
    Seq(
      Seq("blue") -> s"the query has several sources of Spark's kafka format: $use",
      Seq("0=blue") -> s"there is no cluster for source 2: $use",
      Seq("0=blue", "1=green", "2=red") -> s"'1' is not a source of Spark's kafka format: $use",
      Seq("0=blue", "0=green") -> s"source 0 has two clusters: $use",
      Seq("0=blue", "2=gr een") -> "'gr een' is not a valid cluster id: a cluster id has 1 to 128 letters",
      Seq("0=blue", "2=") -> "'' is not a valid cluster id"
    ).foreach { case (ids, says) =>
      val arguments = Seq("migrate", s"$several", "--to", s"${newFolder().resolve("new")}") ++
        ids.flatMap(id => Seq("--cluster", id))
      assert(why(arguments: _*).contains(says))
    }
  }

  private def deleted(folder: Path): Unit = files(folder).keys.map(folder.resolve).toSeq.appended(folder)
    .foreach(Files.delete)

  test("wrong use") {
    val checkpoint = s"${old()}"
    Seq(
      Seq("--cluster", "blue") -> "--to is missing",
      Seq("--to", "x") -> "--cluster is missing",
      Seq(
        "--to",
        "x",
        "--cluster",
        "blue",
        "--to-kafka"
      ) -> "--to-kafka takes neither --cluster nor --metadata",
      Seq("--to", "x", "--cluster", "blue", "--drop-retained") -> "--drop-retained needs --to-kafka"
    ).foreach { case (arguments, says) =>
      val reply = CommandLine.run(Seq("migrate", checkpoint) ++ arguments: _*)
      assert(reply.exitCode == 2 && reply.err.contains(says), s"$reply")
    }
  }

  test("targets that are refused; an empty one is not") {
    val checkpoint = old()
    val to = Files.createDirectories(checkpoint.resolveSibling("new"))
    def refusal(target: Path, from: Path = checkpoint) =
      why("migrate", s"$from", "--to", s"$target", "--cluster", "blue")
    val something = write(to.resolve("something"), "")
    val link = Files.createSymbolicLink(checkpoint.resolveSibling("link"), checkpoint)
    assert(
      refusal(to).startsWith(s"$to is not empty") && refusal(something).startsWith(s"$something is not empty")
    )
    Seq(checkpoint, link).foreach(same => assert(refusal(same).startsWith(s"$same is the checkpoint itself")))
    Seq(checkpoint, link).foreach(inside =>
      assert(refusal(inside.resolve("new/2")).startsWith(s"$inside/new/2 is in the checkpoint $checkpoint:"))
    )
    assert(refusal(
      checkpoint.getParent
    ).startsWith(s"${checkpoint.getParent} contains the checkpoint $checkpoint:"))
    // A folder that is no checkpoint is the mistake, and not where the new one is.
    assert(refusal(
      checkpoint.resolve("new"),
      checkpoint.getParent
    ).contains("is not a checkpoint of a streaming query"))
    Files.delete(something)
    done("migrate", s"$checkpoint", "--to", s"$to", "--cluster", "blue")
    assert(Files.exists(to.resolve("offsets/2")))
  }

  test("modes of files and of the folder are kept") {
    val checkpoint = old()
    val private600 = PosixFilePermissions.fromString("rw-------")
    val file = Seq("metadata", "offsets/2").map(checkpoint.resolve)
    file.foreach(Files.setPosixFilePermissions(_, private600))
    Files.setPosixFilePermissions(checkpoint, PosixFilePermissions.fromString("rwx------"))
    val to = checkpoint.resolveSibling("new")
    done("migrate", s"$checkpoint", "--to", s"$to", "--cluster", "blue")
    Seq("metadata", "offsets/2").foreach(name =>
      assert(Files.getPosixFilePermissions(to.resolve(name)) == private600, name)
    )
    assert(PosixFilePermissions.toString(Files.getPosixFilePermissions(to)) == "rwx------")
  }

  test("no file outside of the checkpoint is read: links, and names of sources that lead out of it") {
    val secret = write(newFolder().resolve("secret"), "hunter2")
    Seq("sources/9", "state/0/0/9.delta", "dynamic-kafka-sink").foreach { name =>
      val checkpoint = old()
      Files.createSymbolicLink(
        checkpoint.resolve(name),
        if (name.endsWith("delta")) secret else secret.getParent
      )
      val text =
        why("migrate", s"$checkpoint", "--to", s"${checkpoint.resolveSibling("new")}", "--cluster", "blue")
      assert(text.contains(s"$checkpoint/$name is a symbolic link"), text)
    }
    Seq("../../x", "..", "a/b", ".a", "").foreach { name =>
      val checkpoint = old()
      write(checkpoint.resolve("offsets/2"), s"v2\n{}\n$name:{\"orders\":{\"0\":14}}")
      val text =
        why("migrate", s"$checkpoint", "--to", s"${checkpoint.resolveSibling("new")}", "--cluster", "blue")
      assert(text.contains("is not the name of a source") || text.contains(
        "does not begin with the id of its source"
      ))
    }
  }

  private val two = Map(
    "clusters" -> """{"version":2,"clusters":{"blue":{"orders":{"0":5}},"red":{"orders":{"0":5}}}}""",
    "draining" -> """{"version":2,"clusters":{"blue":{"orders":{"0":5}}},"draining":{"red":{"orders":{"0":5}}}}""",
    "retained" -> ("""{"version":2,"clusters":{"blue":{"orders":{"0":5}}},""" +
      """"retained":{"red":{"topics":{"orders":{"since":1,"offsets":{"0":9}}}}}}""")
  )

  private def back(checkpoint: Path, to: Path, more: String*): CommandLine.Reply =
    CommandLine.run(Seq("migrate", s"$checkpoint", "--to", s"$to", "--to-kafka") ++ more: _*)

  test("a second cluster cannot go back, and what was removed only if that is said") {
    two.foreach { case (section, offset) =>
      val checkpoint = moved()
      log(checkpoint, 3, offset)
      val to = checkpoint.resolveSibling("back")
      val reply = back(checkpoint, to)
      assert(
        reply.exitCode == 1 && reply.err.contains(s"source 0 of batch 3 of $checkpoint has several clusters")
      )
      assert(reply.err.contains(section) && reply.err.contains("red"))
      assert(back(checkpoint, to, "--drop-retained").exitCode == (if (section == "retained") 0 else 1))
      if (section == "retained") assert(logged(to, 3) == Seq("""{"orders":{"0":5}}"""))
    }
    val checkpoint = moved()
    log(
      checkpoint,
      3,
      two("retained").replace("red", "blue").replace(""""orders":{"since"""", """"former":{"since"""")
    )
    val reply = back(checkpoint, checkpoint.resolveSibling("back"))
    assert(reply.err.contains("retains offsets of topics on cluster blue (former)"))
    assert(reply.err.contains("--drop-retained gives them up"))
  }

  test("earlier batches may have had other clusters; what Spark does not have is said; edits stay behind") {
    val checkpoint = moved()
    done("rename-cluster", s"$checkpoint", "blue", "green")
    done("rename-cluster", s"$checkpoint", "green", "blue")
    log(checkpoint, 2, two("clusters"))
    val offset = """{"version":2,"clusters":{"blue":{"orders":{"0":6}}}"""
    log(checkpoint, 3, s"""$offset,"draining":{"blue":{"orders":{"0":9}}}}""")
    val to = checkpoint.resolveSibling("back")
    val reply = back(checkpoint, to, "--json")
    assert(reply.exitCode == 0 && reply.err.contains("drain targets or ending offsets"), s"$reply")
    assert(reply.json.at("/sources/0/offsets").toString == """{"orders":{"0":6}}""")
    assert(Seq(2, 3).map(logged(to, _)) == Seq(Seq("""{"orders":{"0":5}}"""), Seq("""{"orders":{"0":6}}""")))
    assert(!Files.exists(to.resolve("dynamic-kafka-edits")))
  }

  test("deferred records cannot go back") {
    val checkpoint = moved()
    val deferred = checkpoint.resolve("sources/0/dynamic-kafka/deferred")
    val end = sha256(logged(checkpoint, 2).head)
    val none = """{"version":2,"clusters":{}}"""
    val file = s"""{"version":1,"start":"","end":"$end","from":$none,"until":$none}"""
    write(deferred.resolve("2.json"), file)
    val to = checkpoint.resolveSibling("back")
    val reply = back(checkpoint, to)
    assert(reply.err.contains(
      s"records of batch 2 of $checkpoint are deferred, and not read yet: start the query once"
    ))
    write(deferred.resolve("2.entered"), "")
    assert(back(checkpoint, to).exitCode == 0)
  }

  test("the metadata have the cluster and its topics") {
    val checkpoint = old()
    Seq(
      ("blue", "topics: [orders]", None),
      ("blue", "partitions: {orders: [0, 1]}", None),
      ("blue", "topic_pattern: 'ord.*'", None),
      ("bleu", "topics: [orders]", Some("the metadata lacks cluster 'bleu'. Did you mean 'blue'?")),
      ("blue", "topics: [order]", Some("the metadata lacks topic 'orders' on cluster 'blue'.")),
      ("blue", "topic_pattern: 'order'", Some("the metadata lacks topic 'orders' on cluster 'blue'."))
    ).zipWithIndex.foreach { case ((id, topics, says), n) =>
      val file = write(
        checkpoint.resolveSibling("streams.yaml"),
        s"""version: 1
           |clusters: {blue: {properties: {bootstrap.servers: "blue:9092"}}}
           |streams: {orders: {clusters: {blue: {$topics}}}}
           |""".stripMargin
      )
      val to = checkpoint.resolveSibling(s"new-$n")
      val reply = CommandLine.run(
        Seq("migrate", s"$checkpoint", "--to", s"$to", "--cluster", id, "--metadata", s"$file"): _*
      )
      assert(Files.exists(to) == says.isEmpty, s"$reply")
      says.foreach(text =>
        assert(reply.err.stripLineEnd == s"the query would fail with MIGRATION_MISMATCH, source 0: $text")
      )
    }
  }

  private val home = newFolder()

  /** In a file system of another scheme. */
  private def elsewhere(from: Path, to: Path): Migration = {
    val hadoop = new Configuration
    hadoop.set("fs.elsewhere.impl", classOf[ElsewhereFileSystem].getName)
    hadoop.setBoolean("fs.elsewhere.impl.disable.cache", true)
    Migration.run(
      s"elsewhere:$from",
      s"elsewhere:$to",
      hadoop,
      dryRun = false
    )(Migration.fromKafka(Seq("blue")))
  }

  test("a checkpoint that changes while it is copied, in any file system") {
    val changes: Seq[Path => Any] = Seq(
      log(_, 3, """{"orders":{"0":15,"1":10}}"""),
      c =>
        Files.newOutputStream(
          c.resolve("state/0/0/1.delta"),
          java.nio.file.StandardOpenOption.APPEND
        ).tap(_.write(1)),
      c => Files.delete(c.resolve("state/0/0/3.delta")),
      c => write(c.resolve("metadata"), "{}")
    )
    for ((change, n) <- changes.zipWithIndex; at <- Seq(1, 2, 3)) {
      val checkpoint = copied(golden.resolve("aggregation-4.2.0"), home.resolve(s"$n-$at/old"))
      ElsewhereFileSystem.copying(at)(change(checkpoint))
      val e = intercept[Refusal](elsewhere(checkpoint, checkpoint.resolveSibling("new")))
      assert(e.getMessage == s"elsewhere:$checkpoint has changed while it was copied: stop its query first")
      assert(checkpoint.getParent.toFile.list.toSeq == Seq("old"))
    }
  }

  test(
    "a copy in another file system; transactional ids that the sink frees after the end of the query stay behind"
  ) {
    val checkpoint = old()
    val sink = checkpoint.resolve("dynamic-kafka-sink")
    Seq("0-0.json", "slot-0a.json").foreach(name => write(sink.resolve(name), "{}"))
    ElsewhereFileSystem.copying(1) {
      Files.delete(sink.resolve("slot-0a.json"))
      Seq("slot-0b.json", ".slot-0b.json.crc", ".slot-0c.json.0a1b.TID7.tmp").foreach(name =>
        write(sink.resolve(name), "{}")
      )
    }
    val to = checkpoint.resolveSibling("new")
    assert(elsewhere(checkpoint, to).batch == 2)
    assert(to.resolve("dynamic-kafka-sink").toFile.list.toSeq == Seq("0-0.json"))
    assert(logged(to, 2).head.startsWith("""{"version":2,"clusters":{"blue":{"orders":"""))
    assert(files(to.resolve("state")) == files(checkpoint.resolve("state")).filterNot(_._1.endsWith(".crc")))
  }

  test("a target that is filled meanwhile") {
    val checkpoint = old()
    val to = checkpoint.resolveSibling("new")
    ElsewhereFileSystem.copying(3)(write(to.resolve("mine"), ""))
    assert(intercept[Refusal](elsewhere(checkpoint, to)).getMessage.contains("is not empty"))
    assert(files(to).keySet == Set("mine"))
    assert(checkpoint.getParent.toFile.list.toSet == Set("new", "old"))
  }

  test("a store whose keys lead out of the checkpoint") {
    val checkpoint = old()
    ElsewhereFileSystem.listing = Some(new HadoopPath(s"elsewhere:$checkpoint/sources/0/../../../x"))
    try assert(intercept[Refusal](elsewhere(checkpoint, checkpoint.resolveSibling("new"))).getMessage
        .endsWith(s"in elsewhere:$checkpoint, which is not in it"))
    finally ElsewhereFileSystem.listing = None
  }

  private implicit final class Tap(out: OutputStream) {
    def tap(use: OutputStream => Unit): Unit =
      try use(out)
      finally out.close()
  }
}

/** Local files under another scheme, which commands therefore treat as those of any store. */
class ElsewhereFileSystem extends RawLocalFileSystem {
  import ElsewhereFileSystem._

  override def getUri: URI = URI.create("elsewhere:///")

  override def open(file: HadoopPath, bufferSize: Int): FSDataInputStream = {
    if (file.toString.contains("/state/")) opened()
    super.open(file, bufferSize)
  }

  // Hadoop reads the mode of a file of another scheme in vain.
  override def getFileStatus(path: HadoopPath): FileStatus = known(super.getFileStatus(path))

  override def listStatus(folder: HadoopPath): Array[FileStatus] = super.listStatus(folder).map { found =>
    val file = known(found)
    if (file.isFile && folder.toString.contains("/state")) listing.foreach(file.setPath)
    file
  }

  override def setPermission(path: HadoopPath, permission: FsPermission): Unit = ()

  private def known(found: FileStatus) = new FileStatus(
    found.getLen,
    found.isDirectory,
    1,
    found.getBlockSize,
    found.getModificationTime,
    found.getAccessTime,
    FsPermission.getDefault,
    "me",
    "us",
    found.getPath
  )
}

object ElsewhereFileSystem {
  @volatile var listing: Option[HadoopPath] = None
  private var (left, action) = (0, () => ())

  /** Does this before the n-th file of the state is copied. */
  def copying(n: Int)(change: => Any): Unit = synchronized {
    left = n
    action = () => { val _ = change }
  }

  private def opened(): Unit = synchronized {
    left -= 1
    if (left == 0) action()
  }
}
