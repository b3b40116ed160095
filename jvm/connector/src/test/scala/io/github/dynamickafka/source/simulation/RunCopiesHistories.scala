package io.github.dynamickafka.source.simulation

/**
 * Runs histories of copies: the number and the seed of the first one. Prints what is wrong, with the steps of one of each kind.
 */
object RunCopiesHistories {
  def main(args: Array[String]): Unit = {
    val Array(histories, first) = args.map(_.toLong)
    val wrong = (first until first + histories).flatMap(CopiesHistory.failure(_))
    val kinds = wrong.groupBy(_.split("[ :]").slice(1, 5).filterNot(_.exists(_.isDigit)).mkString(" "))
    wrong.foreach(what => println(what.linesIterator.take(2).mkString("; ")))
    kinds.toSeq.sortBy(-_._2.size).foreach { case (kind, all) =>
      println(s"${all.size} $kind\n${all.minBy(_.length)}")
    }
    println(s"$histories histories of copies from seed $first: ${wrong.size} failed")
    if (wrong.nonEmpty) sys.exit(1)
  }
}
