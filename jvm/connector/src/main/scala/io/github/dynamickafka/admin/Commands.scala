package io.github.dynamickafka.admin

/** All commands and procedures, sorted by name. */
private[admin] object Commands {
  val all: Seq[Command] = Seq(
    StreamCommands.all,
    CheckpointCommands.all,
    TransactionCommands.all,
    MetadataCommands.all,
    EditCommands.all,
    PlanCommand.all,
    ResetCommand.all,
    MigrationCommands.all,
    DoctorCommand.all
  ).flatten.sortBy(_.name)
}
