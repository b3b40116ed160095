import sbt._

/**
 * The compatible versions of the dependencies for one Spark minor version. Each line is one artifact.
 *
 * @param kafkaClients a version without KAFKA-19479, with which `flush` does not wait for parts of a batch that is split: Spark 4.1 and
 *                     4.0 have 3.9.1 and 3.9.0
 * @param clientsOfOthers another version, with which a part of the tests runs
 * @param hadoop the version that Spark depends on, and `awsSdk` the one of its S3A
 */
final case class SparkLine(
    minor: String,
    spark: String,
    scala: String,
    kafkaClients: String,
    clientsOfOthers: String,
    snakeyaml: String,
    kubernetesClient: String,
    kubernetesServer: String,
    jackson: String,
    hadoop: String,
    awsSdk: String
)

object SparkLines {

  /**
   * The first is the default: the newest whose jars and PySpark are all published. PySpark is tested in the version of
   * `spark`.
   */
  val all: Seq[SparkLine] = Seq(
    SparkLine(
      minor = "4.2",
      spark = "4.2.0",
      scala = "2.13.18",
      kafkaClients = "3.9.2",
      clientsOfOthers = "4.3.1",
      snakeyaml = "2.5",
      kubernetesClient = "7.6.1",
      kubernetesServer = "7.6.1",
      jackson = "2.21.2",
      hadoop = "3.5.0",
      awsSdk = "2.35.4"
    ),
    SparkLine(
      minor = "4.1",
      spark = "4.1.3",
      scala = "2.13.17",
      kafkaClients = "3.9.2",
      clientsOfOthers = "3.9.1",
      snakeyaml = "2.5",
      kubernetesClient = "7.4.1",
      kubernetesServer = "7.4.0",
      jackson = "2.21.2",
      hadoop = "3.4.2",
      awsSdk = "2.29.52"
    ),
    SparkLine(
      minor = "4.0",
      spark = "4.0.0",
      scala = "2.13.16",
      kafkaClients = "3.9.2",
      clientsOfOthers = "3.9.0",
      snakeyaml = "2.3",
      kubernetesClient = "7.1.0",
      kubernetesServer = "7.1.0",
      jackson = "2.18.2",
      hadoop = "3.4.1",
      awsSdk = "2.24.6"
    )
  )

  /** The line that is built: `-DsparkLine=4.1`, or sbt's command `sparkLine 4.1` from one command to the next. */
  def current: SparkLine = {
    val line = sys.props.get("sparkLine") match {
      case None => all.head
      case Some(wanted) =>
        all.find(_.minor == wanted).getOrElse(
          sys.error(s"no Spark line '$wanted'; there are ${all.map(_.minor).mkString(", ")}")
        )
    }
    otherClients.fold(line)(version => line.copy(kafkaClients = version))
  }

  /** Another Kafka client than that of the line, to compile and test with: `-DkafkaClients=4.3.1`. */
  def otherClients: Option[String] = sys.props.get("kafkaClients")

  /**
   * A separate directory for each line and each other Kafka client, so that they do not overwrite each other's jars. The
   * first line uses sbt's default.
   */
  def target(base: File): File = {
    val default = base / "target"
    val ofLine = if (current.minor == all.head.minor) default else default / s"line-${current.minor}"
    otherClients.fold(ofLine)(version => ofLine / s"clients-$version")
  }

  /** The folder beside `scala` with the sources for what differs between lines. */
  def ownSources: String = if (current.minor == "4.0") "spark-4.0" else "spark-4.1"
}
