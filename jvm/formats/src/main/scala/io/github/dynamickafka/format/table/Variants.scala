package io.github.dynamickafka.format.table

import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType, VariantType}

import io.github.dynamickafka.format.Format

/** Which formats have columns of type VARIANT. Pure. */
private[format] object Variants {

  /** Why the columns cannot be those of a format, if one of them is VARIANT. */
  def problem(format: Format, columns: StructType): Option[String] =
    columns.find(f => !format.hasVariants && contains(f.dataType)).map(f =>
      s"the column '${f.name}' has the type VARIANT, which the format '${format.name}' does not have. It is a type of " +
        Formats.registered.names(_.hasVariants) + "."
    )

  private def contains(dataType: DataType): Boolean = dataType match {
    case VariantType => true
    case StructType(fields) => fields.exists(f => contains(f.dataType))
    case ArrayType(element, _) => contains(element)
    case MapType(key, value, _) => contains(key) || contains(value)
    case _ => false
  }
}
