package io.github.dynamickafka.page

import org.apache.spark.SparkContext

import io.github.dynamickafka.option.NamedClass

/** The page of the driver. The module `page` registers it as a service of the JVM. Thread-safe. */
private[dynamickafka] trait DriverPage {

  /** Where the page of this driver is, if it is open. */
  def address: Option[String]

  /** Shows a source or the sink of a query on the page of this driver. None: it is not shown. The reason is logged. */
  def show(
      settings: PageSettings,
      spark: SparkContext,
      name: String,
      part: String,
      title: String
  ): Option[PageQuery]
}

private[dynamickafka] object DriverPage {
  lazy val ofJar: DriverPage = NamedClass.ofJar(classOf[DriverPage])
}

/** One source or the sink of a query on the page. The thread of the query calls all methods. */
private[dynamickafka] trait PageQuery {

  /** Exactly these gauges exist from now on. Values have changed: a state that lasts only shortly is not missed. */
  def show(ofQuery: Map[String, () => Long], ofClusters: Map[String, Map[String, () => Long]]): Unit

  def event(what: String, cluster: String, detail: String): Unit

  /** The values of the last moment stay. */
  def close(): Unit
}
