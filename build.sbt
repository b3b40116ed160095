import Dependencies._

ThisBuild / organization := "io.github.dynamickafka"
ThisBuild / scalaVersion := SparkLines.current.scala
ThisBuild / licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0"))
ThisBuild / description := "Spark data source over streams that live on many Kafka clusters"
ThisBuild / Test / fork := true
// Suites wait more than they compute: two test JVMs at a time, each with brokers of its own and one suite after the other.
Global / concurrentRestrictions += Tags.limit(Tags.ForkedTestGroup, SuiteGroups.Count)

// One session of sbt builds for several Spark lines: "sparkLine 4.1" holds for the commands after it.
commands += Command.single("sparkLine") { (state, line) =>
  sys.props("sparkLine") = line
  "reload" :: state
}

// Tags of tests that do not run: -Dtests=all is `make test-all`, -Dtests=fast is `make test-fast`.
val leftOut = sys.props.getOrElse("tests", "default") match {
  case "all" => Nil
  case "default" => Seq("TestAll")
  case "fast" => Seq("TestAll", "OnBrokers")
  case other => sys.error(s"-Dtests=$other: there are all, default and fast")
}
// The same in each run, so that a failure is one of the change at hand; `make test-all` gives another one each time.
val seed = sys.props.getOrElse("dynamickafka.seed", "20261122")

// Spark's own list for JDK 17 (JavaModuleOptions).
val javaModuleOptions = Seq(
  "java.lang",
  "java.lang.invoke",
  "java.lang.reflect",
  "java.io",
  "java.net",
  "java.nio",
  "java.util",
  "java.util.concurrent",
  "java.util.concurrent.atomic",
  "sun.nio.ch",
  "sun.nio.cs",
  "sun.security.action",
  "sun.util.calendar"
).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED") ++ Seq(
  "-Djdk.reflect.useDirectMethodHandle=false",
  "-Dio.netty.tryReflectionSetAccessible=true"
)

val common = Seq(
  target := SparkLines.target(baseDirectory.value),
  tpolecatDevModeOptions ++= Set(org.typelevel.scalacoptions.ScalacOptions.fatalWarnings),
  // An assert in the middle of a test is a value that nobody takes.
  Test / tpolecatExcludeOptions ++= Set(
    org.typelevel.scalacoptions.ScalacOptions.warnNonUnitStatement,
    org.typelevel.scalacoptions.ScalacOptions.warnValueDiscard
  ),
  tpolecatExcludeOptions += org.typelevel.scalacoptions.ScalacOptions.warnNonUnitStatement,
  javacOptions ++= Seq("-Xlint:all,-processing,-serial", "-Werror", "--release", "17"),
  Test / javaOptions ++= javaModuleOptions ++ Seq("-Xmx2g", "-Xss4m", "-XX:+UseSerialGC"),
  // Of the brokers that they start, too: none runs long enough for the optimizing compiler, which took half of the CPU.
  Test / envVars ++= Map("JDK_JAVA_OPTIONS" -> "-XX:TieredStopAtLevel=1"),
  Test / javaOptions += s"-Ddynamickafka.seed=$seed",
  Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDS", "-S", seed),
  Test / testOptions ++= leftOut.map(tag =>
    Tests.Argument(TestFrameworks.ScalaTest, "-l", s"io.github.dynamickafka.testkit.$tag")
  )
)

lazy val root = (project in file("."))
  .aggregate(connector, testkit, benchmark)
  .settings(target := SparkLines.target(baseDirectory.value), publish / skip := true)

/** The artifact that users name: everything of the product. */
lazy val connector = (project in file("jvm/connector"))
  .enablePlugins(BuildInfoPlugin)
  .dependsOn(testkit % "test->compile;test->test")
  .settings(common)
  .settings(LocalJars.settings)
  .settings(
    Test / testGrouping := SuiteGroups(
      (Test / definedTests).value,
      (ThisBuild / baseDirectory).value / "project" / "suite-seconds.txt",
      (Test / forkOptions).value
    ),
    name := s"dynamic-kafka-spark-${SparkLines.current.minor}",
    // sbt would make "4-2" of "4.2".
    moduleName := name.value,
    buildInfoKeys := Seq[BuildInfoKey](
      version,
      "sparkLine" -> SparkLines.current.minor,
      "snakeyaml" -> SparkLines.current.snakeyaml
    ),
    buildInfoPackage := "io.github.dynamickafka",
    buildInfoOptions += BuildInfoOption.PackagePrivate,
    dependencyOverrides += scalaLibrary,
    libraryDependencies ++= Seq(
      sparkSql % Provided,
      snakeyaml % Provided,
      kubernetesClient % Provided,
      scalaTest % Test,
      scalaTestCheck % Test,
      jacksonYaml % Test,
      kubernetesServer % Test
    ) ++ sparkSqlKafka ++ postgres.map(_ % Test),
    // Where docs/ is, for the suites that check it.
    Test / javaOptions += s"-Ddynamickafka.root=${(ThisBuild / baseDirectory).value}"
  )

/** Real Kafka brokers as processes: for the suites, pytest, the demo and the benchmark. */
lazy val testkit = (project in file("jvm/testkit"))
  .settings(common)
  .settings(BrokerClasspaths.settings)
  .settings(TestkitClasspath.settings)
  .settings(
    name := "dynamic-kafka-testkit",
    publish / skip := true,
    libraryDependencies ++= Seq(kafkaClients, jackson, brokerLogging % Runtime, scalaTest % Test)
  )

/** The part of the benchmark that needs no Spark: composite offsets with many partitions. */
lazy val benchmark = (project in file("jvm/benchmark"))
  .dependsOn(connector)
  .settings(common)
  .settings(
    name := "dynamic-kafka-benchmark",
    publish / skip := true,
    dependencyOverrides += scalaLibrary,
    libraryDependencies += sparkSql % Provided
  )
