import Dependencies._

ThisBuild / organization := "io.github.dynamickafka"
ThisBuild / scalaVersion := SparkLines.current.scala
// Before 1.0, a minor version may break: docs/compatibility.md.
ThisBuild / versionScheme := Some("early-semver")
ThisBuild / licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0"))
ThisBuild / description := "Spark data source for streams that are distributed over many Kafka clusters"
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
// Suites mostly wait, so several test JVMs run at a time. Each has its own brokers and runs its suites one after the other.
// sbt's default is one; a further restriction could not raise it, so all of them are given.
Global / concurrentRestrictions := Seq(
  Tags.limit(Tags.ForkedTestGroup, SuiteGroups.AtATime),
  Tags.limit(Tags.CPU, 2),
  Tags.exclusiveGroup(Tags.Clean)
)

// One session of sbt builds for several Spark lines: "sparkLine 4.1" applies to the commands after it.
commands += Command.single("sparkLine") { (state, line) =>
  sys.props("sparkLine") = line
  "reload" :: state
}

// `make test` starts the end-to-end tests when the jars are there: "touch target/built".
commands += Command.args("touch", "<file>") { (state, files) =>
  files.foreach(name => IO.touch(file(name)))
  state
}

// Likewise with another Kafka client, "kafkaClients 4.3.1", until "kafkaClients default".
commands += Command.single("kafkaClients") { (state, version) =>
  if (version == "default") sys.props -= "kafkaClients" else sys.props("kafkaClients") = version
  "reload" :: state
}

// Tags of tests that do not run: -Dtests=all is `make test-all`, -Dtests=fast is `make test-fast`.
val chosenTests = sys.props.getOrElse("tests", "default")
val leftOut = chosenTests match {
  case "all" => Nil
  case "default" => Seq("TestAll")
  case "fast" => Seq("TestAll", "OnBrokers", "NotInFast")
  case other => sys.error(s"-Dtests=$other: there are all, default and fast")
}

// The list of Spark for JDK 17 (JavaModuleOptions).
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

// Where random choices of the tests begin: everywhere the same, unless DYNAMIC_KAFKA_SEED is another number or 'random'.
val testSeed = sys.env.get("DYNAMIC_KAFKA_SEED").filter(_.nonEmpty) match {
  case Some("random") =>
    val chosen = scala.util.Random.nextInt(1000000).toLong
    println(s"DYNAMIC_KAFKA_SEED=$chosen")
    chosen
  case number => number.fold(91L)(_.toLong)
}

