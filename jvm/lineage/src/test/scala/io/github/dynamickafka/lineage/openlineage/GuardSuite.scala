package io.github.dynamickafka.lineage.openlineage

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class GuardSuite extends AnyFunSuite with TimeLimit {

  test("what fails has no datasets, also if a class or method is missing") {
    assert(Guard(Seq(1, 2)).asScala == Seq(1, 2))
    val failures =
      Seq(new IllegalStateException("x"), new NoSuchMethodError("x"), new NoClassDefFoundError("x"))
    for (failure <- failures) assert(Guard[Int](throw failure).isEmpty)
  }

  test("errors of the JVM are not caught") {
    assertThrows[StackOverflowError](Guard[Int](throw new StackOverflowError))
  }

  test("a node of another version of the connector has no datasets") {
    assert(Guard.test(true))
    assert(!Guard.test(throw new NoClassDefFoundError("io/github/dynamickafka/lineage/HasDatasets")))
  }
}
