package io.github.dynamickafka.testkit

import org.scalatest.{TestSuite, TestSuiteMixin}

/** Tags all tests of a suite with [[TestAll]]. */
trait InTestAll extends TestSuiteMixin { this: TestSuite =>

  abstract override def tags: Map[String, Set[String]] = {
    val own = super.tags
    testNames.iterator.map(name => name -> (own.getOrElse(name, Set.empty) + TestAll.name)).toMap
  }
}
