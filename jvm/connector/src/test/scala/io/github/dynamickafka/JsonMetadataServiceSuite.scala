package io.github.dynamickafka

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.error.PythonServiceException
import io.github.dynamickafka.testkit.TimeLimit

class JsonMetadataServiceSuite extends AnyFunSuite with TimeLimit {

  private class Python(answer: String => String) extends PythonMetadataService {
    var closed = false
    override def getAllStreams(): String = answer("all")
    override def describeStreams(idsAsJsonArray: String): String = answer(idsAsJsonArray)
    override def isClusterActive(id: String): Boolean = answer(id) == "yes"
    override def close(): Unit = closed = true
  }

  private val Orders =
    """{"version":1,"clusters":{"blue":{"properties":{"bootstrap.servers":"b:1"}}},
      |"streams":{"orders":{"clusters":{"blue":{"topics":["a"],"state":"draining","write":false}}}}}""".stripMargin

  test("answers are passed as documents, ids as a JSON array") {
    var asked = ""
    val python = new Python(a => { asked = a; Orders })
    val service = new JsonMetadataService(python)
    val streams = service.describeStreams(ju.List.of("orders", "a\"b"))
    assert(asked == """["orders","a\"b"]""")
    assert(streams.keySet.asScala == Set("orders"))
    val blue = streams.get("orders").getClusterMetadataMap.get("blue")
    assert(blue.getState == "draining" && !blue.isWrite)
    assert(service.getAllStreams().asScala.map(_.streamId) == Set("orders"))
    service.close()
    assert(python.closed)
  }

  test("isClusterActive") {
    val service = new JsonMetadataService(new Python(id => if (id == "blue") "yes" else "no"))
    assert(service.isClusterActive("blue"))
    assert(!service.isClusterActive("green"))
  }

  test("an invalid answer: the error names the method and the place in the answer") {
    val service = new JsonMetadataService(new Python(_ => Orders.replace("draining", "gone")))
    val e = intercept[DynamicKafkaIllegalArgumentException](service.describeStreams(ju.List.of("orders")))
    val expected =
      "the return value of describe_streams(), line 2, stream 'orders', cluster 'blue', key 'state'"
    assert(e.getMessage.contains(expected))
    val none = new JsonMetadataService(new Python(_ => null))
    assert(intercept[DynamicKafkaIllegalArgumentException](none.getAllStreams()).getMessage.contains("None"))
  }

  test("a Python exception is reported without its traceback") {
    val raised =
      "An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):\n" +
        "  File \"java_gateway.py\", line 2466, in _call_proxy\n    return_value = getattr(...)\n" +
        "    ~~~~~^^^^\n  File \"mine.py\", line 3, in describe_streams\n    raise ValueError(\"no table\")\n" +
        "ValueError: no table\nand a second line\n"
    Seq(raised, raised.replace("\n", "\\n")).foreach { text =>
      val service = new JsonMetadataService(new Python(_ => throw new IllegalStateException(text)))
      val e = intercept[PythonServiceException](service.describeStreams(ju.List.of("orders")))
      assert(e.getMessage == "describe_streams() raised ValueError: no table\nand a second line")
    }
    val dead =
      new JsonMetadataService(new Python(_ => throw new IllegalStateException("Error while sending")))
    val e = intercept[PythonServiceException](dead.isClusterActive("blue"))
    assert(e.getMessage == "is_cluster_active() raised Error while sending")
  }
}
