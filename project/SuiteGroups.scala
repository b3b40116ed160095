import sbt._

/** Suites in groups that take about as long as each other, by the seconds that each took when `make extra NAME=weights` last ran. */
object SuiteGroups {

  /**
   * As many groups run at a time. Each has one JVM and brokers of its own, and runs one suite after the other. The connector's three
   * start together and end together, beside the simulations, the suites of the other modules and the end-to-end tests: a group that
   * waits for a small one ends alone, on cores that are half idle.
   */
  val AtATime = 6

  /**
   * Suites without brokers that compute for minutes. The optimizing compiler, which the other JVMs do without, runs three times
   * as many histories per second of CPU.
   */
  private val Simulations =
    Set("CommitSimulationSuite", "TriggerLoopSimulationSuite", "ExplorationSuite") ++
      Set(
        "ReconcilePropertySuite",
        "RenamedClustersPropertySuite",
        "RealTimeSimulationSuite",
        "CopiesSimulationSuite"
      )

  /** A suite that has never been measured counts as a short one. */
  private val Unknown = 5.0

  /**
   * @param count the number of groups. One or two more than run at a time would leave a core idle while the last ones run.
   */
  def apply(suites: Seq[TestDefinition], weights: File, fork: ForkOptions, count: Int): Seq[Tests.Group] = {
    val seconds = IO.readLines(weights).map(_.split("\\s+")).collect { case Array(name, s) =>
      name -> s.toDouble
    }.toMap
    def name(suite: TestDefinition) = suite.name.split('.').last
    def weight(suite: TestDefinition) = seconds.getOrElse(name(suite), Unknown)
    val (simulations, others) = suites.partition(suite => Simulations(name(suite)))
    val empty = Vector.fill(count)((0.0, Vector.empty[TestDefinition]))
    // The longest first, each into the group that has the least to do.
    val groups = others.sortBy(s => (-weight(s), s.name)).foldLeft(empty) { (filled, suite) =>
      val lightest = filled.indices.minBy(filled(_)._1)
      val (total, members) = filled(lightest)
      filled.updated(lightest, (total + weight(suite), members :+ suite))
    }
    // Behind what JDK_JAVA_OPTIONS says, so that it counts.
    val optimized = fork.withRunJVMOptions(fork.runJVMOptions :+ "-XX:TieredStopAtLevel=4")
    new Tests.Group("simulations", simulations, Tests.SubProcess(optimized)) +:
      groups.zipWithIndex.map { case ((_, members), i) =>
        new Tests.Group(s"group-${i + 1}", members, Tests.SubProcess(fork))
      }
  }
}
