package io.github.dynamickafka.storage

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession

/**
 * The Hadoop configuration with which Spark accesses a checkpoint: that of the application and all settings of the session,
 * among them `spark.sql.streaming.checkpointFileManagerClass`.
 */
private[dynamickafka] object SessionConfiguration {

  def of(session: SparkSession): Configuration = {
    val own = new Configuration(session.sparkContext.hadoopConfiguration)
    session.conf.getAll.foreach { case (name, value) => if (value != null) own.set(name, value) }
    own
  }
}
