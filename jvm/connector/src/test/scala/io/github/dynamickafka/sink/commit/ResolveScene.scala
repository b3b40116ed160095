package io.github.dynamickafka.sink.commit

import java.nio.file.{Files, Path}

/** A query that has decided a batch and died, and an operator, without brokers. */
private[commit] final class ResolveScene(val entry: JournalEntry) {
  val scene = new CommitScene
  val kafka: ScriptedKafka = scene.kafka
  val journalFolder: Path = Path.of(scene.location).resolve(Journal.Folder)

  scene.plan(entry.batch)
  scene.claim("first")
  scene.journal.decide(entry)

  def isOpen: Boolean = scene.journal.newest().contains(entry -> false)

  def notes(of: JournalEntry = entry): Seq[Note] = scene.journal.notes(of)

  def lastNote: Note = notes().last

  /** The states of the transactions after a resolution. */
  def resolve(
      how: Resolution,
      batch: Long = entry.batch,
      meanwhile: () => Unit = () => (),
      journal: Journal = scene.journal
  ): Seq[String] = {
    val resolver =
      new Resolver(
        journal,
        scene.clusters,
        meanwhile,
        kafka.pool,
        scene.clock
      )
    resolver(batch, how, "alice").outcomes.map { case (_, outcome) => outcome.state }
  }

  /** The reasons why a resolution is refused. */
  def refused(how: Resolution, batch: Long = entry.batch, meanwhile: () => Unit = () => ()): String =
    try throw new AssertionError(s"resolved: ${resolve(how, batch, meanwhile)}")
    catch { case e: Refused => e.getMessage }

  /** What a run does that shows itself. */
  def beat(generation: Long): Unit = {
    val _ =
      Files.writeString(journalFolder.resolve(s"run-$generation.beat"), java.util.UUID.randomUUID().toString)
  }
}
