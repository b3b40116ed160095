package io.github.dynamickafka.testkit

import org.scalatest.Tag

/** Of a test that only `make test-all` runs: what it shows is shown by another one in `make test`, or it takes too long. */
object TestAll extends Tag("io.github.dynamickafka.testkit.TestAll")
