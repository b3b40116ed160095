package io.github.dynamickafka.source.checkpoint

import java.nio.file.{Files, Path}

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.Conformance
import io.github.dynamickafka.testkit.TimeLimit

/** Spark's offset log, of each version of Spark in `tests/conformance/checkpoints`. */
class SparkCheckpointSuite extends AnyFunSuite with TimeLimit {
  private val mapper = new ObjectMapper
  private val checkpoints =
    Path.of(sys.props("dynamickafka.root"), "tests", "conformance", "checkpoints")

  private def log(checkpoint: Path) = SparkCheckpoint(checkpoint.toString, new Configuration)

  Conformance.cases("offset-log").foreach { one =>
    val name = one.get("name").asText
    test(s"a checkpoint of Spark: $name") {
      val from = log(checkpoints.resolve(name))
      val found = mapper.createArrayNode()
      from.logged.map(from.batch).foreach { batch =>
        val entry = found.addObject().put("number", batch.number)
          .put("finished", from.finished.contains(batch.number))
        batch.timestampMs.fold(entry.putNull("timestamp_ms"))(entry.put("timestamp_ms", _))
        entry.put("version", batch.version)
        val offsets = entry.putArray("offsets")
        batch.offsets.foreach { case (source, text) =>
          offsets.addArray().add(source.name).add(text.orNull)
        }
        val file = checkpoints.resolve(name).resolve("offsets").resolve(batch.number.toString)
        assert(batch.text(Map.empty) == Files.readString(file))
      }
      assert(found.toString == one.get("batches").toString)
    }
  }

  private def checkpoint(entries: (String, String)*): Path = {
    val folder = Files.createTempDirectory("dynamic-kafka-log-")
    entries.foreach { case (name, text) =>
      Files.createDirectories(folder.resolve(name).getParent)
      Files.writeString(folder.resolve(name), text)
    }
    folder
  }

  private def refusal(body: => Any): String = intercept[Refusal](body).getMessage

  test("what is not a checkpoint, or not of this project, is refused with the reason") {
    assert(refusal(log(checkpoint()).newest).endsWith(
      "is not a checkpoint of a streaming query: it has no folder 'offsets'"
    ))
    assert(refusal(log(checkpoint("offsets/readme" -> "")).newest).endsWith(
      "is empty: the query has not planned a batch yet"
    ))
    val plain = log(checkpoint("offsets/3" -> "v1\n{}\n{\"orders\":{\"0\":1}}"))
    assert(refusal(plain.composite(plain.newest)).endsWith(
      "has no offset of a dynamic-kafka source: its query reads Spark's kafka source, from which 'migrate' moves it to this one"
    ))
    val rate = log(checkpoint("offsets/3" -> "v1\n{}\n{\"offset\":6}\n4"))
    assert(refusal(rate.composite(rate.newest)).endsWith("has no offset of a dynamic-kafka source"))
    assert(refusal(plain.batch(2)).endsWith("has no batch 2: its offset log has the batches 3 to 3"))
    Seq(
      "v3\n{}" -> "this release supports versions v1, v2 of Spark's offset log",
      "v1" -> "is truncated",
      "v1\n[]\n-" -> "the line of the batch's metadata is not JSON",
      "v1\n{\n-" -> "the line of the batch's metadata is not JSON",
      "v2\n{}\n-" -> "a line of an offset does not begin with the id of its source"
    ).foreach { case (text, why) =>
      assert(refusal(log(checkpoint("offsets/0" -> text)).newest).endsWith(why), text)
    }
  }

  test("offsets are replaced by source, in both versions of the log") {
    val (zero, one) = (SourceId("0", 0), SourceId("1", 1))
    val first = log(checkpoint("offsets/0" -> "v1\n{}\n-\n{}")).newest
    assert(first.text(Map(one -> "new")) == "v1\n{}\n-\nnew")
    val named = log(checkpoint("offsets/0" -> "v2\n\n0:-\npayments:{}")).newest
    assert(named.text(Map(zero -> "new")) == "v2\n\n0:new\npayments:{}")
    assert(named.offsets.map(_._1.number) == Seq(0, 1) && named.timestampMs.isEmpty)
  }
}
