package io.github.dynamickafka.format

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData, MapData}
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/**
 * How another parser reads the values of a column.
 *
 * @param dataType what is read
 * @param convert its value, not null, to that of the column; null: it is the same
 */
private[format] final case class Conversion(dataType: DataType, convert: Any => Any = null) {
  def isPlain: Boolean = convert eq null
  def apply(value: Any): Any = if (isPlain || value == null) value else convert(value)
}

private[format] object Conversion {

  def array(column: ArrayType, element: Conversion): Conversion =
    if (element.isPlain) Conversion(column)
    else
      Conversion(column.copy(elementType = element.dataType), v => each(v.asInstanceOf[ArrayData], element))

  def map(column: MapType, value: Conversion): Conversion =
    if (value.isPlain) Conversion(column)
    else Conversion(
      column.copy(valueType = value.dataType),
      { v =>
        val map = v.asInstanceOf[MapData]
        new ArrayBasedMapData(map.keyArray(), each(map.valueArray(), value))
      }
    )

  def struct(column: StructType, fields: Array[Conversion]): Conversion =
    if (fields.forall(_.isPlain)) Conversion(column)
    else {
      val types = fields.map(_.dataType)
      Conversion(
        StructType(column.zip(types).map { case (field, read) => field.copy(dataType = read) }),
        { v =>
          val row = v.asInstanceOf[InternalRow]
          val converted = new Array[Any](fields.length)
          var i = 0
          while (i < converted.length) {
            converted(i) = if (row.isNullAt(i)) null else fields(i)(row.get(i, types(i)))
            i += 1
          }
          new GenericInternalRow(converted)
        }
      )
    }

  private def each(values: ArrayData, element: Conversion): ArrayData =
    new GenericArrayData(Array.tabulate[Any](values.numElements())(i =>
      if (values.isNullAt(i)) null else element(values.get(i, element.dataType))
    ))
}
