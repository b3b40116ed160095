package io.github.dynamickafka.config

import java.util.Locale

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException}
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}

import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.option.ClusterKeys

/**
 * Parses the text forms of an [[OffsetsPolicy]], which are the same in options and in the metadata: `earliest`,
 * `latest`, `committed`, `timestamp:<epoch ms>`, JSON of offsets by cluster, topic and partition, with or without the
 * cluster level, and `timestamp:<JSON>` with timestamps instead of offsets. Every function returns the policy, or the
 * error and its location in the text.
 */
private[dynamickafka] object OffsetsParser {
  import OffsetsPolicy._

  type Result = Either[String, OffsetsPolicy]
  private val TimestampForm = "(?:timestamp:)?(\\d+)".r
  private val TimestampJson = "(?is)timestamp:\\s*(\\{.*)".r

  private val mapper = new ObjectMapper()
    .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

  def starting(text: String): Result =
    parse(text, "'earliest', 'latest', 'committed', 'timestamp:<epoch ms>' nor JSON", Some(EarliestOffset))

  /** For clusters and topics that are added later: JSON is rejected, because their offsets are not known in advance. */
  def entering(text: String): Result =
    parse(text, "'earliest', 'latest', 'committed' nor 'timestamp:<epoch ms>'", lowest = None)

  def ending(text: String): Result =
    parse(text, "'latest', 'committed', 'timestamp:<epoch ms>' nor JSON", Some(LatestOffset)).filterOrElse(
      _ != Earliest,
      "no record would be read: use 'latest', 'committed', 'timestamp:<epoch ms>' or JSON."
    )

  /** JSON with timestamps instead of offsets. */
  def timestamps(text: String): Result =
    json(text.trim, "a timestamp in milliseconds since 1970-01-01 UTC", _ >= 0).map(TimestampByPartition)

  /** The inverse, for one cluster: the form in which the checkpoint stores a policy of the metadata. */
  def render(policy: OffsetsPolicy): String = policy match {
    case Earliest => "earliest"
    case Latest => "latest"
    case Committed(_) => "committed"
    case Timestamp(epochMs) => s"timestamp:$epochMs"
    case Exact(byCluster) => byTopic(byCluster)
    case TimestampByPartition(byCluster) => "timestamp:" + byTopic(byCluster)
    case After(_, _, _, rest) => render(rest)
    case Computed(by, _) => by
  }

  private def byTopic(byCluster: ByCluster): String = {
    val root = mapper.createObjectNode()
    for (topics <- byCluster.values.headOption; (topic, partitions) <- topics.toSeq.sortBy(_._1)) {
      val node = root.putObject(topic)
      partitions.toSeq.sorted.foreach { case (partition, offset) => node.put(partition.toString, offset) }
    }
    mapper.writeValueAsString(root)
  }

  /** @param lowest the lowest valid offset in JSON; None: JSON is rejected */
  private def parse(text: String, forms: String, lowest: Option[Long]): Result = {
    val trimmed = text.trim
    trimmed.toLowerCase(Locale.ROOT) match {
      case "earliest" => Right(Earliest)
      case "latest" => Right(Latest)
      case "committed" => Right(Committed(None))
      case TimestampForm(ms) => ms.toLongOption.map(Timestamp).toRight(s"$ms is too large for a timestamp.")
      case _ if trimmed.startsWith("{") => lowest.toRight(NoJson).flatMap(offsets(_)(trimmed))
      case TimestampJson(_) =>
        lowest.toRight(NoJson).flatMap(_ => timestamps(trimmed.dropWhile(_ != '{')))
      case _ => Left(s"it is neither $forms.")
    }
  }

  private val NoJson =
    "JSON is not supported for clusters and topics that are added later: use 'startingOffsets', or " +
      "'cluster.<id>.startingOffsets' for a cluster that is added later."

  private def offsets(lowest: Long)(text: String): Result =
    json(text, offset(lowest), _ >= lowest).map(Exact)

  /** What numbers are valid. */
  private[config] def offset(lowest: Long): String = "an offset of 0 or more" +
    (if (lowest == EarliestOffset) ", -1 (latest) or -2 (earliest)" else " or -1 (latest)")

  private def json(text: String, expected: String, valid: Long => Boolean): Either[String, ByCluster] =
    try {
      val root = mapper.readTree(text)
      val children = if (root.isObject) fields(root).map(_._2) else Nil
      if (!root.isObject) Left("it is not a JSON object.")
      else if (children.isEmpty) Left("the JSON contains no topic.")
      else if (children.forall(isTopic)) topics("", root, expected, valid).map(t => Map(AnyCluster -> t))
      else
        collect[String, Map[String, Map[Int, Long]]](root) { (cluster, node, _) =>
          if (!ClusterKeys.isClusterId(cluster)) Left(s"'$cluster' is not a valid cluster id.")
          else if (isTopic(node))
            Left(s"'$cluster' is at the cluster level but contains offsets, like a topic.")
          else topics(s"cluster '$cluster', ", node, expected, valid).map(cluster -> _)
        }
    } catch {
      case e: JsonProcessingException =>
        val place = Option(e.getLocation).fold("")(l => s" (line ${l.getLineNr}, column ${l.getColumnNr})")
        Left(s"it is not valid JSON: ${e.getOriginalMessage.linesIterator.next()}$place.")
    }

  /** Distinguishes the two shapes: a topic contains numbers, a cluster contains topics. */
  private def isTopic(node: JsonNode): Boolean = !node.isObject || fields(node).exists(!_._2.isObject)

  private def topics(where: String, node: JsonNode, expected: String, valid: Long => Boolean) =
    if (node.isEmpty) Left(s"${where.stripSuffix(", ")} has no topic.")
    else collect[String, Map[Int, Long]](node)((topic, partitions, _) =>
      partitionsOf(s"${where}topic '$topic'", partitions, expected, valid).map(topic -> _)
    )

  private def partitionsOf(where: String, node: JsonNode, expected: String, valid: Long => Boolean) =
    if (!node.isObject || node.isEmpty) Left(s"$where is not a JSON object with a number for each partition.")
    else collect[Int, Long](node) { (name, value, done) =>
      for {
        partition <- name.toIntOption.filter(_ >= 0).toRight(s"$where: '$name' is not a partition number.")
        number <- Option
          .when(value.isIntegralNumber && value.canConvertToLong)(value.longValue)
          .filter(valid)
          .toRight(s"$where, partition $name: $value is not $expected.")
        // "0" and "00" are different JSON keys for the same partition.
        _ <- Either.cond(!done.contains(partition), (), s"$where contains partition $partition twice.")
      } yield partition -> number
    }

  /** @param read gets what was read before */
  private def collect[K, T](node: JsonNode)(
      read: (String, JsonNode, Map[K, T]) => Either[String, (K, T)]
  ): Either[String, Map[K, T]] =
    fields(node).foldLeft[Either[String, Map[K, T]]](Right(Map.empty)) { case (before, (name, value)) =>
      before.flatMap(done => read(name, value, done).map(done + _))
    }

  private def fields(node: JsonNode): Seq[(String, JsonNode)] =
    node.properties.asScala.map(e => e.getKey -> e.getValue).toSeq
}
