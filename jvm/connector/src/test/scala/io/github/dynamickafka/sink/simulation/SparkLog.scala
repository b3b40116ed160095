package io.github.dynamickafka.sink.simulation

import org.apache.hadoop.fs.Path

import io.github.dynamickafka.storage.PlannedDeferrals

/** @param rows the numbers of the records, of which no two batches of a query have one in common */
private[simulation] final case class Plan(batch: Long, end: Long, rows: Seq[Long])

/** What Spark stops with if another run of the query has written to its logs. */
private[simulation] final class ConcurrentRuns
    extends IllegalStateException("another run of the query uses the checkpoint")

/**
 * Spark's offset log and commit log, and this project's source, which defers records of batches that are planned again. An offset
 * is the number of the next record, and the records that were deferred before and enter again.
 */
private[simulation] final class SparkLog(world: World, checkpoint: String) {
  private val home = s"/${world.name}/$checkpoint"

  private def file(folder: String, batch: Long) = s"$home/$folder/$batch"
  private def deferred(batch: Long) = s"$home/sources/0/dynamic-kafka/deferred/$batch.json"

  private def last(folder: String): Option[Long] = world.request(s"last of $checkpoint/$folder")(
    world.namesIn(s"$home/$folder").toSeq.flatten.flatMap(_.toLongOption).maxOption
  )

  private def get(path: String): Option[String] = world.request(s"read $path")(world.files.get(path))

  private def create(path: String, text: String): Boolean = world.request(s"create $path") {
    val isNew = !world.files.contains(path)
    if (isNew) world.files += path -> text
    isNew
  }

  /** @return the id of the query */
  def start(): String = {
    val id = s"$home/metadata"
    get(id).getOrElse {
      val _ = create(id, s"q${world.steps}")
      get(id).get
    }
  }

  private var newest = -1L

  /** What is deferred of batches, as the source reads it when the query starts. */
  private var deferrals = Map.empty[Long, Seq[Long]]

  /** What the source tells the sink. */
  val plans = new PlannedDeferrals

  private def told(plan: Plan): Plan = {
    plans.set(
      new Path(s"file:$home/sources/0"),
      deferrals.map { case (n, out) => n -> out.mkString(",") },
      this
    )
    plan
  }

  /** The batch that is logged and not finished. */
  def pending(): Option[Long] = {
    newest = last("offsets").getOrElse(-1L)
    val isFinished = newest < 0 || last("commits").contains(newest)
    // After Spark has read its logs: what another run has deferred of a finished batch is there then.
    deferrals = world.request(s"deferrals of $checkpoint") {
      val folder = s"$home/sources/0/dynamic-kafka/deferred"
      world.namesIn(folder).toSeq.flatten.map(name =>
        name.stripSuffix(".json").toLong -> numbers(world.files(s"$folder/$name"))
      ).toMap
    }
    Option.when(!isFinished)(newest)
  }

  private def ends(text: String): (Long, Seq[Long]) = {
    val Array(end, entered) = text.split(";", 2)
    end.toLong -> numbers(entered)
  }

  private def numbers(text: String): Seq[Long] = text.split(',').toSeq.filter(_.nonEmpty).map(_.toLong)

  private def endOf(batch: Long): Long =
    if (batch < 0) 0L else get(file("offsets", batch)).fold(throw new ConcurrentRuns)(ends(_)._1)

  /** A batch that is planned again. The source may defer a part of it, unless the sink has decided it. */
  def planned(batch: Long, deferring: Int): Plan = {
    val (end, entered) = ends(get(file("offsets", batch)).getOrElse(throw new ConcurrentRuns))
    val all = entered ++ (endOf(batch - 1) until end)
    val before = deferrals.get(batch)
    val isDecided = world.request(s"is $batch decided")(
      world.namesIn(s"$home/dynamic-kafka-sink").toSeq.flatten.exists(_.matches(s"$batch-\\d+\\.json"))
    )
    val out =
      if (before.isEmpty && !isDecided && world.choices.chance(deferring)) {
        val some = all.filter(_ => world.choices.chance(500))
        if (some.nonEmpty) {
          if (!create(deferred(batch), some.mkString(","))) throw new ConcurrentRuns
          world.tell(s"batch $batch is deferred: $some")
          deferrals += batch -> some
        }
        some
      } else before.getOrElse(Nil)
    told(Plan(batch, end, all.diff(out)))
  }

  /** The next batch. */
  def plan(): Plan = {
    val batch = newest + 1
    val start = endOf(newest)
    val entered = deferrals.getOrElse(newest, Nil)
    val end = start + 1 + world.choices.number(4)
    if (!create(file("offsets", batch), s"$end;${entered.mkString(",")}")) throw new ConcurrentRuns
    newest = batch
    told(Plan(batch, end, entered ++ (start until end)))
  }

  /** Logs the end of a batch, and deletes what is older than the last few, and a deferral whose records have been read. */
  def finish(plan: Plan): Unit = {
    if (!create(file("commits", plan.batch), "")) throw new ConcurrentRuns
    if (deferrals.contains(plan.batch - 1)) world.request(s"delete ${deferred(plan.batch - 1)}") {
      world.files -= deferred(plan.batch - 1)
    }
    val old = plan.batch - SparkLog.Kept
    if (old >= 0) world.request(s"purge $old") {
      world.files --= Seq(file("offsets", old), file("commits", old), deferred(old))
    }
  }
}

private[simulation] object SparkLog {
  val Kept = 3L
}
