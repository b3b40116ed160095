package io.github.dynamickafka.metadata.remote

import java.util.concurrent.CountDownLatch
import java.util.logging.{Level, Logger}
import java.{util => ju}

import io.fabric8.kubernetes.client.KubernetesClient
import io.fabric8.kubernetes.client.server.mock.{KubernetesMixedDispatcher, KubernetesMockServer}
import io.fabric8.mockwebserver.http.{MockResponse, RecordedRequest}
import io.fabric8.mockwebserver.{Context, MockWebServer, ServerRequest, ServerResponse}

/** The API server of fabric8's tests. */
object ApiServerDouble {

  // It logs every request. The logger is kept, since a level does not outlive its logger.
  private val serverLog = Logger.getLogger(classOf[MockWebServer].getName)
  serverLog.setLevel(Level.WARNING)

  /** What requests meet instead of an answer. */
  final class Faults {
    @volatile var waiting = new CountDownLatch(0)
    @volatile var areForbidden = false
  }

  /** A server that stores what it is given, and first returns the responses that a test expects. */
  def withServer[A](body: (KubernetesMockServer, KubernetesClient) => A): A =
    withFaults((server, client, _) => body(server, client))

  def withFaults[A](body: (KubernetesMockServer, KubernetesClient, Faults) => A): A = {
    val faults = new Faults
    val replies = new ju.HashMap[ServerRequest, ju.Queue[ServerResponse]]
    val server = new KubernetesMockServer(
      new Context,
      new MockWebServer,
      replies,
      new KubernetesMixedDispatcher(replies) {
        override def dispatch(request: RecordedRequest): MockResponse = {
          faults.waiting.await()
          if (faults.areForbidden) new MockResponse().setResponseCode(403) else super.dispatch(request)
        }
      },
      false
    )
    server.init()
    val client = server.createClient()
    try body(server, client, faults)
    finally {
      client.close()
      server.destroy()
    }
  }
}
