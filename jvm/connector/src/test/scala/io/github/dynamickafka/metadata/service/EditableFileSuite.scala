package io.github.dynamickafka.metadata.service

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.metadata.document.EditRefused
import io.github.dynamickafka.testkit.TimeLimit

class EditableFileSuite extends AnyFunSuite with TimeLimit {

  private val folder = Files.createTempDirectory("dynamic-kafka-edit-")
  private val path = folder.resolve("streams.yaml")

  private def file = new SettledFile(path.toString, new Configuration, Clock.System)

  private def names: Seq[Path] =
    Using.resource(Files.list(folder))(_.iterator.asScala.map(_.getFileName).toSeq)

  test("a file that changes meanwhile stays as it is then, and no other file is left") {
    Files.writeString(path, "before")
    val refused = intercept[EditRefused](file.edit { text =>
      Files.writeString(path, "of a colleague")
      text + " and after"
    })
    assert(refused.getMessage == "it was changed meanwhile, run the command again")
    assert(Files.readString(path) == "of a colleague" && names == Seq(path.getFileName))
  }

  test("a file that is not UTF-8 is refused; one that need not change is not written") {
    Files.write(path, Array[Byte](-1, -2))
    assert(intercept[EditRefused](file.edit(identity)).getMessage == "it is not UTF-8")
    Files.writeString(path, "same")
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"))
    val before = Files.getAttribute(path, "unix:ino")
    assert(file.edit(identity) == (("same", "same")) && Files.getAttribute(path, "unix:ino") == before)
  }
}
