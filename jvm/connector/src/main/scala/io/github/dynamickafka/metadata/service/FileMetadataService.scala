package io.github.dynamickafka.metadata.service

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.metadata.document.MetadataDocument

/**
 * Streams from a YAML or JSON file, looked at anew on each call, so that an edit is seen at the next poll.
 *
 * A rewrite of the file by another process while it is read is waited for. Even so, replace the file by a rename
 * where the file system has one: a writer that stops half-way for long leaves a file that nobody can tell from a
 * finished one.
 *
 * @param path any Hadoop URI; a path without scheme is a local file, relative to the driver's working directory
 * @param ttlMs for how long an answer is used again without a look at the file; 0: not at all
 */
final class FileMetadataService(path: String, ttlMs: Long, hadoopConf: Configuration)
    extends DocumentMetadataService {

  def this(path: String, ttlMs: Long) = this(path, ttlMs, new Configuration)
  def this(path: String) = this(path, 0L)

  private val file = new SettledFile(path, hadoopConf)
  private val cache = new TtlCache[MetadataDocument](ttlMs)

  override protected def document(): MetadataDocument =
    cache.get(file.read(MetadataDocument.parse(_, s"file $path")))
}
