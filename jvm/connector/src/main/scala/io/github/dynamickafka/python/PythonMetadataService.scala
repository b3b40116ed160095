package io.github.dynamickafka.python

/**
 * What a metadata service written in Python implements over py4j. Strings only, so that an answer is one round
 * trip: streams travel as the JSON form of the metadata file.
 */
trait PythonMetadataService {

  /** `{"version": 1, "clusters": {...}, "streams": {...}}` with all streams. */
  def getAllStreams(): String

  /** The same, with the streams of these ids that there are. */
  def describeStreams(idsAsJsonArray: String): String

  def isClusterActive(id: String): Boolean

  def close(): Unit
}
