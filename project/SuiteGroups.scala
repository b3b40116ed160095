import sbt._

/** Suites in groups that take about as long as each other, by the seconds that each took when `make weights` last ran. */
object SuiteGroups {

  /** As many groups as run at a time. Each has one JVM and brokers of its own, and runs one suite after the other. */
  val Count = 3

  /** A suite that has never been measured counts as a short one. */
  private val Unknown = 5.0

  def apply(suites: Seq[TestDefinition], weights: File, fork: ForkOptions): Seq[Tests.Group] = {
    val seconds = IO.readLines(weights).map(_.split("\\s+")).collect { case Array(name, s) =>
      name -> s.toDouble
    }.toMap
    def weight(suite: TestDefinition) = seconds.getOrElse(suite.name.split('.').last, Unknown)
    val empty = Vector.fill(Count)((0.0, Vector.empty[TestDefinition]))
    // The longest first, each into the group that has the least to do.
    val groups = suites.sortBy(s => (-weight(s), s.name)).foldLeft(empty) { (filled, suite) =>
      val lightest = filled.indices.minBy(filled(_)._1)
      val (total, members) = filled(lightest)
      filled.updated(lightest, (total + weight(suite), members :+ suite))
    }
    groups.zipWithIndex.map { case ((_, members), i) =>
      new Tests.Group(s"group-${i + 1}", members, Tests.SubProcess(fork))
    }
  }
}
