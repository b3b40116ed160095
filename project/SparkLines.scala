/** What one Spark minor needs. Versions that load together; each line is one artifact. */
final case class SparkLine(
    minor: String,
    spark: String,
    scala: String,
    kafkaClients: String,
    snakeyaml: String,
    kubernetesClient: String
)

object SparkLines {
  val all: Seq[SparkLine] = Seq(
    SparkLine(
      minor = "4.0",
      spark = "4.0.0",
      scala = "2.13.16",
      kafkaClients = "3.9.0",
      snakeyaml = "2.3",
      kubernetesClient = "7.1.0"
    )
  )

  /** The line that is built: `-DsparkLine=4.0`; the first one if nothing is said. */
  val current: SparkLine = sys.props.get("sparkLine") match {
    case None => all.head
    case Some(wanted) =>
      all.find(_.minor == wanted).getOrElse(
        sys.error(s"no Spark line '$wanted'; there are ${all.map(_.minor).mkString(", ")}")
      )
  }
}
