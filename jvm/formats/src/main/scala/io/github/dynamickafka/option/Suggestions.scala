package io.github.dynamickafka.option

import org.apache.commons.text.similarity.LevenshteinDistance

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
