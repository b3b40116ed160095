package io.github.dynamickafka.metadata.document

import java.util.regex.{Pattern, PatternSyntaxException}

import io.github.dynamickafka.metadata.ClusterMetadata
import io.github.dynamickafka.option.{ClusterKeys, Suggestions}

/** Rules for names, and suggestions for misspelled names. */
private[dynamickafka] object Names {

  /** Why a cluster cannot take the place of another one. */
  def replacesActive(former: String): String =
    s"it replaces cluster '$former', which is active in the same stream; set its 'state' to 'draining' or remove it"

  /** Why a cluster cannot have this state. */
  def badState(text: String): Option[String] = Option.unless(ClusterMetadata.States.contains(text))(
    s"'$text' is not a valid state, use 'active', 'draining' or 'removed'"
  )

  /** The names of the properties that differ: their values may be credentials. */
  def differing(one: Map[String, String], other: Map[String, String]): Seq[String] =
    (one.keySet ++ other.keySet).toSeq.sorted.filter(k => one.get(k) != other.get(k))

  val ClusterIdRule = "a cluster id has 1 to 128 letters, digits, '.', '_' or '-'"

  /** The error in the regular expression of a topic pattern, if any. */
  def badPattern(text: String): Option[String] =
    if (text.isBlank) Some("must be a regular expression for whole topic names")
    else
      try {
        Pattern.compile(text)
        None
      } catch {
        case e: PatternSyntaxException =>
          Some(s"'$text' is not a valid regular expression: ${e.getDescription} near index ${e.getIndex}")
      }

  val TopicRule = "a topic name has 1 to 249 letters, digits, '.', '_' or '-', and is neither '.' nor '..'"

  private val TopicName = "[A-Za-z0-9._-]{1,249}".r

  def isClusterId(id: String): Boolean = id != null && ClusterKeys.isClusterId(id)

  /** The rule of Kafka: no broker can have a topic with another name. */
  def isTopic(name: String): Boolean =
    name != null && name != "." && name != ".." && TopicName.matches(name)

  /** An invalid value with the reason. JSON is omitted, because the reason contains the location in it. */
  def cannotBeUsed(text: String, reason: String): String =
    if (text.startsWith("{")) reason else s"'$text' is invalid: $reason"

  def didYouMean(name: String, known: Iterable[String]): String =
    Suggestions.closest(name, known).fold("")(meant)

  def meant(name: String): String = s" Did you mean '$name'?"
}
