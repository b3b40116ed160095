package io.github.dynamickafka.sink.transaction

/**
 * Which of a few sets of transactional ids the tasks of a batch use. Beginning a transaction fences the former user of its
 * id. An attempt that has been stalled since an earlier batch must not do that to a task of this batch, so a batch that may
 * have left such an attempt is followed by another set. With a limit, because brokers keep ids for days: the same set is
 * used again only after [[IdSets.Most]] such batches.
 */
private[sink] final class IdSets {
  private var number = 0

  def current: Int = number

  /** @param isStalled whether an attempt of the batch that has ended may still run */
  def ended(isStalled: Boolean): Unit = if (isStalled) number = (number + 1) % IdSets.Most
}

private[sink] object IdSets {
  val Most = 4
}
