package io.github.dynamickafka.testkit

import org.scalatest.Tag

/** Marks a test that only `make test-all` runs: another test shows the same in `make test`, or it takes too long. */
object TestAll extends Tag("io.github.dynamickafka.testkit.TestAll")
