package io.github.dynamickafka.sink

import io.github.dynamickafka.source.Queries
import io.github.dynamickafka.testkit.{BrokerVersions, KafkaCluster, KafkaClusters}

/** Runs a suite on brokers of the oldest supported version of Kafka, which the suites of this JVM share. */
trait OldBrokers extends Queries {
  override def blue: KafkaCluster = OldBrokers.clusters(0)
  override def green: KafkaCluster = OldBrokers.clusters(1)
}

private object OldBrokers {
  lazy val clusters: Seq[KafkaCluster] = KafkaClusters.together(
    Seq("old-blue", "old-green").map(name => () => KafkaCluster.start(name, BrokerVersions.all.last)): _*
  )
}
