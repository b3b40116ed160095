package io.github.dynamickafka.storage

import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest}
import java.net.{ServerSocket, URI}
import java.util.UUID

import scala.util.{Try, Using}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually._
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.testkit.TimeLimit

/** The files of a checkpoint on S3, by Hadoop's S3A and a server for its requests. */
class S3Suite extends AnyFunSuite with TimeLimit with BeforeAndAfterAll with AtomicFilesBehavior {

  private lazy val port = Using.resource(new ServerSocket(0))(_.getLocalPort)
  private lazy val server = new ProcessBuilder(
    sys.env.getOrElse("MOTO_SERVER", fail("MOTO_SERVER is not set: run 'make extra NAME=stores'")),
    "-p",
    port.toString
  ).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start()

  override def beforeAll(): Unit = {
    server
    val bucket = HttpRequest.newBuilder(URI.create(s"http://localhost:$port/bucket")).PUT(BodyPublishers.ofString("")).build()
    eventually(timeout(60.seconds), interval(200.millis)) {
      assert(Try(HttpClient.newHttpClient.send(bucket, BodyHandlers.discarding).statusCode).toOption.contains(200))
    }
  }

  override def afterAll(): Unit = server.destroy()

  private def newFolder() = new Path(s"s3a://bucket/${UUID.randomUUID()}")

  /** A client of its own for each driver. */
  private def s3a(isConditional: Boolean): Configuration = {
    val hadoop = new Configuration
    Map(
      "fs.s3a.endpoint" -> s"http://localhost:$port",
      "fs.s3a.endpoint.region" -> "us-east-1",
      "fs.s3a.path.style.access" -> "true",
      "fs.s3a.access.key" -> "test",
      "fs.s3a.secret.key" -> "test",
      "fs.s3a.connection.ssl.enabled" -> "false",
      "fs.s3a.create.conditional.enabled" -> isConditional.toString,
      "fs.s3a.impl.disable.cache" -> "true"
    ).foreach { case (name, value) => hadoop.set(name, value) }
    hadoop
  }

  /** Hadoop 3.4.1 has none. */
  private val hasConditionalWrites = BuildInfo.sparkLine != "4.0"

  testsFor(atomicFiles("S3A", newFolder _, s3a(isConditional = true), s3a(isConditional = true)))
  testsFor(
    atomicFiles("S3A without conditional writes", newFolder _, s3a(isConditional = false), s3a(isConditional = false))
  )

  test("conditional writes are used where Hadoop has them") {
    val folder = newFolder()
    Seq(true, false).foreach { chosen =>
      val hadoop = s3a(chosen)
      assert(
        folder.getFileSystem(hadoop).hasPathCapability(folder, ConditionalWrite.Capability) == (chosen && hasConditionalWrites)
      )
    }
  }

  if (hasConditionalWrites)
    test("the store refuses a file that exists when it is written, without a look before") {
      val file = new Path(newFolder(), "file")
      val hadoop = s3a(isConditional = true)
      val write = new ConditionalWrite(file.getFileSystem(hadoop), SparkFileManager.of(file.getParent, hadoop))
      write.create(file, "first".getBytes)
      val e = intercept[java.io.IOException](write.create(file, "second".getBytes))
      assert(e.getMessage.contains("412"), e)
      assert(new AtomicFiles(file.getParent, s3a(isConditional = true)).read(file).contains("first"))
    }
}
