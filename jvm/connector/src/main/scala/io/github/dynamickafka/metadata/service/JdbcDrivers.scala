package io.github.dynamickafka.metadata.service

import java.sql.{Driver, DriverManager, SQLException}
import java.util.ServiceLoader

import scala.jdk.StreamConverters._
import scala.util.Try

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.redaction.{AddressText, Redaction}

/** Finds JDBC drivers, including those in jars that Spark adds at runtime. */
private[metadata] object JdbcDrivers {

  /**
   * Returns the driver that accepts this URL. `DriverManager` alone is not sufficient: it loads the drivers that are
   * available at its first use in this JVM, which may not include those of `spark.jars.packages`.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION if no driver accepts it
   */
  def find(url: String): Driver =
    (loaded ++ DriverManager.drivers.toScala(Seq)).find(takes(_, url)).getOrElse {
      throw Errors.invalidOption(
        ServiceArguments.option("url"),
        if (url.startsWith("jdbc:")) AddressText.jdbc(url) else Redaction.Redacted,
        "no JDBC driver on the class path accepts it. Add the jar of the driver, for example to spark.jars.packages"
      )
    }

  private def loaded: Seq[Driver] =
    Seq(Thread.currentThread.getContextClassLoader, getClass.getClassLoader).filter(_ != null).distinct
      .flatMap(ServiceLoader.load(classOf[Driver], _).stream().toScala(Seq))
      // A driver that cannot be loaded must not prevent the use of another one.
      .flatMap(provider => Try(provider.get).toOption)

  private def takes(driver: Driver, url: String): Boolean =
    try driver.acceptsURL(url)
    catch { case _: SQLException => false }
}
