package io.github.dynamickafka.metadata.service

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.time.Clock

/**
 * Reads the streams from a YAML or JSON file. Each call reads the file again, so that a change takes effect at the next
 * poll.
 *
 * The service waits while another process writes the file. Nevertheless, replace the file with a rename if the file
 * system supports it: a file whose writer stopped for a long time cannot be distinguished from a complete file.
 *
 * Failures of a call are `IOException`s and METADATA_INVALID.
 *
 * @param path a URI of a file system that Hadoop supports; a path without scheme is a local file, relative to the
 *             working directory of the driver
 * @param ttlMs how long the content is used before the file is read again, in milliseconds; 0: each call reads the file
 */
private[dynamickafka] final class FileMetadataService(path: String, ttlMs: Long, hadoopConf: Configuration)
    extends DocumentMetadataService(ttlMs)
    with EditableService {

  private val file = new SettledFile(path, hadoopConf, Clock.System)

  override protected def read(): MetadataDocument = file.read(parse)

  private[dynamickafka] override def edit(change: String => String)
      : (Map[String, KafkaStream], Map[String, KafkaStream]) = {
    val (before, after) =
      new EditableFile(SettledFile.pathOf(path), hadoopConf).edit { text =>
        val _ = parse(text)
        change(text)
      }
    forget()
    parse(before).streams -> parse(after).streams
  }

  private def parse(text: String) = MetadataDocument.parse(text, s"file $path")
}

private[dynamickafka] object FileMetadataService {

  /** The text of a file now, and the document with all its problems. */
  def check(path: String, hadoopConf: => Configuration): (String, MetadataDocument.Checked) =
    new SettledFile(path, hadoopConf, Clock.System).read(text => text -> MetadataDocument.check(text))
}
