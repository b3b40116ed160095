package io.github.dynamickafka.metadata.registry

import java.lang.reflect.InvocationTargetException
import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.ServiceOptions
import io.github.dynamickafka.error.{Errors, FailureText}
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.metadata.service.ServiceArguments

/** Creates a metadata service from a class name. */
private[metadata] object ServiceClass {

  /** Returns None if the class does not exist. Every other problem fails with INVALID_OPTION. */
  def create(options: ServiceOptions): Option[KafkaMetadataService] = find(options).map { cls =>
    if (!classOf[KafkaMetadataService].isAssignableFrom(cls))
      throw invalid(options, s"the class does not implement ${classOf[KafkaMetadataService].getName}")
    construct(options, cls)
  }

  private def construct(options: ServiceOptions, cls: Class[_]): KafkaMetadataService = {
    val constructors = cls.getConstructors.toSeq
    val withMap = constructors.find(_.getParameterTypes.toSeq == Seq(classOf[ju.Map[_, _]]))
    val withNothing = constructors.find(_.getParameterCount == 0)
    val instance =
      try
        (withMap, withNothing) match {
          case (Some(c), _) => c.newInstance(new ju.LinkedHashMap(options.arguments.asJava))
          case (_, Some(c)) if options.arguments.isEmpty => c.newInstance()
          case (_, Some(_)) =>
            val names = options.arguments.keys.toSeq.sorted.map(ServiceArguments.option).mkString(", ")
            throw invalid(
              options,
              s"the class has no public constructor with a java.util.Map, which is required for $names"
            )
          case _ =>
            throw invalid(
              options,
              "the class has no public constructor with a java.util.Map or without parameters"
            )
        }
      catch {
        case e: InvocationTargetException =>
          throw invalid(options, s"its constructor threw ${FailureText.of(e.getCause)}", e.getCause)
        case e: ReflectiveOperationException =>
          throw invalid(options, s"the class cannot be instantiated: ${FailureText.of(e)}", e)
      }
    instance.asInstanceOf[KafkaMetadataService]
  }

  /** Tries the context class loader first, which has the jars of `--jars`. */
  private def find(options: ServiceOptions): Option[Class[_]] =
    Seq(Thread.currentThread.getContextClassLoader, getClass.getClassLoader).filter(_ != null).distinct
      .flatMap { loader =>
        try Some(Class.forName(options.name, true, loader))
        catch {
          case _: ClassNotFoundException => None
          case e: LinkageError =>
            throw invalid(options, s"the class cannot be loaded: ${FailureText.of(e)}", e)
        }
      }
      .headOption

  private def invalid(options: ServiceOptions, reason: String, cause: Throwable = null) =
    Errors.invalidOption("metadataService", options.name, reason, cause)
}
