package io.github.dynamickafka.source

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.LogManager
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property
import org.apache.logging.log4j.core.{LogEvent, Logger}

/** Collects what a class logs at level info and above. */
object Logs {

  def during(of: Class[_])(body: => Any): Seq[String] = {
    val lines = new ConcurrentLinkedQueue[String]
    val appender =
      new AbstractAppender(s"during-${of.getSimpleName}", null, null, true, Property.EMPTY_ARRAY) {
        override def append(event: LogEvent): Unit = {
          if (event.getLevel.isMoreSpecificThan(Level.INFO)) lines.add(event.getMessage.getFormattedMessage)
          ()
        }
      }
    appender.start()
    val logger = LogManager.getLogger(of).asInstanceOf[Logger]
    logger.addAppender(appender)
    try {
      val _ = body
    } finally logger.removeAppender(appender)
    lines.asScala.toSeq
  }
}
