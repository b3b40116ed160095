package io.github.dynamickafka.admin

import java.io.{ByteArrayOutputStream, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.kafka.clients.admin.OffsetSpec
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.LogKey
import io.github.dynamickafka.sink.commit._
import io.github.dynamickafka.testkit.TimeLimit

/**
 * The output in docs/cli.md and in tests/conformance/commands.txt is the output of the commands, with scripted brokers. The second file has
 * the JSON and the exit code of each command, on which programs of users rely.
 */
class CliExamplesSuite extends AnyFunSuite with TimeLimit with Checkpoints {

  /** What a command is to write. */
  private val Written = "counts-moved"

  private val root = Path.of(sys.props("dynamickafka.root"))
  private val folder = Files.createTempDirectory("dynamic-kafka-examples-")

  /** Command lines, with their outputs, and after `end` what the end captures. */
  private def examples(file: String, end: String) =
    raw"""(?m)^\$$ python -m dynamic_kafka (.+)\n((?:.*\n)*?)$end$$""".r
      .findAllMatchIn(Files.readString(root.resolve(file))).toSeq
  private val documented = examples("docs/cli.md", "```").map(m => m.group(1) -> m.group(2))
  private val contract = examples("tests/conformance/commands.txt", "(exit code \\d)")
    .map(m => m.group(1) -> s"${m.group(2)}${m.group(3)}")

  private val streams = """(?s)```yaml\n(.*?)```""".r
    .findFirstMatchIn(Files.readString(root.resolve("docs/metadata.md"))).get
  // The differences of the other files from streams.yaml.
  private val broken =
    Seq(
      "state: draining" -> "state: drained",
      "green: {topics: [payments-eu" -> "gren: {topics: [payments-eu"
    )
  private val next = Seq(
    "bootstrap.servers: \"green-1:9092\"" -> "bootstrap.servers: \"green-1:9092,green-2:9092\"",
    "      blue: {topics: [orders], state: draining}\n" -> "",
    "payments-us]" -> "payments-ca]",
    "streams:\n" -> "  red:\n    properties: {bootstrap.servers: \"red-1:9092\"}\nstreams:\n",
    "  payments:\n    clusters:\n" -> "  payments:\n    clusters:\n      red: {topics: [payments]}\n"
  )
  Files.createDirectory(folder.resolve("shipments"))

  private def prepare(): Unit = {
    Seq("streams.yaml" -> Nil, "broken.yaml" -> broken, "new.yaml" -> next).foreach { case (name, changes) =>
      val text = changes.foldLeft(streams.group(1)) { case (t, (old, now)) =>
        assert(t.contains(old))
        t.replace(old, now)
      }
      Files.writeString(folder.resolve(name), text)
    }
    val _ = new CheckpointFolder(folder.resolve("checkpoint")).commit(0).log(
      1,
      """{"version":2,"clusters":{"blue":{"golden-orders":{"0":4,"1":4}},"red":{"golden-old":{"0":1,"1":1}}},""" +
        """"draining":{"red":{"golden-old":{"0":2,"1":2}}},""" +
        """"retained":{"green":{"topics":{"golden-orders":{"since":1795246634419,"offsets":{"0":2,"1":2}}}}}}"""
    ).topology(Seq("blue" -> "golden-orders", "red" -> "golden-old"), Seq("green" -> "golden-orders"))
    val _ = new CheckpointFolder(folder.resolve("orders"))
      .log(2, """{"version":2,"clusters":{"green":{"orders":{"0":14,"1":10}}}}""").commit(2)
    Seq("counts", "moved", "renamed", Written).map(folder.resolve).filter(Files.exists(_))
      .foreach(old => FileUtils.deleteDirectory(old.toFile))
    def at(name: String) = folder.resolve(name).toString
    copied(golden.resolve("aggregation-4.2.0"), folder.resolve("counts"))
    Seq("moved", "renamed").foreach(to => done("migrate", at("counts"), "--to", at(to), "--cluster", "blue"))
    done("rename-cluster", at("renamed"), "blue", "azure")
  }

  private def contextOf(file: Option[String], timeout: Option[Long], hadoop: () => Configuration): Context =
    CheckpointFolder.answering { (config, at, spec) =>
      spec match {
        case _ if at.topic == "orders" => Some(if (spec.isInstanceOf[OffsetSpec.EarliestSpec]) 3L else 14L)
        case _ => Option.when(config.bootstrapServers != "green-1:9092")(4L + 3 * at.partition)
      }
    }(Context.ofFile(file, timeout, hadoop))

  private def decision(ofBlue: Outcome, ofGreen: Outcome, reasons: String*) = {
    val outcomes = Seq("blue" -> ofBlue, "green" -> ofGreen).map { case (id, outcome) =>
      Prepared(id, s"dynamic-kafka-q-i-3-$id-0.1-0-0.0", 1L, 0, 0, 1L, Nil) -> outcome
    }
    val claim = Claim("q", "run", "i", 3L, "here")
    val entry = JournalEntry(claim, 7L, 0, BatchInput.Empty, outcomes.map(_._1), Map.empty)
    OpenDecision.Found(entry, outcomes, reasons)
  }

  private def unreachable = Outcome.Pending(new java.util.concurrent.TimeoutException)

  /** Of commands that ask more than offsets. */
  private def scripted(context: Context): Map[String, Result] = Map(
    "plan" -> new PlanCommand.Plan(
      1L,
      Seq(Planned(
        Seq(
          PlannedChange(LogKey("green", "orders", 0), 0L, PlannedChange.Enters(Some("earliest"))),
          PlannedChange(LogKey("red", "orders", 0), 4L, PlannedChange.Drains(10L)),
          PlannedChange(LogKey("blue", "orders", 0), 4L, PlannedChange.Leaves(Some(7L), true, Some(600L)))
        ),
        Seq("green" -> 10L, "red" -> 6L),
        Seq(("green", "orders", "Read")),
        Nil,
        Nil,
        Nil
      ))
    ),
    "doctor" -> new DoctorCommand.Checked(
      context,
      Check.run(
        "blue",
        name =>
          if (name == "dns") Finding.ok("2 of 2 names resolve")
          else Finding.failed(
            "no connection to blue-1:9093 (connection refused); blue-2:9093 (connection refused)",
            "start the broker, correct the port, or open the firewall"
          )
      )
    ),
    "publish" -> new EditCommands.Published(Some("streams"), Seq("orders", "payments"), Nil),
    "transactions" -> new TransactionCommands.Open(Some(decision(
      unreachable,
      Outcome.Open,
      "cluster 'blue' is unreachable: blue-1:9093,blue-2:9093: TimeoutException"
    ))),
    "resolve" -> new TransactionCommands.Closed(
      decision(unreachable, Outcome.Committed),
      Resolution.AbandonCluster("blue")
    )
  )

  /** @return what the command shows on a terminal, where reasons come first because standard output is written last, and its exit code */
  private def answer(line: String): (String, Int) = {
    prepare()
    val results =
      scripted(Context.ofFile(Some(s"$folder/streams.yaml"), None, () => new Configuration))
    val commands = Commands.all.map(command =>
      results.get(command.name).fold(command)(result => command.copy(run = (_, _) => result))
    )
    val shown = new ByteArrayOutputStream
    val (out, err) = (new ByteArrayOutputStream, new PrintStream(shown, true, UTF_8))
    val main = new Main(new PrintStream(out, true, UTF_8), err, commands, new Configuration, contextOf)
    val words =
      """'([^']*)'|(\S+)""".r.findAllMatchIn(line).map(m => Option(m.group(1)).getOrElse(m.group(2)))
    // There, `orders` is a stream, and not the checkpoint.
    def isStream(word: String) = word == "orders" && line.startsWith("describe")
    def isPath(word: String) = word == Written || Files.exists(folder.resolve(word)) && !isStream(word)
    val exitCode = main.run(words.map(w => if (isPath(w)) folder.resolve(w).toString else w).toSeq)
    out.writeTo(shown)
    shown.toString(UTF_8).replace(s"$folder/", "") -> exitCode
  }

  documented.foreach { case (line, output) =>
    test(line)(assert(answer(line)._1 == output))
  }

  contract.foreach { case (line, output) =>
    test(s"$line: JSON and exit code") {
      val (shown, exitCode) = answer(line)
      assert(s"${shown}exit code $exitCode" == output)
    }
  }

  test("every command has an example in each form") {
    // The schema is a file of its own.
    val commands = Commands.all.filter(_.isCommand).map(_.commandName).filterNot(_ == "schema").toSet
    Seq(documented, contract.filter(_._1.endsWith(" --json"))).foreach(examples =>
      assert(examples.map(_._1.takeWhile(_ != ' ')).toSet == commands)
    )
  }
}
