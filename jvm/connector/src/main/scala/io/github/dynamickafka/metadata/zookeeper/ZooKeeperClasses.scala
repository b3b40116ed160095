package io.github.dynamickafka.metadata.zookeeper

import io.github.dynamickafka.error.Errors

/** Checks that Curator and ZooKeeper's client, which come with Spark and not with the connector, are on the class path. */
private[metadata] object ZooKeeperClasses {
  private val needed =
    Seq("org.apache.curator.framework.CuratorFrameworkFactory", "org.apache.zookeeper.ZooKeeper")

  /** A version that works with each Spark line; Spark's own distributions have theirs. */
  private val Artifact = "org.apache.curator:curator-framework:5.7.1"

  /** @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, which names the artifact */
  def require(service: String): Unit =
    try needed.foreach(Class.forName(_, false, getClass.getClassLoader))
    catch {
      case e @ (_: ClassNotFoundException | _: LinkageError) =>
        throw Errors.invalidOption(
          "metadataService",
          service,
          "it requires the ZooKeeper client of Spark's distributions, which is not on the class path. Add " +
            s"'$Artifact', for example to spark.jars.packages",
          e
        )
    }
}
