package io.github.dynamickafka.sink.journal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.github.dynamickafka.storage.AtomicFiles

/**
 * The named jobs in the `foreachBatch` of a streaming query, of which Spark repeats only those of the last batch: the journals of
 * much older ones are deleted.
 *
 * @param location that of the journals of jobs
 */
private[sink] final class BatchJobs(location: String, query: String, hadoop: Configuration) {
  import BatchJobs._

  private val folder = new Path(Journal.jobs(location), s"$Prefix$query")
  private val files = new AtomicFiles(folder, hadoop)

  /** A job of a batch starts: those of all earlier batches have ended. */
  def start(batch: Long, job: String): Unit = {
    files.replace(new Path(folder, s"$batch-${Journal.encoded(job)}"), "")
    files.names(folder).foreach {
      case name @ Job(number, encoded) if number.toLong < batch - Journal.Kept =>
        val journal = Journal.ofEncodedJob(location, encoded, hadoop)
        // A function that has caught the exception of a job may have left a decision open.
        if (journal.newest().forall(_._2)) {
          journal.delete()
          files.delete(new Path(folder, name))
        }
      case _ => ()
    }
  }
}

private[journal] object BatchJobs {

  /** The prefix of folders with the names of jobs, beside those with their journals. */
  val Prefix = "batches-"
  private val Job = """(\d{1,18})-(.+)""".r
}
