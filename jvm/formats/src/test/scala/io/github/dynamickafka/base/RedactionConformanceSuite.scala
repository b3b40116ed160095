package io.github.dynamickafka.base

import java.nio.file.{Files, Path}

import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.Conformance

class RedactionConformanceSuite extends AnyFunSuite {

  Conformance.cases("redaction").foreach { one =>
    val (property, value) = (one.get("property").asText, one.get("value").asText)
    test(s"$property=$value") {
      assert(Redaction.isSafe(property, value) == one.get("shown").asBoolean)
    }
  }

  test("the jar contains the list of the Python package") {
    val resource = getClass.getResourceAsStream("/io/github/dynamickafka/redaction.json")
    val file = Path.of(sys.props("dynamickafka.root"), "python", "src", "dynamic_kafka", "redaction.json")
    assert(Using.resource(resource)(in => new String(in.readAllBytes, "UTF-8")) == Files.readString(file))
  }
}
