package io.github.dynamickafka.metadata.service

import java.lang.reflect.InvocationTargetException
import java.util.concurrent.locks.ReentrantLock
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.config.{MetadataServiceSpec, MetadataServiceSpecs, ServiceOptions}
import io.github.dynamickafka.error.{Errors, FailureText}
import io.github.dynamickafka.metadata.document.{MetadataDocument, Names}
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/** Creates the metadata service that the options name. */
private[dynamickafka] object MetadataServices {
  import MetadataServiceSpecs._

  /** Each service reads its arguments by its spec. */
  private val constructors
      : Map[MetadataServiceSpec, (ServiceArguments, Configuration) => KafkaMetadataService] =
    Map(
      File -> (new FileMetadataService(_, _)),
      Static -> ((arguments, _) => new StaticMetadataService(arguments(Document))),
      SingleCluster -> ((arguments, _) => new SingleClusterMetadataService(arguments)),
      Http -> ((arguments, _) => new HttpMetadataService(arguments)),
      ConfigMap -> kubernetes(ConfigMap)(new KubernetesConfigMapMetadataService(_)),
      Strimzi -> kubernetes(Strimzi)(new StrimziMetadataService(_)),
      Jdbc -> ((arguments, _) => new JdbcMetadataService(arguments)),
      KafkaTopic -> ((arguments, _) => new KafkaTopicMetadataService(arguments)),
      ServiceRegistry.Spec -> ((arguments, _) => registered(arguments(ServiceRegistry.Handle)))
    )

  private def kubernetes(spec: MetadataServiceSpec)(construct: ServiceArguments => KafkaMetadataService) =
    (arguments: ServiceArguments, _: Configuration) => {
      KubernetesClasses.require(spec.name)
      construct(arguments)
    }

  /**
   * The service, for one query: it may be closed when the query ends, even if others use the same instance.
   *
   * @param hadoopConf to reach the file systems of `file`
   */
  def create(options: ServiceOptions, hadoopConf: Configuration): KafkaMetadataService =
    constructors.collectFirst {
      case (spec, construct) if spec.named(options.name) =>
        construct(new ServiceArguments(options, spec), hadoopConf)
    }.orElse(ServiceClass.create(options.copy(name = options.name.trim))).getOrElse(throw unknown(options))

  private def registered(handle: String): KafkaMetadataService =
    new SharedMetadataService(ServiceRegistry.lookup(handle).getOrElse(
      throw Errors.invalidOption(
        ServiceArguments.option(ServiceRegistry.Handle.name),
        handle,
        "no service is registered under it in this driver; give the service to the builder again"
      )
    ))

  private def unknown(options: ServiceOptions) =
    Errors.invalidOption(
      "metadataService",
      options.name,
      s"it is neither a known service nor a class on the class path. Known services are ${names("'")}; a " +
        s"class must implement ${classOf[KafkaMetadataService].getName}." +
        Names.didYouMean(options.name, MetadataServiceSpecs.all.map(_.name))
    )
}

/** Streams that never change. METADATA_INVALID if the document is invalid. */
private final class StaticMetadataService(document: String) extends DocumentMetadataService {
  private val parsed = MetadataDocument.parse(document, "the document of the service 'static'")

  override protected def read(): MetadataDocument = parsed
}

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

/**
 * Wraps a service that the application owns and that several queries may use: `close` does nothing, and no two calls
 * run concurrently, even from different queries, as the SPI guarantees.
 */
private[metadata] final class SharedMetadataService(service: KafkaMetadataService)
    extends KafkaMetadataService {
  private val lock = SharedMetadataService.lockOf(service)

  override def getAllStreams(): ju.Set[KafkaStream] = alone(service.getAllStreams())

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] =
    alone(service.describeStreams(streamIds))

  override def isClusterActive(clusterId: String): Boolean = alone(service.isClusterActive(clusterId))

  override def onChange(changed: Runnable): AutoCloseable = alone(service.onChange(changed))

  override def close(): Unit = ()

  override def toString: String = service.toString

  private def alone[A](call: => A): A = {
    lock.lockInterruptibly()
    try call
    finally lock.unlock()
  }
}

private object SharedMetadataService {
  private val locks = new ju.WeakHashMap[KafkaMetadataService, ReentrantLock]

  private def lockOf(service: KafkaMetadataService): ReentrantLock =
    locks.synchronized(locks.computeIfAbsent(service, _ => new ReentrantLock))
}
