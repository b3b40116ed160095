package io.github.dynamickafka.metadata.service

import java.sql.{Driver, DriverManager, SQLException}
import java.util.ServiceLoader

import scala.jdk.StreamConverters._
import scala.util.Try

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{AddressText, Redaction}

/** JDBC drivers, wherever Spark has put their jars. */
private[metadata] object JdbcDrivers {

  /**
   * The driver that takes this url. `DriverManager` alone would not do: it knows the drivers that were there when it
   * was first used in this JVM, and not those that `spark.jars.packages` has brought since.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, if there is none
   */
  def find(url: String): Driver =
    (loaded ++ DriverManager.drivers.toScala(Seq)).find(takes(_, url)).getOrElse {
      throw Errors.invalidOption(
        ServiceArguments.option("url"),
        if (url.startsWith("jdbc:")) AddressText.jdbc(url) else Redaction.Redacted,
        "no JDBC driver on the class path takes it. Add the driver's jar, for example to spark.jars.packages"
      )
    }

  private def loaded: Seq[Driver] =
    Seq(Thread.currentThread.getContextClassLoader, getClass.getClassLoader).filter(_ != null).distinct
      .flatMap(ServiceLoader.load(classOf[Driver], _).stream().toScala(Seq))
      // A driver that cannot be loaded is none that could be meant, and no obstacle for the others.
      .flatMap(provider => Try(provider.get).toOption)

  private def takes(driver: Driver, url: String): Boolean =
    try driver.acceptsURL(url)
    catch { case _: SQLException => false }
}
