package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.time.Duration
import java.util.concurrent.{ExecutionException, TimeUnit, TimeoutException}

/** Sends one HTTP request, with a time limit for the whole exchange. */
private[metadata] object HttpExchange {

  /** Does not follow redirects, which would send the headers, and credentials in them, to another address. */
  def client(connectTimeoutMs: Long): HttpClient =
    HttpClient.newBuilder()
      .version(HttpClient.Version.HTTP_1_1)
      .followRedirects(HttpClient.Redirect.NEVER)
      .connectTimeout(Duration.ofMillis(connectTimeoutMs))
      .build()

  /**
   * @param shown the address for error messages
   * @param timeoutMs the limit for the whole exchange. The timeout of `HttpRequest` covers only the headers of the
   *                  response
   * @throws InterruptedException immediately when the calling thread is interrupted; the request is cancelled
   */
  def send(client: HttpClient, request: HttpRequest, shown: String, timeoutMs: Long): HttpResponse[String] = {
    val exchange = client.sendAsync(request, HttpResponse.BodyHandlers.ofString())
    try exchange.get(timeoutMs, TimeUnit.MILLISECONDS)
    catch {
      case _: TimeoutException =>
        throw new IOException(s"$shown did not send a complete response within $timeoutMs ms")
      case e: ExecutionException => throw new IOException(s"the request to $shown failed", e.getCause)
    } finally {
      // Has no effect on a completed exchange.
      exchange.cancel(true)
      ()
    }
  }
}
