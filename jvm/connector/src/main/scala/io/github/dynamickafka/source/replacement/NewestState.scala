package io.github.dynamickafka.source.replacement

/**
 * Which state is written next: the newest one, and never two at a time. Immutable and pure.
 *
 * @param waiting the newest state, unless a writer has taken it
 * @param isWriting whether a writer runs, which takes what is waiting before it ends
 * @param isClosed whether no write may begin
 */
private[replacement] final case class NewestState[A](
    waiting: Option[A] = None,
    isWriting: Boolean = false,
    isClosed: Boolean = false
) {

  /**
   * With a newer state, which replaces one that waits.
   *
   * @return also whether a writer has to be started
   */
  def offered(state: A): (NewestState[A], Boolean) =
    if (isClosed) (this, false) else (copy(waiting = Some(state), isWriting = true), !isWriting)

  /** What the writer writes now. Without a state, the writer ends. */
  def taken: (NewestState[A], Option[A]) = (copy(waiting = None, isWriting = waiting.isDefined), waiting)

  def closed: NewestState[A] = copy(waiting = None, isClosed = true)
}
