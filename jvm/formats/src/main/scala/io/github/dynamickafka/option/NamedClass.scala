package io.github.dynamickafka.option

import java.lang.reflect.InvocationTargetException
import java.util.ServiceLoader

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.github.dynamickafka.error.FailureText

/** Classes of users that options name. */
private[dynamickafka] object NamedClass {

  /** Finds a class with a constructor without parameters; fails with the reason why it cannot be used. */
  def find(name: String, expected: Class[_]): Either[String, Class[_]] =
    find(name).toRight(s"the class path has no class '$name'.").flatMap { found =>
      if (!expected.isAssignableFrom(found))
        Left(s"the class '$name' does not implement ${expected.getName}.")
      else if (!found.getConstructors.exists(_.getParameterCount == 0))
        Left(s"the class '$name' has no public constructor without parameters.")
      else Right(found)
    }

  /** Finds any class, without initializing it. */
  def find(name: String): Option[Class[_]] = loaders.iterator.flatMap { loader =>
    try Some(Class.forName(name, false, loader))
    catch { case _: ClassNotFoundException | _: LinkageError => None }
  }.nextOption()

  /** A new instance, or the reason why there is none. */
  def create[A](name: String, expected: Class[A]): Either[String, A] =
    find(name, expected).flatMap(create(_, expected))

  def create[A](found: Class[_], expected: Class[A]): Either[String, A] =
    try Right(expected.cast(found.getConstructor().newInstance()))
    catch {
      case e: InvocationTargetException if e.getCause != null =>
        Left(s"the constructor of '${found.getName}' threw ${FailureText.of(e.getCause)}")
      case NonFatal(e) =>
        Left(s"the class '${found.getName}' cannot be instantiated: ${FailureText.of(e)}")
    }

  /** Why a library is not on the class path, by one of its classes; None: it is there. */
  def missing(name: String): Option[Throwable] =
    try {
      val _ = Class.forName(name, false, getClass.getClassLoader)
      None
    } catch { case e @ (_: ClassNotFoundException | _: LinkageError) => Some(e) }

  /** What modules of the jar register. The class loader of the jar is not the one that the JVM began with, if Spark has fetched the jar. */
  def registered[A](service: Class[A]): Seq[A] =
    ServiceLoader.load(service, getClass.getClassLoader).asScala.toSeq

  /** What one module of the jar registers. An archive that is made of several jars may have lost the registration. */
  def ofJar[A](service: Class[A]): A =
    registered(service).headOption.getOrElse(throw new IllegalStateException(
      s"the class path has no file META-INF/services/${service.getName}: whoever puts jars together has to merge these files"
    ))

  /** Tries the context class loader first, which has the jars of `--jars`. */
  def loaders: Seq[ClassLoader] =
    Seq(Thread.currentThread.getContextClassLoader, getClass.getClassLoader).filter(_ != null).distinct
}
