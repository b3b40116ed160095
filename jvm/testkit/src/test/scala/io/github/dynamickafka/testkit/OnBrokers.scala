package io.github.dynamickafka.testkit

import org.scalatest.{TestSuite, TestSuiteMixin}

/** Marks suites that start brokers: `make test-fast` leaves them out. */
trait OnBrokers extends TestSuiteMixin { this: TestSuite =>

  abstract override def tags: Map[String, Set[String]] = {
    val own = super.tags
    testNames.iterator.map(name =>
      name -> (own.getOrElse(name, Set.empty) + classOf[OnBrokers].getName)
    ).toMap
  }
}
