package io.github.dynamickafka.storage

import java.nio.file.Files
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.hdfs.MiniDFSCluster
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** The files of a checkpoint on HDFS, with two data nodes. */
class HdfsSuite extends AnyFunSuite with TimeLimit with BeforeAndAfterAll with AtomicFilesBehavior {

  private lazy val cluster = {
    val hadoop = new Configuration
    hadoop.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, Files.createTempDirectory("dynamic-kafka-hdfs-").toString)
    new MiniDFSCluster.Builder(hadoop).numDataNodes(2).build()
  }

  override def afterAll(): Unit = cluster.shutdown(true)

  private def newFolder() = new Path(cluster.getURI.toString, s"/${UUID.randomUUID()}")

  testsFor(atomicFiles("HDFS", newFolder _, new Configuration, new Configuration))

  test("of several drivers that create a file at the same time, one succeeds") {
    (1 to 50).foreach { _ =>
      val (won, content) = Races.run(new Path(newFolder(), "file"), drivers = 4, _ => new Configuration)
      assert(won.size == 1 && content == won.headOption)
    }
  }
}
