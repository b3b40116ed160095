package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.time.Duration
import java.util.concurrent.{ExecutionException, TimeUnit, TimeoutException}

/** One request and its answer, within a time limit that holds for all of it. */
private[metadata] object HttpExchange {

  /** No redirects: they would carry the headers, and with them credentials, to whatever address the answer names. */
  def client(connectTimeoutMs: Long): HttpClient =
    HttpClient.newBuilder()
      .version(HttpClient.Version.HTTP_1_1)
      .followRedirects(HttpClient.Redirect.NEVER)
      .connectTimeout(Duration.ofMillis(connectTimeoutMs))
      .build()

  /**
   * @param shown the address for error texts
   * @param timeoutMs a limit of the request itself would end with the answer's headers, and a body can take for ever
   * @throws InterruptedException at once when the calling thread is interrupted; the request is given up
   */
  def send(client: HttpClient, request: HttpRequest, shown: String, timeoutMs: Long): HttpResponse[String] = {
    val exchange = client.sendAsync(request, HttpResponse.BodyHandlers.ofString())
    try exchange.get(timeoutMs, TimeUnit.MILLISECONDS)
    catch {
      case _: TimeoutException => throw new IOException(s"$shown gave no whole answer within $timeoutMs ms")
      case e: ExecutionException => throw new IOException(s"$shown gave no answer", e.getCause)
    } finally {
      // No effect on one that has ended.
      exchange.cancel(true)
      ()
    }
  }
}
