package io.github.dynamickafka.testkit

import org.scalatest.Tag

/** Marks a test that needs no brokers and takes too long for `make test-fast`; `make test` runs it. */
object NotInFast extends Tag("io.github.dynamickafka.testkit.NotInFast")
