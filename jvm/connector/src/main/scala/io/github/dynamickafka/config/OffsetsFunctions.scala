package io.github.dynamickafka.config

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import java.{lang => jl}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.extension.OffsetsFunction
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.option.NamedClass

/**
 * Functions of users that determine offsets. An option is a string, so a function is passed as `function:<handle>`, and a class as
 * `class:<name>`. Used on the driver only. Thread-safe.
 */
private[dynamickafka] object OffsetsFunctions {

  /** The parameters are cluster id, topic and partitions. */
  type Function = (String, String, Seq[Int]) => Map[Int, Long]

  private val ClassForm = "(?is)class:\\s*(.*)".r
  private val FunctionForm = "(?is)function:\\s*(.*)".r

  // A function stays registered until the JVM exits, because a DataFrame refers to it only by the handle.
  private val registered = new ConcurrentHashMap[String, Function]

  /** Returns the text for the options. */
  def register(function: Function): String = {
    val handle = UUID.randomUUID().toString
    register(handle, function)
    s"function:$handle"
  }

  def register(handle: String, function: Function): Unit = {
    val _ = registered.put(handle, function)
  }

  /** Parses a text that names a function or a class; None for all other texts. */
  def parse(text: String): Option[OffsetsParser.Result] = text.trim match {
    case ClassForm(name) => Some(ofClass(name.trim))
    case FunctionForm(handle) => Some(Option(registered.get(handle.trim)).map(function =>
        // Without the handle, which differs after a restart: what is resolved is not resolved again.
        OffsetsPolicy.Computed("function", handle)(() => function)
      ).toRight(
        "no function is registered under it in this driver: give the function to the builder again. With Spark Connect, a function " +
          "is not supported: use 'class:<name>'."
      ))
    case _ => None
  }

  /** The class is found now, by the thread that sets the option, and instantiated when its offsets are needed. */
  private def ofClass(name: String): OffsetsParser.Result =
    NamedClass.find(name, classOf[AnyRef]).flatMap { found =>
      val interfaces = Seq(classOf[OffsetsFunction], classOf[Function3[_, _, _, _]])
      lazy val function = of(
        NamedClass.create(found, classOf[AnyRef]).fold(r => throw new IllegalStateException(r), identity)
      )
      Either.cond(
        interfaces.exists(_.isAssignableFrom(found)),
        OffsetsPolicy.Computed(s"class:$name", name)(() => function),
        s"the class '$name' implements neither scala.Function3[String, String, Seq[Int], Map[Int, Long]] nor " +
          s"${classOf[OffsetsFunction].getName}."
      )
    }

  private def of(instance: Any): Function = instance match {
    case java: OffsetsFunction =>
      (cluster, topic, partitions) =>
        java.offsets(cluster, topic, partitions.map(p => p: Integer).asJava)
          .asScala.map { case (p, o) => p.intValue -> o.longValue }.toMap
    case scala => scala.asInstanceOf[Function]
  }

  /**
   * Calls a function for the partitions of one topic.
   *
   * @param lowest the lowest valid offset
   * @return the offsets, or the partitions without a valid offset, and the reason
   */
  def call(
      policy: OffsetsPolicy.Computed,
      cluster: String,
      topic: String,
      partitions: Seq[Int],
      lowest: Long
  ): Either[Invalid, Map[Int, Long]] =
    try {
      // The values may be of another class at run time.
      val answer = Option(policy.function()(cluster, topic, partitions))
        .map(_.asInstanceOf[Map[Any, Any]].map {
          case (p: Int, o: Number) if o.isInstanceOf[jl.Long] || o.isInstanceOf[Integer] => p -> o.longValue
          case (p, o) => throw new ClassCastException(s"($p, $o) is not a partition with an offset")
        })
      answer.toRight(Invalid(
        partitions,
        "the function returned null"
      )).flatMap(checked(_, partitions, lowest))
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        Left(Invalid(partitions, s"the function failed: ${FailureText.of(e)}", e))
    }

  private[config] def checked(
      offsets: Map[Int, Long],
      partitions: Seq[Int],
      lowest: Long
  ): Either[Invalid, Map[Int, Long]] = {
    def invalid(of: Iterable[Int], reason: String) =
      Option.when(of.nonEmpty)(Invalid(of.toSeq.sorted, s"the function returned $reason"))
    invalid(partitions.filterNot(offsets.contains), "no offset of it")
      .orElse(invalid(offsets.keySet -- partitions, "an offset of it but was not asked for it"))
      .orElse(offsets.filter(_._2 < lowest).minByOption(_._1).flatMap { case (p, offset) =>
        invalid(Seq(p), s"$offset, which is not ${OffsetsParser.offset(lowest)}")
      }).toLeft(offsets)
  }

  final case class Invalid(partitions: Seq[Int], reason: String, cause: Throwable = null)
}
