package io.github.dynamickafka.offset

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.replacement.ReplacementCases

/** `tests/conformance/plan` has what the rules of this package decide; the Python package reads it too. */
class PlanConformanceSuite extends AnyFunSuite {

  test("the cases for the command `plan` are current; PlanCasesFile writes them") {
    assert(Files.readString(PlanCases.file) == PlanCases.text)
    assert(Files.readString(PlanCases.replacingFile) == PlanCases.replacingText)
    assert(Files.readString(PlanCases.replacedFile) == PlanCases.replacedText)
    assert(Files.readString(ReplacementCases.file) == ReplacementCases.text)
  }
}
