package io.github.dynamickafka.source.report

import java.net.URI
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest}

import org.apache.spark.sql.SparkSession

/** Responses of Spark's web server. */
final class SparkUi(spark: SparkSession) {
  private val client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build()

  def get(path: String): String = {
    val address = spark.sparkContext.uiWebUrl.getOrElse(throw new AssertionError("there is no UI"))
    val request = HttpRequest.newBuilder(URI.create(s"$address$path")).build()
    val answer = client.send(request, BodyHandlers.ofString)
    if (answer.statusCode != 200) throw new AssertionError(s"$path: ${answer.statusCode}")
    answer.body
  }

  /** The connector's metrics as Prometheus scrapes them: name without labels, and value. */
  def exported(): Map[String, Double] = get("/metrics/prometheus").linesIterator.collect {
    case SparkUi.Line(name, value) if name.contains("dynamicKafka") => name -> value.toDouble
  }.toMap
}

object SparkUi {
  private val Line = """([a-zA-Z_:][a-zA-Z0-9_:]*)\{[^}]*\} (\S+)""".r
}
