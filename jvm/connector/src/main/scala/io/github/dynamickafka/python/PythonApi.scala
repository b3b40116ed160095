package io.github.dynamickafka.python

import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.metadata.registry.ServiceRegistry

/**
 * The one class that the Python package names. Everything else of it goes through the options of the data source.
 *
 * Python takes the instance from the field `MODULE$`, through the context class loader, which knows the jars of
 * `--packages`.
 */
private[dynamickafka] object PythonApi {

  /** As sbt has it; the Python package refuses a jar of another version than its own. */
  def version(): String = BuildInfo.version

  /** The Spark minor that this jar was built for, such as `4.0`. */
  def sparkLine(): String = BuildInfo.sparkLine

  /**
   * Makes a service written in Python known to this JVM.
   *
   * @return the value of the option `metadataService.handle`
   */
  def register(service: PythonMetadataService): String =
    ServiceRegistry.register(new JsonMetadataService(service))

  /** The service is not closed: Python owns it. */
  def unregister(handle: String): Unit = ServiceRegistry.unregister(handle)
}
