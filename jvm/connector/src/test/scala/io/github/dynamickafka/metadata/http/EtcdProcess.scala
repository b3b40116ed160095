package io.github.dynamickafka.metadata.http

import java.io.File
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest}
import java.net.{ServerSocket, URI}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.util.Base64

import scala.util.{Try, Using}

/** A process of etcd, with one member. */
final class EtcdProcess(binary: String) extends KeyValueServer {
  private val folder = Files.createTempDirectory("etcd")
  private val port = freePort()
  private val peers = freePort()
  private val client = HttpClient.newHttpClient()
  private var process = launch()

  override val url: String = s"http://127.0.0.1:$port"

  override def put(key: String, value: String): Unit =
    post("put", s"""{"key": "${base64(key)}", "value": "${base64(value)}"}""")

  override def delete(key: String): Unit = post("deleterange", s"""{"key": "${base64(key)}"}""")

  override def stop(): Unit = { val _ = process.destroyForcibly().waitFor() }
  override def start(): Unit = process = launch()
  override def close(): Unit = stop()

  private def base64(text: String) = Base64.getEncoder.encodeToString(text.getBytes(UTF_8))

  private def post(what: String, body: String): Unit = {
    val request = HttpRequest.newBuilder(URI.create(s"http://127.0.0.1:$port/v3/kv/$what"))
      .POST(BodyPublishers.ofString(body)).build()
    val response = client.send(request, BodyHandlers.ofString())
    assert(response.statusCode == 200, response.body)
  }

  private def freePort() = Using.resource(new ServerSocket(0))(_.getLocalPort)

  private def launch(): Process = {
    val (clients, members) = (s"http://127.0.0.1:$port", s"http://127.0.0.1:$peers")
    val started = new ProcessBuilder(
      binary,
      s"--data-dir=$folder/data",
      s"--listen-client-urls=$clients",
      s"--advertise-client-urls=$clients",
      s"--listen-peer-urls=$members",
      s"--initial-advertise-peer-urls=$members",
      s"--initial-cluster=default=$members"
    ).redirectErrorStream(true).redirectOutput(new File(folder.toFile, "log")).start()
    while (!Try(post("range", s"""{"key": "${base64("a")}"}""")).isSuccess) {
      assert(started.isAlive, Files.readString(folder.resolve("log")))
      Thread.sleep(20)
    }
    started
  }
}
