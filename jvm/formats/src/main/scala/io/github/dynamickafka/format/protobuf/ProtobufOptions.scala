package io.github.dynamickafka.format.protobuf

/**
 * Options of Spark's `from_protobuf`.
 *
 * @param recursiveDepth how often a message may contain itself, with the message around it; below 1: not at all
 */
private[dynamickafka] final case class ProtobufOptions(
    emitDefaults: Boolean,
    enumsAsInts: Boolean,
    upcastUnsigned: Boolean,
    unwrapWrappers: Boolean,
    recursiveDepth: Int
)

private[dynamickafka] object ProtobufOptions {
  val MessageName = "messageName"
  val DescriptorFile = "descriptorFile"
  val EmitDefaults = "emit.default.values"
  val EnumsAsInts = "enums.as.ints"
  val UpcastUnsigned = "upcast.unsigned.ints"
  val UnwrapWrappers = "unwrap.primitive.wrapper.types"
  val RecursiveDepth = "recursive.fields.max.depth"

  def of(options: Map[String, String]): ProtobufOptions = {
    def flag(name: String) = options.get(name).exists(_.trim.toBoolean)
    ProtobufOptions(
      flag(EmitDefaults),
      flag(EnumsAsInts),
      flag(UpcastUnsigned),
      flag(UnwrapWrappers),
      options.get(RecursiveDepth).fold(-1)(_.trim.toInt)
    )
  }
}
