package io.github.dynamickafka.topology

/** What to do with the part of a logged batch whose cluster is unreachable when the query is restarted. */
private[dynamickafka] sealed trait UnreachableReplayPolicy extends Product with Serializable

private[dynamickafka] object UnreachableReplayPolicy {
  case object Fail extends UnreachableReplayPolicy

  /** The records are lost. */
  case object Skip extends UnreachableReplayPolicy

  /** The records are read in a later batch. */
  case object Defer extends UnreachableReplayPolicy
}
