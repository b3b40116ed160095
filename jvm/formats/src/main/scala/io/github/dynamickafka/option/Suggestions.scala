package io.github.dynamickafka.option

import java.util.Locale

import org.apache.commons.text.similarity.LevenshteinDistance

import io.github.dynamickafka.error.Errors

/** "Did you mean": finds the known name that is most similar to an unknown name. */
private[dynamickafka] object Suggestions {

  def closest(name: String, known: Iterable[String]): Option[String] = {
    val wanted = OptionName.normalize(name)
    // With more than a third of the letters different, most suggestions are wrong. Two swapped letters count as two.
    val distance = new LevenshteinDistance(math.max(2, wanted.length / 3))
    known
      .map(candidate => candidate -> distance.apply(wanted, OptionName.normalize(candidate)).intValue)
      .filter { case (_, d) => d >= 0 && d < wanted.length }
      .minByOption { case (candidate, d) => (d, candidate) }
      .map { case (candidate, _) => candidate }
  }

  /** A sentence after another one; empty if no known name is similar. */
  def didYouMean(name: String, known: Iterable[String]): String = closest(name, known).fold("")(Errors.meant)

  /** For an unknown option: an option of the table, or the same name with its missing or misspelled prefix. */
  def forOption(name: String, table: OptionTable): Option[String] = {
    val (head, rest) = name.splitAt(name.indexOf('.') + 1)
    val prefixed =
      if (table.isKafkaProperty(name)) Some(OptionName.Kafka + name)
      else if (OptionName.normalize(head) == "properties.") Some(OptionName.Kafka + rest)
      else if (rest.isEmpty || head.isEmpty) None
      else closest(head, OptionName.Prefixes ++ table.formats.map(_ + ".")).map(_ + rest)
    prefixed.orElse(closest(name, table.all.map(_.name)))
  }
}

/**
 * Whether an id is another one with a typing error: one letter too many, too few, wrong or swapped with the next one in a word of at least
 * three letters, another case, or another separator. Stricter than [[Suggestions]], because names that people give to their clusters
 * are similar: `eu-1` and `eu-2`, `us-west` and `eu-west`, `pay-a` and `pay-b` are different clusters.
 */
private[dynamickafka] object Misspelling {

  /** The known id that was probably meant. */
  def of(id: String, known: Iterable[String]): Option[String] =
    known.toSeq.filter(_ != id).sorted.find(isOf(id, _))

  private def isOf(id: String, other: String): Boolean = {
    val (words, others) = (parts(id), parts(other))
    words.size == others.size && {
      val different = words.zip(others).filter { case (a, b) => a != b }
      different.size <= 1 && different.forall { case (a, b) => isSlip(a, b) }
    }
  }

  /** Words and numbers. */
  private def parts(id: String): Seq[String] =
    "[a-z]+|[0-9]+".r.findAllIn(id.toLowerCase(Locale.ROOT)).toSeq

  private def isSlip(a: String, b: String): Boolean = {
    def isSwapped = a.indices.drop(1).exists(i => a.patch(i - 1, Seq(a(i), a(i - 1)), 2) == b)
    a.head.isLetter && b.head.isLetter && math.min(a.length, b.length) >= ShortestWord &&
    (OneLetter.apply(a, b).intValue == 1 || isSwapped)
  }

  private val ShortestWord = 3
  private val OneLetter = new LevenshteinDistance(1)
}
