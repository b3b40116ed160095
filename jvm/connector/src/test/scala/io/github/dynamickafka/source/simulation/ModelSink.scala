package io.github.dynamickafka.source.simulation

/** @param isIdempotent whether the sink keeps the first complete attempt of each batch; otherwise it appends */
private[simulation] final class ModelSink(isIdempotent: Boolean) {
  private var batches = Vector.empty[(Int, Vector[Long])]

  /** Records that the sink may get again. */
  var repeated = Set.empty[Long]

  def delivered: Vector[Long] = batches.sortBy(_._1).flatMap(_._2)

  def deliveredIn(batches: Int => Boolean): Vector[Long] = rows(batches).toVector

  def has(batch: Int): Boolean = batches.exists(_._1 == batch)

  /** @return what an idempotent sink has already had of this batch */
  def add(batch: Int, rows: Vector[Long]): Option[Vector[Long]] = {
    val first = batches.collectFirst { case (`batch`, first) if isIdempotent => first }
    if (first.isEmpty) batches :+= batch -> rows
    first
  }

  def getsAgain(batch: Int): Unit = repeated ++= rows(_ == batch)

  def getsAgainFrom(batch: Int): Unit = repeated ++= rows(_ >= batch)

  private def rows(of: Int => Boolean) = batches.iterator.filter(b => of(b._1)).flatMap(_._2)
}
