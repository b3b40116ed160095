package io.github.dynamickafka.catalog

import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The options of a table together with those of one query, which take precedence. */
private[catalog] trait TableOptions {
  def reading(ofQuery: CaseInsensitiveStringMap): CaseInsensitiveStringMap
  def writing(ofQuery: CaseInsensitiveStringMap): CaseInsensitiveStringMap
}
