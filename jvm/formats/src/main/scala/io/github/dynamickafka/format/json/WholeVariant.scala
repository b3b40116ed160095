package io.github.dynamickafka.format.json

import org.apache.spark.sql.types.{StructType, VariantType}

import io.github.dynamickafka.format.{FormatSetting, SideFormat}
import io.github.dynamickafka.option.OptionType

/** The option `singleVariantColumn`: a record as a whole is the only column, of type VARIANT. */
private[json] object WholeVariant {
  val setting: FormatSetting = FormatSetting("singleVariantColumn", OptionType.text)

  def isSet(side: SideFormat): Boolean = side.options.contains(setting.name)

  /** @throws IllegalArgumentException if there are other columns, or options without an effect */
  def check(side: SideFormat, schema: StructType): Unit = {
    val name = side.options(setting.name).trim
    if (!schema.headOption.exists(f => f.name == name && f.dataType == VariantType) || schema.length != 1)
      throw new IllegalArgumentException(
        s"with '${setting.name}' the only column has to be '$name', of type VARIANT"
      )
    if (side.failOnMissingField)
      throw new IllegalArgumentException(s"with '${setting.name}' there are no fields that can be missing")
  }
}
