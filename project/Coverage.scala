import scala.sys.process.Process

import sbt.Keys._
import sbt._

/**
 * Coverage of the suites, measured by JaCoCo's agent in the test JVMs: with `-Dcoverage=true`, `coverageReport` prints
 * a table by package of what ran since `target/coverage/scala.exec` was last deleted, and writes HTML beside it.
 * JaCoCo reads bytecode, so branches that the Scala compiler generates, as for case classes, count as well. Scoverage
 * reads source, but is a compiler plugin, which is not published for the Scala version of every Spark line.
 */
object Coverage {
  val coverageReport = taskKey[Unit]("Prints the coverage of the suites that have run, and writes HTML")

  private val Jacoco = config("jacoco").hide
  private val version = "0.8.16"
  private val folder = Def.setting((ThisBuild / baseDirectory).value / "target" / "coverage")
  private val jars = Def.task(update.value.select(configurationFilter(Jacoco.name)))

  // The artifact has the agent as a file inside.
  private val agent = Def.task {
    val all = jars.value.filter(_.getName.startsWith("org.jacoco.agent"))
    all.flatMap(IO.unzip(_, target.value / "jacoco", "jacocoagent.jar")).headOption
      .getOrElse(sys.error(s"no jacocoagent.jar in $all"))
  }

  private val isMeasured = sys.props.get("coverage").contains("true")

  /** The suites of a project are measured. */
  val ofSuites: Seq[Setting[_]] =
    if (!isMeasured) Nil
    else Seq(
      ivyConfigurations += Jacoco,
      libraryDependencies ++=
        Seq("org.jacoco.agent", "org.jacoco.cli").map("org.jacoco" % _ % version % Jacoco),
      Test / javaOptions +=
        s"-javaagent:${agent.value}=destfile=${folder.value / "scala.exec"},includes=io.github.dynamickafka.*"
    )

  /** The report is about these projects. */
  def report(modules: ProjectReference*): Seq[Setting[_]] = {
    val all = ScopeFilter(inProjects(modules: _*), inConfigurations(Compile))
    if (!isMeasured) Nil
    else Seq(
      coverageReport := {
        val csv = folder.value / "scala.csv"
        val classes = classDirectory.all(all).value
        val sources = scalaSource.all(all).value
        val command = Seq("java", "-cp", jars.value.mkString(java.io.File.pathSeparator)) ++
          Seq("org.jacoco.cli.internal.Main", "report", (folder.value / "scala.exec").toString, "--quiet") ++
          classes.flatMap(folder => Seq("--classfiles", folder.toString)) ++
          sources.flatMap(folder => Seq("--sourcefiles", folder.toString)) ++
          Seq("--html", (folder.value / "scala").toString, "--csv", csv.toString)
        if (Process(command).! != 0) sys.error("no coverage report was written")
        println(table(IO.readLines(csv)))
      }
    )
  }

  private def table(csv: Seq[String]): String = {
    val header = csv.head.split(',').toSeq
    val classes = csv.tail.map(line => header.zip(line.split(',')).toMap)
    def share(of: Seq[Map[String, String]], what: String) = {
      def sum(which: String) = of.map(_(s"${what}_$which").toLong).sum
      val all = sum("COVERED") + sum("MISSED")
      if (all == 0) "       -      " else f"${100.0 * sum("COVERED") / all}%5.1f %% of $all%5d"
    }
    val byPackage =
      classes.groupBy(_("PACKAGE").stripPrefix("io.github.")).toSeq.sortBy(_._1) :+ ("all" -> classes)
    byPackage.map { case (name, of) => f"$name%-40s ${share(of, "LINE")}   ${share(of, "BRANCH")}" }
      .mkString(f"${"package"}%-40s lines            branches\n", "\n", "")
  }
}
