package io.github.dynamickafka.offset.history

/** Times of rows, in milliseconds since the epoch. */
private[dynamickafka] final case class RowTimes(least: Long, greatest: Long)

/**
 * The rows of one cluster in the files of histories, in milliseconds since the epoch.
 *
 * @param read the greatest time of the rows that are read
 * @param unread the least time of the rows that are not read, if there are any
 */
private[dynamickafka] final case class ClusterFiles(
    read: Option[Long] = None,
    unread: Option[Long] = None
) {
  def and(other: ClusterFiles): ClusterFiles =
    ClusterFiles((read ++ other.read).maxOption, (unread ++ other.unread).minOption)

  /** Whether no row is left to read. */
  def areRead: Boolean = unread.isEmpty
}

private[dynamickafka] object ClusterFiles {
  val none: ClusterFiles = ClusterFiles()
}
