package io.github.dynamickafka.source.checkpoint

import java.nio.file.{Files, Path => FilePath}

import scala.collection.immutable.SortedMap

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.offset._
import io.github.dynamickafka.storage.PlannedDeferrals

/** The files of deferrals, and what is read of the checkpoint before a batch is deferred. */
class DeferralFilesSuite extends AnyFunSuite {

  private val text =
    """{"version":1,"start":"s","end":"e","from":{"version":2,"clusters":{"blue":{"orders":{"0":1}},""" +
      """"red":{"b":{"2":7},"orders":{"0":5,"11":0}}},""" +
      """"identities":{"red":{"cluster":"k","topics":{"orders":"i"}}}},"until":{"version":2,""" +
      """"clusters":{"blue":{"orders":{"0":4}},"red":{"b":{"2":8},"orders":{"0":10,"11":9000000000}}}}}"""

  private val deferral = Deferral(
    "s",
    "e",
    SortedMap(
      "blue" -> Seq(OffsetRange("orders", 0, 1, 4)),
      "red" -> Seq(
        OffsetRange("b", 2, 7, 8),
        OffsetRange("orders", 0, 5, 10),
        OffsetRange("orders", 11, 0, 9000000000L)
      )
    ),
    SortedMap("red" -> ClusterIdentity(Some("k"), SortedMap("orders" -> "i")))
  )

  private def sorted(of: Deferral) =
    of.copy(ranges = of.ranges.map { case (id, r) => id -> r.sortBy(_.toString) })

  private def checkpoint(): (FilePath, SourceCheckpoint) = {
    val root = Files.createTempDirectory("dynamic-kafka-test-")
    (root, new SourceCheckpoint(root.resolve("sources/0").toString, new Configuration))
  }

  private def write(root: FilePath, file: String, content: String): Unit = {
    val path = root.resolve(file)
    Files.createDirectories(path.getParent)
    val _ = Files.writeString(path, content)
  }

  private def deferred(root: FilePath): Set[String] = {
    val listing = Files.list(root.resolve("sources/0/dynamic-kafka/deferred"))
    try listing.toArray.map(_.asInstanceOf[FilePath].getFileName.toString).filterNot(_.endsWith(".crc")).toSet
    finally listing.close()
  }

  test("the format, which later versions have to read") {
    assert(sorted(SourceCheckpointJson.deferral.read(text, "file")) == sorted(deferral))
    assert(sorted(SourceCheckpointJson.deferral.read(
      SourceCheckpointJson.deferral.write(deferral),
      "file"
    )) == sorted(deferral))
    assert(SourceCheckpointJson.deferral.write(deferral) == text)
  }

  test("the sink gets the contents of the files as this run has read or written them") {
    val (root, run) = checkpoint()
    def file(batch: Int) = s"sources/0/dynamic-kafka/deferred/$batch.json"
    def told = PlannedDeferrals.ofDriver.of(new Path(s"file:$root/sources/0"))
    write(root, file(3), text)
    val _ = run.deferrals.read()
    run.deferrals.write(4L, deferral)
    // By another run.
    Seq(3, 5).foreach(n => write(root, file(n), text + " "))
    assert(told.isEmpty)
    run.planned()
    assert(told.contains(Map(3L -> text, 4L -> SourceCheckpointJson.deferral.write(deferral))))
    run.deferrals.delete(4L)
    run.planned()
    assert(told.contains(Map(3L -> text)))
    val next = new SourceCheckpoint(s"file:$root/sources/0", new Configuration)
    next.planned()
    run.forgetPlan()
    assert(told.contains(Map.empty), "the next run has planned before this one has stopped")
    next.forgetPlan()
    assert(told.isEmpty)
  }

  test("ranges keep the leader epochs that their logs are compared with") {
    val elected = deferral.copy(ranges =
      deferral.ranges.map { case (id, all) => id -> all.map(r => r.copy(epoch = Some(r.from))) }
    )
    assert(sorted(SourceCheckpointJson.deferral.read(
      SourceCheckpointJson.deferral.write(elected),
      "file"
    )) == sorted(elected))
    assert(SourceCheckpointJson.deferral.write(elected).contains(""""b":7,"orders":[5,0]"""))
  }

  test("another version, or a damaged file, is refused with its name") {
    def message(text: String) =
      intercept[DynamicKafkaRuntimeException](SourceCheckpointJson.deferral.read(
        text,
        "/deferred/7.json"
      )).getMessage
    assert(message(text.replace("\"version\":1", "\"version\":2")).contains("UNKNOWN_OFFSET_VERSION"))
    for (
      damage <-
        Seq(
          "",
          "[]",
          text.dropRight(1),
          text.replace("\"0\":10,", ""),
          text.replace("\"0\":10,", "\"0\":\"x\","),
          text.replace("\"end\":\"e\",", ""),
          text.replace("\"until\"", "\"other\"")
        )
    ) assert(message(damage).contains("/deferred/7.json"), damage)
  }

  test("a deferral has an effect until it is marked as entered, and a new run sees the same") {
    val (root, source) = checkpoint()
    assert(source.deferrals.read() == Deferrals.none)
    source.deferrals.write(0L, deferral)
    assert(source.deferrals.read().all.view.mapValues(_.entered).toMap == Map(0L -> false))
    source.deferrals.markEntered(0L)
    assert(source.deferrals.read().all.view.mapValues(_.entered).toMap == Map(0L -> true))
    source.deferrals.delete(0L)
    assert(source.deferrals.read() == Deferrals.none && deferred(root).isEmpty)
  }

  test(
    "a decision is not replaced by another one, and a mark that a crash left does not void a new decision"
  ) {
    val (root, source) = checkpoint()
    source.deferrals.write(0L, deferral)
    assertThrows[java.io.IOException](source.deferrals.write(0L, deferral.copy(end = "other")))
    assert(source.deferrals.read().all(0L).deferral.end == "e")
    // Between the two steps of a deletion.
    source.deferrals.markEntered(0L)
    Files.delete(root.resolve("sources/0/dynamic-kafka/deferred/0.json"))
    assert(source.deferrals.read() == Deferrals.none)
    source.deferrals.write(0L, deferral)
    assert(!source.deferrals.read().all(0L).entered)
  }

  test("a damaged file that has no effect any more is ignored") {
    val (root, source) = checkpoint()
    source.deferrals.write(0L, deferral)
    write(root, "sources/0/dynamic-kafka/deferred/0.json", "{")
    assertThrows[DynamicKafkaRuntimeException](source.deferrals.read())
    source.deferrals.markEntered(0L)
    assert(source.deferrals.read() == Deferrals.none)
  }

  test("the checkpoint of the query: the last logged batch, state, and decisions of the sink") {
    val (root, source) = checkpoint()
    assert(source.ofQuery.lastLogged.isEmpty && !source.ofQuery.hasState && !source.ofQuery.isDecided(1L))
    Seq("8", "9", "10", ".10.crc", "10.tmp").foreach(name => write(root, s"offsets/$name", ""))
    write(root, "dynamic-kafka-sink/run", "r")
    write(root, "dynamic-kafka-sink/10-0.json", "{}")
    write(root, "dynamic-kafka-sink/9-0.done", "")
    assert(source.ofQuery.lastLogged.contains(10L))
    assert(source.ofQuery.isDecided(10L) && !source.ofQuery.isDecided(1L) && !source.ofQuery.isDecided(9L))
    write(root, "state/0/_metadata/metadata", "")
    assert(source.ofQuery.hasState)
  }
}
