package io.github.dynamickafka.admin

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.security.MessageDigest
import java.util.HexFormat

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.Assertions

/** Checkpoints on this machine, for suites of commands that copy and edit them. */
trait Checkpoints extends Assertions {

  /** Of Spark's own Kafka source, as Spark has written them. */
  val golden: Path = Path.of(sys.props("dynamickafka.root"), "tests", "conformance", "checkpoints")

  def newFolder(): Path = Files.createTempDirectory("dynamic-kafka-checkpoints-").toRealPath()

  /** A copy of a folder. */
  def copied(from: Path, to: Path): Path = {
    files(from).foreach { case (name, content) => write(to.resolve(name), content) }
    to
  }

  /** A checkpoint of one Kafka source, with state. */
  def old(): Path = copied(golden.resolve("aggregation-4.2.0"), newFolder().resolve("old"))

  /** A checkpoint that was migrated. */
  def moved(): Path = {
    val to = newFolder().resolve("moved")
    done("migrate", s"${old()}", "--to", s"$to", "--cluster", "blue")
    to
  }

  /** All files below a folder, as bytes, by their paths in it. */
  def files(folder: Path): SortedMap[String, Seq[Byte]] =
    if (!Files.exists(folder)) SortedMap.empty
    else
      SortedMap.from(Using.resource(Files.walk(folder))(_.iterator.asScala.filter(Files.isRegularFile(_)).map(
        file =>
          folder.relativize(file).toString -> Files.readAllBytes(file).toSeq
      ).toVector))

  def write(file: Path, content: Seq[Byte]): Path = {
    Files.createDirectories(file.getParent)
    Files.write(file, content.toArray)
  }

  def write(file: Path, text: String): Path = write(file, text.getBytes(UTF_8).toSeq)

  def read(file: Path): String = Files.readString(file)

  def log(checkpoint: Path, batch: Int, offsets: String*): Unit = {
    planned(checkpoint, batch, offsets: _*)
    write(checkpoint.resolve(s"commits/$batch"), "v1\n{}")
    ()
  }

  /** A batch that is logged and not finished. */
  def planned(checkpoint: Path, batch: Int, offsets: String*): Unit = {
    val lines = Seq("v1", """{"batchWatermarkMs":0,"batchTimestampMs":1}""") ++ offsets
    write(checkpoint.resolve(s"offsets/$batch"), lines.mkString("\n"))
    ()
  }

  /** The offsets of a batch, as they are logged. */
  def logged(checkpoint: Path, batch: Int): Seq[String] =
    read(checkpoint.resolve(s"offsets/$batch")).split("\n").drop(2).toSeq

  def sha256(text: String): String =
    HexFormat.of.formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)))

  def done(arguments: String*): CommandLine.Reply = {
    val reply = CommandLine.run(arguments: _*)
    assert(reply.exitCode == 0, s"$arguments: $reply")
    reply
  }

  /** The reason why a command is refused, which then prints nothing else. */
  def why(arguments: String*): String = {
    val reply = CommandLine.run(arguments: _*)
    assert(reply.exitCode == 1 && reply.out.isEmpty, s"$arguments: $reply")
    reply.err.stripLineEnd
  }
}
