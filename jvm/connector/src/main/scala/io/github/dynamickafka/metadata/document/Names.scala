package io.github.dynamickafka.metadata.document

import java.util.regex.{Pattern, PatternSyntaxException}

import io.github.dynamickafka.config.option.{ClusterKeys, Suggestions}

/** What names may look like, and which one was probably meant. */
private[dynamickafka] object Names {

  val ClusterIdRule = "a cluster id is 1 to 128 letters, digits, '.', '_' or '-'"

  /** What is wrong with the regular expression of a topic pattern, if something is. */
  def badPattern(text: String): Option[String] =
    if (text.isBlank) Some("must be a regular expression that whole names of topics match")
    else
      try {
        Pattern.compile(text)
        None
      } catch {
        case e: PatternSyntaxException =>
          Some(s"'$text' is no regular expression: ${e.getDescription} near index ${e.getIndex}")
      }

  val TopicRule = "a topic name is 1 to 249 letters, digits, '.', '_' or '-', and neither '.' nor '..'"

  private val TopicName = "[A-Za-z0-9._-]{1,249}".r

  def isClusterId(id: String): Boolean = id != null && ClusterKeys.isClusterId(id)

  /** Kafka's own rule: a name that breaks it can't exist on any broker. */
  def isTopic(name: String): Boolean =
    name != null && name != "." && name != ".." && TopicName.matches(name)

  /** A value and why not; JSON is told apart by the reason alone. */
  def cannotBeUsed(text: String, reason: String): String =
    if (text.startsWith("{")) reason else s"'$text' cannot be used, $reason"

  def didYouMean(name: String, known: Iterable[String]): String =
    Suggestions.closest(name, known).fold("")(k => s" Did you mean '$k'?")
}
