package io.github.dynamickafka.source.simulation

/** Runs histories of copies, as [[RunHistories]]. */
object RunCopiesHistories {

  /** @param args the number of histories, and the seed of the first one; the others follow */
  def main(args: Array[String]): Unit = RunHistories.run(args, CopiesHistory.failure)
}
