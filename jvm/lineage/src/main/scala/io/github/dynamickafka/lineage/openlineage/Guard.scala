package io.github.dynamickafka.lineage.openlineage

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.slf4j.LoggerFactory

/**
 * Keeps failures from Spark's listeners. Also those to find a class or method, which another version of OpenLineage or of
 * the connector may not have: Spark ends the application if a listener throws such an error.
 */
private[openlineage] object Guard {
  private val log = LoggerFactory.getLogger(getClass.getName.stripSuffix("$"))

  def apply[A](datasets: => Seq[A]): ju.List[A] = or(datasets.asJava, ju.List.of[A]())

  /** Whether a node has datasets; false where that cannot be found out. */
  def test(has: => Boolean): Boolean = or(has, false)

  private def or[A](result: => A, otherwise: A): A =
    try result
    catch {
      case e @ (_: Exception | _: LinkageError) =>
        log.warn("An event of OpenLineage has no datasets of 'dynamic-kafka'", e)
        otherwise
    }
}
