package io.github.dynamickafka.storage

import java.util.concurrent.{Callable, CyclicBarrier, Executors}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}

/** Several drivers that create one file at the same time. */
object Races {

  /** @return the drivers to which the file belongs, according to them, and the content of the file */
  def run(file: Path, drivers: Int, hadoop: Int => Configuration): (Set[String], Option[String]) = {
    val start = new CyclicBarrier(drivers)
    val threads = Executors.newFixedThreadPool(drivers)
    try {
      val tasks: Seq[Callable[Option[String]]] = (1 to drivers).map { n =>
        val files = new AtomicFiles(file.getParent, hadoop(n))
        () => {
          start.await()
          Try(files.create(file, s"driver $n")) match {
            case Success(()) => Some(s"driver $n")
            case Failure(_: FileAlreadyExistsException) => None
            case Failure(e) => throw e
          }
        }
      }
      val won = threads.invokeAll(tasks.asJava).asScala.flatMap(_.get).toSet
      won -> new AtomicFiles(file.getParent, hadoop(1)).read(file)
    } finally threads.shutdownNow()
  }
}
