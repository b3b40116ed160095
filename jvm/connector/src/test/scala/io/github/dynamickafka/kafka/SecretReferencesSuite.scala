package io.github.dynamickafka.kafka

import java.nio.file.Files

import org.apache.kafka.common.config.ConfigException
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.reference
import io.github.dynamickafka.testkit.TimeLimit

class SecretReferencesSuite extends AnyFunSuite with TimeLimit {

  private def resolved(value: String): String = SecretReferences.resolve(Map("a" -> value))("a")

  test("current values of files, folders and the environment, anywhere in a text") {
    val folder = Files.createTempDirectory("references")
    val file = Files.writeString(folder.resolve("x.properties"), "one=1$0\\\\\ntwo=2\n")
    val (name, value) = { val env = System.getenv.entrySet.iterator.next; (env.getKey, env.getValue) }
    assert(resolved(s"<${reference(s"file:$file:one")}|${reference(s"file:$file:two")}>") == "<1$0\\|2>")
    assert(resolved(reference(s"env:$name")) == value)
    Files.writeString(file, "one=3\n")
    assert(resolved(reference(s"file:$file:one")) == "3")
    assert(resolved(reference(s"dir:$folder:x.properties")) == "one=3\n")
  }

  test("text that is not a reference is kept") {
    Seq("", "plain", "$5", reference("no-colon"), "{file:a:b}").foreach(v => assert(resolved(v) == v))
  }

  test("a reference that cannot be resolved is an error that names it") {
    val file = Files.writeString(Files.createTempFile("references", ".properties"), "one=hunter2\n")
    Seq(s"file:$file:two", "env:DYNAMIC_KAFKA_NO_SUCH_VARIABLE", "vault:a:b").foreach { to =>
      val e = intercept[ConfigException](resolved(s"${reference(s"file:$file:one")} ${reference(to)}"))
      assert(e.getMessage == s"the reference ${reference(to)} cannot be resolved")
    }
    val gone = intercept[ConfigException](resolved(reference("file:/no/such/file:one")))
    assert(gone.getMessage.contains("/no/such/file"))
  }
}
