package io.github.dynamickafka.python

/**
 * The interface that a metadata service written in Python implements over py4j. It passes streams as JSON in the format
 * of the metadata file, so that a call takes one round trip.
 */
trait PythonMetadataService {

  /** Returns `{"version": 1, "clusters": {...}, "streams": {...}}` with all streams. */
  def getAllStreams(): String

  /** Returns the same format, with the existing streams of these ids. */
  def describeStreams(idsAsJsonArray: String): String

  def isClusterActive(id: String): Boolean

  def close(): Unit
}
