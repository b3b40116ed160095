package io.github.dynamickafka.metadata.service

import java.io.File
import java.net.URLClassLoader

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.config.ServiceOptions
import io.github.dynamickafka.metadata.KafkaMetadataService

/** Services created by the name that options give them, also without the classes of a Spark module. */
object ServiceByName {

  /** Same as `answer`, without the jars whose names contain `jar`. */
  def answerWithout(jar: String, service: String, arguments: String*): String = {
    val jars = System.getProperty("java.class.path").split(File.pathSeparator)
      .map(new File(_)).filterNot(_.getName.contains(jar)).map(_.toURI.toURL)
    val loader = new URLClassLoader(jars, ClassLoader.getPlatformClassLoader)
    val thread = Thread.currentThread
    val before = thread.getContextClassLoader
    // Hadoop loads classes with it.
    thread.setContextClassLoader(loader)
    try loader.loadClass(getClass.getName.stripSuffix("$"))
        .getMethod("answer", classOf[String], classOf[Array[String]])
        .invoke(null, service, arguments.toArray).toString
    finally {
      thread.setContextClassLoader(before)
      loader.close()
    }
  }

  /** @param arguments each `name=value` */
  def create(service: String, arguments: String*): KafkaMetadataService = {
    val named = arguments.map(_.split("=", 2)).map(pair => pair(0) -> pair(1)).toMap
    MetadataServices.create(ServiceOptions(service, named), new Configuration)
  }

  /** The ids of the streams of a service, or the error. */
  def answer(service: String, arguments: Array[String]): String =
    try create(service, arguments.toSeq: _*).getAllStreams().asScala.map(_.getStreamId).mkString(", ")
    catch { case e: Exception => e.getMessage }
}