val common = Seq(
  target := SparkLines.target(baseDirectory.value),
  tpolecatDevModeOptions ++= Set(org.typelevel.scalacoptions.ScalacOptions.fatalWarnings),
  // An assert in the middle of a test is a discarded value.
  Test / tpolecatExcludeOptions ++= Set(
    org.typelevel.scalacoptions.ScalacOptions.warnNonUnitStatement,
    org.typelevel.scalacoptions.ScalacOptions.warnValueDiscard
  ),
  tpolecatExcludeOptions += org.typelevel.scalacoptions.ScalacOptions.warnNonUnitStatement,
  // A later client deprecates what the client of the line has no replacement for.
  scalacOptions ++= SparkLines.otherClients.map(_ => "-Wconf:cat=deprecation:silent"),
  javacOptions ++= Seq("-Xlint:all,-processing,-serial", "-Werror", "--release", "17"),
  // Without C2 the JVM reserves a fifth of its usual code cache, see `sbt` at the root.
  Test / javaOptions ++= javaModuleOptions ++
    Seq("-Xmx2g", "-Xss4m", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=240m"),
  // Also for the brokers that they start: these JVMs are too short-lived for the C2 compiler, which took half of the CPU.
  Test / envVars ++= Map("JDK_JAVA_OPTIONS" -> "-XX:TieredStopAtLevel=1"),
  Test / javaOptions += s"-Ddynamickafka.tests=$chosenTests",
  // A program that runs for half an hour does profit from it.
  Test / run / javaOptions += "-XX:TieredStopAtLevel=4",
  Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDS", "-S", testSeed.toString),
  Test / testOptions ++= leftOut.map(tag =>
    Tests.Argument(TestFrameworks.ScalaTest, "-l", s"io.github.dynamickafka.testkit.$tag")
  )
)

// What differs between Spark lines.
val ownSources =
  Compile / unmanagedSourceDirectories += (Compile / sourceDirectory).value / SparkLines.ownSources

val ownTests =
  Test / unmanagedSourceDirectories += (Test / sourceDirectory).value / SparkLines.ownSources

// Of projects with many suites: they run in groups, and know where docs/ and tests/conformance are.
def suites(groups: Int) = Seq(
  Test / testGrouping := SuiteGroups(
    (Test / definedTests).value,
    (ThisBuild / baseDirectory).value / "project" / "suite-seconds.txt",
    (Test / forkOptions).value,
    groups
  ),
  Test / javaOptions += s"-Ddynamickafka.root=${(ThisBuild / baseDirectory).value}"
)

lazy val root = (project in file("."))
  .aggregate(formats, connector, services, page, admin, testkit, benchmark, smoke)
  .settings(target := SparkLines.target(baseDirectory.value), publish / skip := true)

/**
 * How bytes become columns and back, with Protobuf and schema registries. Has neither Kafka's clients nor the connector on its class path,
 * also in its tests. Not an artifact: its classes are in the connector's jar.
 */
lazy val formats = (project in file("jvm/formats"))
  .dependsOn(testkit % "test->test")
  .settings(common)
  .settings(Coverage.ofSuites)
  .settings(suites(groups = 1))
  .settings(
    name := "dynamic-kafka-formats",
    publish / skip := true,
    ownSources,
    dependencyOverrides += scalaLibrary,
    libraryDependencies ++= Seq(
      sparkSql % Provided,
      scalaTest % Test,
      scalaTestCheck % Test,
      protobuf % Test,
      protobufFiles % Test,
      sparkAvro % Test
    ),
    // The testkit's, for brokers.
    Test / dependencyClasspath ~= (_.filterNot(_.data.getName.startsWith("kafka-clients"))),
    // One list of harmless Kafka properties, and one schema of metadata files, for the jar and the Python package.
    Compile / resourceGenerators += Def.task {
      Seq("redaction.json", "metadata.schema.json").map { name =>
        val copy = (Compile / resourceManaged).value / "io" / "github" / "dynamickafka" / name
        IO.copyFile((ThisBuild / baseDirectory).value / "python/src/dynamic_kafka" / name, copy)
        copy
      }
    }.taskValue
  )

/** What the connector's jar has beside the connector. By name, because some of them depend on the connector. */
lazy val modules: Seq[ProjectReference] = Seq("formats", "services", "page", "admin").map(LocalProject(_))

/** The artifact for users. */
lazy val connector = (project in file("jvm/connector"))
  .enablePlugins(BuildInfoPlugin)
  .dependsOn(formats % "compile->compile;test->test", testkit % "test->compile;test->test")
  .settings(common)
  .settings(LocalJars.settings)
  .settings(Coverage.ofSuites)
  .settings(Coverage.report((LocalProject("connector") +: modules): _*))
  .settings(suites(groups = 3))
  .settings(OneJar(modules: _*))
  .settings(PublicApi.settings)
  .settings(
    Compile / packageBin / mappings ++= Seq("LICENSE", "NOTICE").map { file =>
      (ThisBuild / baseDirectory).value / file -> s"META-INF/$file"
    },
    // -DapiDocs=false: `make test` publishes for its own tests, which do not read them.
    Compile / packageDoc / publishArtifact := sys.props.getOrElse("apiDocs", "true").toBoolean,
    // Test would inherit it from Compile.
    Test / packageDoc / publishArtifact := false,
    mimaPreviousArtifacts := releases.map(organization.value %% moduleName.value % _).toSet,
    mimaFailOnNoPrevious := false,
    name := s"dynamic-kafka-spark-${SparkLines.current.minor}",
    // sbt would convert "4.2" to "4-2".
    moduleName := name.value,
    // The jar is a library: its tool is run by its name.
    Compile / packageBin / mainClass := None,
    buildInfoKeys := Seq[BuildInfoKey](
      version,
      "sparkLine" -> SparkLines.current.minor,
      "snakeyaml" -> SparkLines.current.snakeyaml
    ),
    buildInfoPackage := "io.github.dynamickafka.build",
    dependencyOverrides ++= scalaLibrary +: kafkaClientsOverride,
    libraryDependencies ++= Seq(
      sparkSql % Provided,
      snakeyaml % Provided,
      scalaTest % Test,
      scalaTestCheck % Test,
      jacksonYaml % Test,
      kerberosServer % Test,
      mirrorClient % Test,
      protobuf % Test,
      sparkAvro % Test
    ) ++ sparkSqlKafka,
    ownSources,
    ownTests
  )

/** What uses the connector, which finds it as a service of the JVM. Not an artifact: its classes are in the connector's jar. */
def module(id: String): Project = Project(id, file(s"jvm/$id"))
  .dependsOn(connector % "compile->compile;test->test")
  .settings(common)
  .settings(Coverage.ofSuites)
  .settings(suites(groups = 1))
  .settings(
    name := s"dynamic-kafka-$id",
    publish / skip := true,
    dependencyOverrides ++= scalaLibrary +: kafkaClientsOverride,
    libraryDependencies ++= Seq(sparkSql, snakeyaml).map(_ % Provided)
  )

/** Metadata services that need a library which the connector does without. */
lazy val services = module("services").settings(
  libraryDependencies ++= Seq(kubernetesClient % Provided, kubernetesServer % Test) ++ postgres.map(_ % Test)
)

/** The page of a driver, with the files that it serves. */
lazy val page = module("page")

/** Commands and procedures. Also has the suites that need all of the jar on brokers, which one JVM starts for them. */
lazy val admin = module("admin").dependsOn(services % "test->test", page % "test->test")

/**
 * Lineage: what OpenLineage's listener loads. An artifact of its own, because a class of the connector's jar that needs OpenLineage's
 * classes would end applications that have OpenLineage in another class loader. Not in `root`, so that no other build fetches
 * OpenLineage: `make extra NAME=lineage`.
 */
lazy val lineage = (project in file("jvm/lineage"))
  .dependsOn(connector % Provided, testkit % "test->test")
  .settings(common)
  .settings(
    name := s"dynamic-kafka-openlineage-${SparkLines.current.minor}",
    moduleName := name.value,
    Compile / packageBin / mappings ++= Seq("LICENSE", "NOTICE").map { file =>
      (ThisBuild / baseDirectory).value / file -> s"META-INF/$file"
    },
    dependencyOverrides += scalaLibrary,
    libraryDependencies ++= Seq(sparkSql % Provided, openLineage % Provided, scalaTest % Test)
  )

/** Starts real Kafka brokers as processes, for the suites, pytest, the demo and the benchmark. */
lazy val testkit = (project in file("jvm/testkit"))
  .settings(common)
  .settings(BrokerClasspaths.settings)
  .settings(TestkitClasspath.settings)
  .settings(
    name := "dynamic-kafka-testkit",
    publish / skip := true,
    // The brokers, which are processes of their own, have a later library than the compiler of the older Spark lines.
    allowUnsafeScalaLibUpgrade := true,
    libraryDependencies ++= Seq(kafkaClients, jackson, brokerLogging % Runtime, scalaTest % Test)
  )

/** The part of the benchmark that does not require Spark: composite offsets with many partitions. */
lazy val benchmark = (project in file("jvm/benchmark"))
  .dependsOn(connector)
  .settings(common)
  .settings(
    name := "dynamic-kafka-benchmark",
    publish / skip := true,
    ownSources,
    dependencyOverrides += scalaLibrary,
    libraryDependencies += sparkSql % Provided
  )

/** What `make test` runs on each Spark line. */
lazy val smoke = (project in file("jvm/smoke"))
  .dependsOn(connector, testkit)
  .settings(common)
  .settings(OtherClients.settings)
  .settings(
    name := "dynamic-kafka-smoke",
    publish / skip := true,
    run / fork := true,
    run / javaOptions ++= javaModuleOptions ++ Seq(
      "-Xmx1g",
      "-XX:+UseSerialGC",
      "-XX:TieredStopAtLevel=1",
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    ),
    run / outputStrategy := Some(StdoutOutput),
    dependencyOverrides ++= scalaLibrary +: kafkaClientsOverride,
    libraryDependencies += sparkSql
  )

/** A history in a table of Iceberg: `make extra NAME=iceberg`. Not in `root`, because nothing else has its dependency. */
lazy val iceberg = (project in file("jvm/iceberg"))
  .dependsOn(connector % "test->test")
  .settings(common)
  .settings(
    name := "dynamic-kafka-iceberg",
    publish / skip := true,
    dependencyOverrides += scalaLibrary,
    libraryDependencies ++= Seq(sparkSql, icebergRuntime).map(_ % Test)
  )

/** The files of a checkpoint on HDFS and S3: `make extra NAME=stores`. Not in `root`, because nothing else has its dependencies. */
lazy val stores = (project in file("jvm/stores"))
  .dependsOn(connector % "test->test")
  .settings(common)
  .settings(
    name := "dynamic-kafka-stores",
    publish / skip := true,
    dependencyOverrides += scalaLibrary,
    libraryDependencies ++= (sparkSql +: hadoopStores).map(_ % Test)
  )
