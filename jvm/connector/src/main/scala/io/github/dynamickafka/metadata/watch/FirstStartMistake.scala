package io.github.dynamickafka.metadata.watch

import java.io.FileNotFoundException
import java.nio.file.NoSuchFileException

import org.apache.hadoop.fs.PathIsDirectoryException

import io.github.dynamickafka.error.DynamicKafkaError

/**
 * Which failures of a metadata service are mistakes of the person who starts a query for the first time: a path that does not
 * exist or is a directory, a document that is invalid, a stream that it does not have. A query that has started treats them as outages, because
 * its metadata was valid before.
 */
private[watch] object FirstStartMistake {

  def is(cause: Throwable): Boolean = isInvalid(cause) ||
    Iterator.iterate(cause)(_.getCause).takeWhile(_ != null).take(LongestChain).exists {
      case _: FileNotFoundException | _: NoSuchFileException | _: PathIsDirectoryException => true
      case _ => false
    }

  def isInvalid(cause: Throwable): Boolean = cause match {
    case error: DynamicKafkaError => error.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID"
    case _ => false
  }

  private val LongestChain = 10
}
