package io.github.dynamickafka.testkit

/** How many random cases a test compares. */
object RandomCases {
  private val all = sys.props.get("dynamickafka.tests").contains("all")

  /** This number in `make test-all`, whose seed is a new one each time, and a third of it in `make test`. */
  def apply(number: Int): Int = if (all) number else number / 3
}
