import java.io.{BufferedReader, InputStreamReader, PrintWriter}
import java.lang.ProcessBuilder.Redirect
import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

/** What a suite says about a mutant. */
sealed trait Verdict
object Verdict {
  final case class Killed(suite: String) extends Verdict
  case object TimedOut extends Verdict
  case object Survived extends Verdict
}

/**
 * Runs a suite at a time in a JVM, which is replaced after a time limit. Not thread-safe.
 *
 * @param warmUp suites that a new JVM runs without a mutant, because its first runs are slow
 */
final class Workers(command: Seq[String], warmUp: Seq[String]) extends AutoCloseable {
  private var running: Option[Running] = None

  /** What the suite says, and the milliseconds that it took. */
  def run(mutant: Int, suite: String, limitMs: Long): (Verdict, Long) = {
    val worker = running.filter(_.process.isAlive).getOrElse {
      val started = new Running
      warmUp.foreach(started.ask(-1, _, Workers.WarmUpMs))
      started
    }
    running = Some(worker)
    val from = System.nanoTime()
    val answer = worker.ask(mutant, suite, limitMs)
    val verdict = answer match {
      case None => Verdict.TimedOut
      case Some("survived") => Verdict.Survived
      case Some(_) => Verdict.Killed(suite)
    }
    // Without an answer, or after one that the JVM gave by its end, its state is unknown.
    if (answer.forall(_ == Workers.Ended)) close()
    verdict -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - from)
  }

  override def close(): Unit = {
    running.foreach(_.process.destroyForcibly().waitFor())
    running = None
  }

  private final class Running {
    val process: Process = {
      import scala.collection.JavaConverters._
      new ProcessBuilder(command.asJava).redirectError(Redirect.DISCARD).start()
    }
    private val requests = new PrintWriter(process.getOutputStream, true)
    private val answers = new LinkedBlockingQueue[String]

    def ask(mutant: Int, suite: String, limitMs: Long): Option[String] = {
      requests.println(s"$mutant $suite")
      Option(answers.poll(limitMs, TimeUnit.MILLISECONDS))
    }

    private val reader = new Thread(() => {
      val in = new BufferedReader(new InputStreamReader(process.getInputStream))
      Iterator.continually(in.readLine()).takeWhile(_ != null).foreach(answers.put)
      answers.put(Workers.Ended)
    })
    reader.setDaemon(true)
    reader.start()
  }
}

object Workers {
  private val Ended = "the JVM ended"
  private val WarmUpMs = 10 * 60 * 1000L
}
