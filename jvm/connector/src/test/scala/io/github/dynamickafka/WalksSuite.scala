package io.github.dynamickafka

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.xbean.asm9.tree.{ClassNode, MethodInsnNode}
import org.apache.xbean.asm9.{ClassReader, Opcodes}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/**
 * The walks of docs/dev/architecture.md: numbered lists of files that one record, one trigger and one written row pass. The compiled classes
 * of a file call what its item says, and those of the next file have a method that an item before it calls.
 */
class WalksSuite extends AnyFunSuite with TimeLimit {
  import WalksSuite._

  private val document =
    Files.readString(Path.of(System.getProperty("dynamickafka.root"), "docs/dev/architecture.md"))

  private def walk(name: String): String = {
    val section = document.split(s"(?m)^### $name\\s*$$")
    assert(section.length == 2, s"there is no walk '$name'")
    section(1).split("(?m)^##").head
  }

  private val reading = "A record, from `poll` to a row"
  private val writing = "A written row, to the broker and its commit"

  for ((name, most) <- Seq(reading -> 4, "A trigger, from `latestOffset` to tasks" -> 8, writing -> 6))
    test(name) {
      val found = steps(walk(name))
      assert(found.size > 2 && found.size <= most)
      assert(problems(found) == Nil)
    }

  test(
    "a walk that is not true is refused: names that a file has without a call, and files that nothing calls"
  ) {
    def refused(name: String, old: String, now: String) = {
      val text = walk(name)
      assert(text.contains(old))
      problems(steps(text.replace(old, now)))
    }
    // The reader has a `consumer` and a `RecordRows`, but calls neither.
    assert(refused(reading, "`RangeConsumer.next()`", "`RangeConsumer.poll()`") == Seq(
      "source/read/BundleReader.scala does not call RangeConsumer.poll()",
      "source/read/RangeConsumer.scala has no method that is called before"
    ))
    assert(refused(reading, "`RecordRows.of()`", "`RecordRows()`") == Seq(
      "source/read/BundleReader.scala does not call RecordRows()",
      "source/read/Decoding.scala has no method that is called before"
    ))
    // The type is another one than the one with this method that is called.
    assert(refused(writing, "`TwoPhaseCommit.commit()`", "`Journal.commit()`").contains(
      "sink/SinkRun.scala does not call Journal.commit()"
    ))
    assert(refused(writing, "`sink/commit/Committer.scala`", "`sink/commit/Recovery.scala`") == Seq(
      "sink/commit/Recovery.scala has no method that is called before"
    ))
  }
}

private object WalksSuite {
  private val Item = """(?m)^\d+\. `([\w/.-]+\.scala)`: ((?:.|\n {3})+)$""".r
  private val Named = """`(?:(\w+)\.)?(\w+)\(\)`""".r

  /** A call as an item has it: `Type.method()`, `value.method()`, `method()`, or `Type()` for a constructor or `apply`. */
  private case class Call(of: Option[String], name: String) {
    def is(instruction: MethodInsnNode): Boolean = {
      val owner = instruction.owner.split("[/$]").last
      if (name.head.isUpper) owner == name && Set("apply", "<init>")(instruction.name)
      else instruction.name == name && of.forall(value => value.head.isLower || value == owner)
    }
    override def toString: String = s"${of.fold("")(_ + ".")}$name()"
  }

  /** @param calls what the sentence says that the file calls */
  private case class Step(file: String, calls: Seq[Call]) {
    private val classes = compiled(file)
    assert(classes.nonEmpty, s"there is no file $file")

    private val instructions = for {
      found <- classes
      method <- found.methods.asScala
      call <- method.instructions.asScala.collect { case call: MethodInsnNode => call }
    } yield call

    def instructionsOf(call: Call): Seq[MethodInsnNode] = instructions.filter(call.is)

    /** Whether the instruction calls a method that a class of this file has, maybe by a type that the class extends. */
    def has(instruction: MethodInsnNode): Boolean = classes.exists(found =>
      found.methods.asScala.exists(method =>
        method.name == instruction.name && (method.access & Opcodes.ACC_ABSTRACT) == 0
      ) && loaded(instruction.owner).isAssignableFrom(loaded(found.name))
    )
  }

  private def steps(walk: String): Seq[Step] = Item.findAllMatchIn(walk).map { found =>
    Step(
      found.group(1),
      Named.findAllMatchIn(found.group(2)).map(m => Call(Option(m.group(1)), m.group(2))).toSeq
    )
  }.toSeq

  private def problems(steps: Seq[Step]): Seq[String] = steps.zipWithIndex.flatMap { case (step, i) =>
    def isCalled =
      steps.take(i).exists(before => before.calls.flatMap(before.instructionsOf).exists(step.has))
    step.calls.filter(step.instructionsOf(_).isEmpty).map(call => s"${step.file} does not call $call") ++
      Option.when(i > 0 && !isCalled)(s"${step.file} has no method that is called before")
  }

  private def loader = getClass.getClassLoader

  private def loaded(name: String): Class[_] = Class.forName(name.replace('/', '.'), false, loader)

  /** The classes of a file of any module on the class path: a class knows the name of its file, and has the path as its package. */
  private def compiled(file: String): Seq[ClassNode] = {
    val (folder, name) = file.splitAt(file.lastIndexOf('/') + 1)
    for {
      home <- loader.getResources(s"io/github/dynamickafka/$folder").asScala.toSeq
      path <- Using.resource(Files.list(Path.of(home.toURI)))(_.iterator.asScala.toVector)
      if path.toString.endsWith(".class")
      found = new ClassNode
      _ = new ClassReader(Files.readAllBytes(path)).accept(found, ClassReader.SKIP_FRAMES)
      if found.sourceFile == name
    } yield found
  }
}
