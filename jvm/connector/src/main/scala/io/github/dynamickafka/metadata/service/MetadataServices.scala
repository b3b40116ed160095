package io.github.dynamickafka.metadata.service

import java.lang.reflect.InvocationTargetException
import java.util.UUID
import java.util.concurrent.atomic.AtomicReference
import java.util.concurrent.locks.ReentrantLock
import java.{util => ju}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.config.{MetadataServiceSpec, MetadataServiceSpecs, ServiceOptions}
import io.github.dynamickafka.error.{Errors, FailureText}
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.option.{Default, NamedClass, OptionName, OptionSpec, OptionType, Suggestions}

/** Creates the metadata service that the options name. */
private[dynamickafka] object MetadataServices {
  import MetadataServiceSpecs._

  /** How a service of the connector is made, with what reaches file systems. */
  type Constructor = (ServiceArguments, Configuration) => KafkaMetadataService

  private val own: Map[MetadataServiceSpec, Constructor] = Map(
    File -> (new FileMetadataService(_, _)),
    Static -> ((arguments, _) => {
      val streams = MetadataDocument.parse(arguments(Document), "the document of the service 'static'")
      new DocumentMetadataService { override protected def read(): Map[String, KafkaStream] = streams }
    }),
    SingleCluster -> ((arguments, _) => new SingleClusterMetadataService(arguments)),
    Http -> ((arguments, _) => new HttpMetadataService(arguments)),
    KafkaTopic -> ((arguments, _) => new KafkaTopicMetadataService(arguments)),
    ServiceRegistry.Spec -> ((arguments, _) => registered(arguments(ServiceRegistry.Handle)))
  )

  /** The constructors of all services, also of other modules of the jar. */
  val constructors: Map[MetadataServiceSpec, Constructor] =
    own ++ NamedClass.registered(classOf[ServiceConstructors]).flatMap(_.all)

  /**
   * The service, for one query: it may be closed when the query ends, even if others use the same instance.
   *
   * @param hadoop to reach the file systems of `file`
   * @param known the first answer about a stream, so that a statement asks the service once; None: every question goes to the service
   */
  def create(
      options: ServiceOptions,
      hadoop: Configuration,
      known: Option[KafkaStream] = None,
      constructors: Map[MetadataServiceSpec, Constructor] = constructors
  ): KafkaMetadataService = {
    val service = constructors.collectFirst {
      case (spec, make) if spec.named(options.name) =>
        make(new ServiceArguments(options, spec), hadoop)
    }.orElse(ofClass(options.copy(name = options.name.trim))).getOrElse(unknown(options))
    known.fold(service)(new KnownAnswer(_, service))
  }

  private def registered(handle: String): KafkaMetadataService =
    ServiceRegistry.lookup(handle).getOrElse(ServiceArguments.refuse(
      ServiceRegistry.Handle.name,
      handle,
      "no service is registered under it in this driver; give the service to the builder again"
    ))

  private def unknown(options: ServiceOptions): Nothing =
    refuse(
      options.name,
      s"it is neither a known service nor a class on the class path. Known services are ${names("'")}; a " +
        s"class must implement ${classOf[KafkaMetadataService].getName}." +
        Suggestions.didYouMean(options.name, MetadataServiceSpecs.all.map(_.name))
    )

  private def refuse(service: String, reason: String, cause: Throwable = null): Nothing =
    throw Errors.invalidOption("metadataService", service, reason, cause)

  /** A service by the name of its class; None if the class does not exist. */
  private def ofClass(options: ServiceOptions): Option[KafkaMetadataService] = find(options.name).map { cls =>
    if (!classOf[KafkaMetadataService].isAssignableFrom(cls))
      refuse(options.name, s"the class does not implement ${classOf[KafkaMetadataService].getName}")
    def constructor(parameters: Class[_]*) =
      cls.getConstructors.find(_.getParameterTypes.toSeq == parameters)
    val arguments = options.arguments
    try
      constructor(classOf[ju.Map[_, _]]).map(_.newInstance(new ju.LinkedHashMap(arguments.asJava)))
        .orElse(constructor().filter(_ => arguments.isEmpty).map(_.newInstance()))
        .fold(refuse(options.name, lacking(constructor().isDefined, arguments.keys)))(
          _.asInstanceOf[KafkaMetadataService]
        )
    catch {
      case e: InvocationTargetException =>
        refuse(options.name, s"its constructor threw ${FailureText.of(e.getCause)}", e.getCause)
      case e: ReflectiveOperationException =>
        refuse(options.name, s"the class cannot be instantiated: ${FailureText.of(e)}", e)
    }
  }

  private def lacking(hasOther: Boolean, arguments: Iterable[String]): String =
    "the class has no public constructor with a java.util.Map" + (
      if (hasOther)
        s", which is required for ${arguments.toSeq.sorted.map(ServiceArguments.option).mkString(", ")}"
      else " or without parameters"
    )

  private def find(service: String): Option[Class[_]] = NamedClass.loaders.iterator.flatMap { loader =>
    try Some(Class.forName(service, true, loader))
    catch {
      case _: ClassNotFoundException => None
      case e: LinkageError => refuse(service, s"the class cannot be loaded: ${FailureText.of(e)}", e)
    }
  }.nextOption()
}

