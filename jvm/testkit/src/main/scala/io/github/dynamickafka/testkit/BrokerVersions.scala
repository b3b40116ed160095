package io.github.dynamickafka.testkit

import java.nio.file.{Path, Paths}

import scala.io.Source
import scala.util.Using

/** The broker versions that the build resolved, and MirrorMaker. Their class paths are resources of this module. */
object BrokerVersions {

  /** All versions, the default first. */
  lazy val all: Seq[String] = resource("versions").linesIterator.toSeq

  def default: String = all.head

  private[testkit] def classpath(version: String): String = {
    require(all.contains(version), s"no broker '$version'; there are ${all.mkString(", ")}")
    resource(s"$version.classpath")
  }

  private[testkit] def mirrorMakerClasspath: String = resource("mirror-maker.classpath")

  /** The class data of a broker (JEP 310), which halve the CPU time of its start. The build makes it: [[BrokerArchive]]. */
  private[testkit] def archive(version: String): Path = Paths.get(resource(s"$version.archive"))

  /** What `StorageTool format` wrote for the first broker of this version, without which each broker starts a JVM more. */
  private[testkit] def formatted(version: String): Path =
    archive(version).resolveSibling(s"$version.bootstrap.checkpoint")

  private def resource(name: String): String = {
    val stream = Option(getClass.getResourceAsStream(s"/brokers/$name"))
      .getOrElse(throw new IllegalStateException(s"the build did not write brokers/$name"))
    Using.resource(Source.fromInputStream(stream, "UTF-8"))(_.mkString)
  }
}
