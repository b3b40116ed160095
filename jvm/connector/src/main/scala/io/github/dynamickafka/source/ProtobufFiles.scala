package io.github.dynamickafka.source

import java.io.IOException

import scala.collection.immutable.ArraySeq
import scala.util.Using

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.github.dynamickafka.error.{Errors, FailureText}
import io.github.dynamickafka.format.protobuf.{Protobuf, ProtobufOptions, ProtobufSchemas}
import io.github.dynamickafka.format.{DeclaredSchema, FormatOptions, SchemaText, SideFormat}

/** Reads the descriptor files of the format `protobuf` on the driver; executors get their bytes. */
private[source] object ProtobufFiles {

  /**
   * @param isGiven whether the columns are given to Spark
   * @return with the files, and with the columns of the message if there are no others
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, INVALID_SCHEMA
   */
  def loaded(options: FormatOptions, isGiven: Boolean): FormatOptions = {
    val read = options.copy(value = loaded(options.value), key = options.key.map(loaded))
    if (read.value.format != Protobuf || read.schema.isDefined || isGiven) read
    else {
      val columns = ProtobufSchemas.columnsOfFile(read.value).fold(
        reason => throw Errors.invalidSchema(s"option '${name(read.value)}': $reason"),
        SchemaText.nullable
      )
      read.copy(schema = Some(DeclaredSchema(columns)))
    }
  }

  private def loaded(side: SideFormat): SideFormat =
    if (side.format != Protobuf) side
    else {
      val path = side.options(ProtobufOptions.DescriptorFile).trim
      val conf = SparkSession.active.sessionState.newHadoopConf()
      val bytes =
        try {
          val file = new Path(path)
          Using.resource(file.getFileSystem(conf).open(file))(_.readAllBytes())
        } catch {
          case e @ (_: IOException | _: IllegalArgumentException) =>
            throw Errors.invalidOption(name(side), path, s"it cannot be read: ${FailureText.of(e)}")
        }
      side.copy(descriptor = Some(ArraySeq.unsafeWrapArray(bytes)))
    }

  private def name(side: SideFormat) = s"${side.format.name}.${ProtobufOptions.DescriptorFile}"
}
