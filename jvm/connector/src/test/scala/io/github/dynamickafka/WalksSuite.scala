package io.github.dynamickafka

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/**
 * The walks of docs/dev/architecture.md: numbered lists of files that one record, one trigger and one written row pass. An item calls
 * what it says, and defines something that an item before it calls, so that a walk that is no longer true fails.
 */
class WalksSuite extends AnyFunSuite with TimeLimit {
  private val root = Path.of(System.getProperty("dynamickafka.root"))
  private val document = Files.readString(root.resolve("docs/dev/architecture.md"))

  private val Item = """(?m)^\d+\. `([\w/.-]+\.scala)`: ((?:.|\n {3})+)$""".r
  private val Called = """`([\w.]+)\(\)`""".r

  /** @param calls what the sentence says that the file calls */
  private case class Step(file: String, calls: Seq[String]) {
    val code: String = {
      val found = Modules.all.map(module =>
        root.resolve(s"jvm/$module/src/main/scala/io/github/dynamickafka").resolve(file)
      ).filter(Files.exists(_))
      assert(found.size == 1, s"there is no file $file")
      Files.readString(found.head).replaceAll("(?s)/\\*.*?\\*/|//[^\n]*", "")
    }
  }

  private def steps(walk: String): Seq[Step] = {
    val section = document.split(s"(?m)^### $walk\\s*$$")
    assert(section.length == 2, s"there is no walk '$walk'")
    Item.findAllMatchIn(section(1).split("(?m)^##").head).map(found =>
      Step(found.group(1), Called.findAllMatchIn(found.group(2)).map(_.group(1).split('.').last).toSeq)
    ).toSeq
  }

  private def defines(step: Step, name: String) =
    s"\\b(def|val|class|object)\\s+$name\\b".r.findFirstIn(step.code).isDefined

  private def calls(step: Step, name: String) =
    s"(?<!def )(?<!class )(?<!object )\\b$name\\b".r.findFirstIn(step.code).isDefined

  for (
    (walk, most) <- Seq(
      "A record, from `poll` to a row" -> 4,
      "A trigger, from `latestOffset` to tasks" -> 8,
      "A written row, to the broker and its commit" -> 6
    )
  ) test(walk) {
    val all = steps(walk)
    assert(all.size > 2 && all.size <= most)
    for (step <- all; name <- step.calls) assert(calls(step, name), s"${step.file} does not call $name")
    for ((step, i) <- all.zipWithIndex.tail; before = all.take(i).flatMap(_.calls))
      assert(before.exists(defines(step, _)), s"${step.file} defines nothing that is called before: $before")
  }
}
