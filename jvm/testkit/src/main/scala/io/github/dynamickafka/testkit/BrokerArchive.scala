package io.github.dynamickafka.testkit

import java.nio.file.StandardCopyOption.REPLACE_EXISTING
import java.nio.file.{Files, Path, Paths}

/**
 * Writes the class data archive of each broker version (JEP 310) that does not exist or belongs to another class path:
 * a broker that starts with it needs half of the CPU time.
 */
private[testkit] object BrokerArchive {
  private val Property = "dynamic-kafka.testkit.archive"

  /** The archive that brokers of this JVM write when they end. */
  def toWrite: Option[Path] = sys.props.get(Property).map(Paths.get(_))

  def main(args: Array[String]): Unit =
    BrokerVersions.all.filterNot(isCurrent).foreach { version =>
      val archive = BrokerVersions.archive(version)
      val written = archive.resolveSibling(s"$version.new")
      Files.createDirectories(archive.getParent)
      sys.props(Property) = written.toString
      val cluster = KafkaCluster.start(s"archive-$version", version)
      try {
        cluster.createTopic("t")
        cluster.produce("t", Seq(Record(0, None, "v")))
        cluster.dump("t")
        // The archive is written when the process ends.
        cluster.restart()
      } finally cluster.stop()
      Files.move(written, archive, REPLACE_EXISTING)
      Files.writeString(madeFor(version), madeBy(version))
    }

  private def isCurrent(version: String): Boolean = {
    val label = madeFor(version)
    Files.exists(label) && Files.readString(label) == madeBy(version)
  }

  /** A JVM refuses the archive of another JVM or class path. */
  private def madeBy(version: String): String =
    s"${System.getProperty("java.vm.version")}\n${BrokerVersions.classpath(version)}"

  private def madeFor(version: String): Path =
    BrokerVersions.archive(version).resolveSibling(s"$version.txt")
}
