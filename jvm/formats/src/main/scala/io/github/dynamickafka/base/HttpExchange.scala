package io.github.dynamickafka.base

import java.io.IOException
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.net.{URI, URISyntaxException}
import java.nio.ByteBuffer
import java.time.Duration
import java.util.Locale
import java.util.concurrent.{CompletionStage, ExecutionException, Flow, TimeUnit, TimeoutException}
import java.{util => ju}

import javax.net.ssl.SSLContext

/** Sends one HTTP request, with limits for the time of the whole exchange and for the size of the response. */
private[dynamickafka] object HttpExchange {
  private val MegaByte = 1024 * 1024

  /** No document and no schema is nearly as long; the bytes of a response are kept in memory. */
  val LongestMegaBytes: Int = 16

  /** For requests without TLS settings of their own. Its threads are daemons. */
  lazy val plain: HttpClient = client(connectTimeoutMs = 10000L)

  /** Does not follow redirects, which would send the headers, and credentials in them, to another address. */
  def client(connectTimeoutMs: Long, tls: Option[SSLContext] = None): HttpClient = {
    val builder = HttpClient.newBuilder()
      .version(HttpClient.Version.HTTP_1_1)
      .followRedirects(HttpClient.Redirect.NEVER)
      .connectTimeout(Duration.ofMillis(connectTimeoutMs))
    tls.foreach(builder.sslContext)
    builder.build()
  }

  /**
   * The address of a server, or why a text is none, which contains nothing of the text.
   *
   * @param form what such an address looks like
   * @param login where to write user and password
   */
  def address(url: String, form: String, login: String): Either[String, URI] =
    try {
      val uri = new URI(url)
      if (uri.getRawUserInfo != null || Option(uri.getRawAuthority).exists(_.contains('@')))
        Left(s"it must not contain user and password$login")
      else if (
        !Option(uri.getScheme).exists(_.toLowerCase(Locale.ROOT).matches("https?")) || uri.getHost == null
      )
        Left(s"it does not have the form $form")
      else Right(uri)
    } catch { case e: URISyntaxException => Left(s"it is not a valid URL: ${e.getReason}") }

  /**
   * @param timeoutMs the limit for the whole exchange. The timeout of `HttpRequest` covers only the headers of the
   *                  response
   * @throws ResponseTooLong if the body has more than [[LongestMegaBytes]]
   * @throws IOException if there is no complete response
   * @throws InterruptedException immediately when the calling thread is interrupted; the request is cancelled
   */
  def send(client: HttpClient, request: HttpRequest, timeoutMs: Long): HttpResponse[String] = {
    val text = HttpResponse.BodyHandlers.ofString()
    val exchange =
      client.sendAsync(request, info => new LimitedBody(text.apply(info), LongestMegaBytes * MegaByte))
    try exchange.get(timeoutMs, TimeUnit.MILLISECONDS)
    catch {
      case _: TimeoutException => throw new IOException(s"no complete response within $timeoutMs ms")
      case e: ExecutionException => throw (e.getCause match {
          case io: IOException => io
          case other => new IOException(other)
        })
    } finally {
      // Has no effect on a completed exchange.
      exchange.cancel(true)
      ()
    }
  }

  /** Gives up a body that is longer than `longest`, before the rest of it arrives. */
  private final class LimitedBody(text: HttpResponse.BodySubscriber[String], longest: Int)
      extends HttpResponse.BodySubscriber[String] {
    private var left = longest.toLong
    private var subscription: Flow.Subscription = _

    override def getBody: CompletionStage[String] = text.getBody

    override def onSubscribe(to: Flow.Subscription): Unit = {
      subscription = to
      text.onSubscribe(to)
    }

    override def onNext(bytes: ju.List[ByteBuffer]): Unit = if (left >= 0) {
      bytes.forEach(b => left -= b.remaining)
      if (left >= 0) text.onNext(bytes)
      else {
        subscription.cancel()
        text.onError(new ResponseTooLong)
      }
    }

    override def onError(e: Throwable): Unit = text.onError(e)
    override def onComplete(): Unit = if (left >= 0) text.onComplete()
  }
}

/** Another attempt would receive the same response. */
private[dynamickafka] final class ResponseTooLong
    extends IOException(s"the response has more than ${HttpExchange.LongestMegaBytes} MB")
