import Dependencies._

ThisBuild / organization := "io.github.dynamickafka"
ThisBuild / scalaVersion := SparkLines.current.scala
ThisBuild / licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0"))
ThisBuild / description := "Spark data source over streams that live on many Kafka clusters"
// Where the repository will be published: docs/dev/releasing.md.
val home = "github.com/dynamickafka/dynamic-kafka-spark"
ThisBuild / organizationName := "Dynamic Kafka for Spark"
ThisBuild / homepage := Some(url(s"https://$home"))
ThisBuild / scmInfo := Some(ScmInfo(url(s"https://$home"), s"scm:git:https://$home.git"))
ThisBuild / pomExtra :=
  <developers>
    <developer>
      <id>dynamickafka</id>
      <name>The Dynamic Kafka for Spark authors</name>
      <organization>Dynamic Kafka for Spark</organization>
      <url>https://github.com/dynamickafka</url>
    </developer>
  </developers>
// Releases whose public classes every build must keep: docs/dev/releasing.md.
val releases = Seq.empty[String]
ThisBuild / Test / fork := true
// Suites wait more than they compute: two test JVMs at a time, each with brokers of its own and one suite after the other.
Global / concurrentRestrictions += Tags.limit(Tags.ForkedTestGroup, 2)

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
  Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDS")
)

lazy val root = (project in file("."))
  .aggregate(connector, testkit, benchmark)
  .settings(target := SparkLines.target(baseDirectory.value), publish / skip := true)

/** The artifact that users name: everything of the product. */
lazy val connector = (project in file("jvm/connector"))
  .enablePlugins(BuildInfoPlugin)
  .dependsOn(testkit % Test)
  .settings(common)
  .settings(LocalJars.settings)
  .settings(Coverage.settings)
  .settings(
    Compile / packageBin / mappings ++= Seq("LICENSE", "NOTICE").map { file =>
      (ThisBuild / baseDirectory).value / file -> s"META-INF/$file"
    },
    mimaPreviousArtifacts := releases.map(organization.value %% moduleName.value % _).toSet,
    mimaFailOnNoPrevious := false,
    Test / testGrouping := {
      val fork = (Test / forkOptions).value
      val (ofSource, others) =
        (Test / definedTests).value.partition(_.name.startsWith("io.github.dynamickafka.source."))
      Seq("source" -> ofSource, "others" -> others).map { case (name, suites) =>
        Tests.Group(name, suites, Tests.SubProcess(fork))
      }
    },
    name := s"dynamic-kafka-spark-${SparkLines.current.minor}",
    // sbt would make "4-0" of "4.0".
    moduleName := name.value,
    buildInfoKeys := Seq[BuildInfoKey](version, "sparkLine" -> SparkLines.current.minor),
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
    Test / javaOptions += s"-Ddynamickafka.root=${(ThisBuild / baseDirectory).value}",
    // A failed property-based run is repeated with its seed: SBT_OPTS=-Ddynamickafka.seed=N.
    Test / javaOptions ++= sys.props.get("dynamickafka.seed").map(seed => s"-Ddynamickafka.seed=$seed").toSeq
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