/** Constructors of further services. The module `services` registers its own as a service of the JVM. */
private[dynamickafka] trait ServiceConstructors {
  def all: Map[MetadataServiceSpec, MetadataServices.Constructor]
}

/** A service in front of another one. */
private[dynamickafka] abstract class InFront(val service: KafkaMetadataService) extends KafkaMetadataService {
  protected def ask[A](call: => A): A = call

  override def getAllStreams(): ju.Set[KafkaStream] = ask(service.getAllStreams())
  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] =
    ask(service.describeStreams(streamIds))
  override def isClusterActive(clusterId: String): Boolean = ask(service.isClusterActive(clusterId))
  override def onChange(changed: Runnable): AutoCloseable = ask(service.onChange(changed))
  override def close(): Unit = service.close()
  override def toString: String = service.toString
}

private final class KnownAnswer(stream: KafkaStream, service: KafkaMetadataService) extends InFront(service) {
  private val unused = new AtomicReference(Option(stream))

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] =
    unused.getAndSet(None).filter(known => streamIds.size == 1 && streamIds.contains(known.streamId))
      .fold(super.describeStreams(streamIds))(known => ju.Map.of(known.streamId, known))

  /** A statement ends before changes could concern it. */
  override def onChange(changed: Runnable): AutoCloseable = null
}

/**
 * A service that the application owns and that several queries may use: `close` does nothing, and no two calls
 * run concurrently, even from different queries, as the SPI guarantees.
 */
private[dynamickafka] final class SharedMetadataService(service: KafkaMetadataService)
    extends InFront(service) {
  private val lock = new ReentrantLock

  override def close(): Unit = ()

  override protected def ask[A](call: => A): A = {
    lock.lockInterruptibly()
    try call
    finally lock.unlock()
  }
}

/**
 * Metadata service objects that users created. Options of a data source are strings, so a service is passed as a
 * handle: `metadataService=registered` and `metadataService.handle=<handle>`. Used on the driver only. Thread-safe.
 *
 * A service stays registered until it is unregistered or the JVM exits, because a DataFrame refers to it only by the
 * handle.
 */
private[dynamickafka] object ServiceRegistry {
  val Handle: OptionSpec[String] =
    OptionSpec("handle", OptionType.text, Default.Required, "The value that `register` returned.")

  /** The declaration of services that are registered here. The builders name it, no user does. */
  val Spec: MetadataServiceSpec = MetadataServiceSpec("registered", Seq(Handle))

  private val services = mutable.HashMap.empty[String, SharedMetadataService]

  /** Returns the handle of the service, which is the same for the same object. */
  def register(service: KafkaMetadataService): String = synchronized {
    services.collectFirst { case (handle, known) if known.service eq service => handle }.getOrElse {
      val handle = UUID.randomUUID().toString
      services.update(handle, new SharedMetadataService(service))
      handle
    }
  }

  /** Returns None if the handle is from another JVM or the service was unregistered. */
  def lookup(handle: String): Option[SharedMetadataService] = synchronized(services.get(handle))

  def unregister(handle: String): Unit = synchronized {
    val _ = services.remove(handle)
  }
}

/**
 * The `metadataService.*` options of a service that comes with the connector. Names are compared without regard to
 * case and hyphens; what follows a prefix is kept unchanged.
 */
private[dynamickafka] final class ServiceArguments(options: ServiceOptions, spec: MetadataServiceSpec) {
  import ServiceArguments._

  /** The arguments by their declared names. The user's part of a name is after a prefix. */
  private val named: Map[String, String] = {
    val read = options.arguments.toSeq.sortBy(_._1).map { case (name, value) =>
      canonical(name).getOrElse(throw Errors.unknownOption(
        option(name),
        Suggestions.closest(name, spec.arguments.map(_.name)).map(option)
      )) -> value
    }
    read.groupBy(_._1).collectFirst { case (name, Seq(_, _, _*)) =>
      throw Errors.invalidOption(option(name), "...", "it is given twice, in two spellings")
    }
    read.toMap
  }

  /** The argument, or its default. */
  def apply[A](argument: OptionSpec[A]): A =
    named.get(argument.name).filterNot(_.isBlank).map(argument.parse(_, option(argument.name)))
      .orElse(argument.default.value)
      .getOrElse(throw Errors.missingOption(
        option(argument.name),
        s"the metadata service '${options.name}' needs it"
      ))

  /** The arguments that the user named, without the prefix. */
  def underPrefix: Map[String, String] = named.collect {
    case (name, value) if spec.prefix.exists(prefix => name.startsWith(prefix.name)) =>
      name.drop(spec.prefix.get.name.length) -> value
  }

  private def canonical(name: String): Option[String] =
    spec.prefix
      .flatMap(prefix => OptionName.afterPrefix(name, prefix.name).map(prefix.name + _))
      .orElse(spec.arguments.find(_.named(name)).map(_.name))
}

private[dynamickafka] object ServiceArguments {
  def apply(spec: MetadataServiceSpec, arguments: (String, String)*): ServiceArguments =
    new ServiceArguments(ServiceOptions(spec.name, arguments.toMap), spec)

  def option(name: String): String = OptionName.MetadataService + name

  def refuse(name: String, value: String, reason: String): Nothing =
    throw Errors.invalidOption(option(name), value, reason)
}
