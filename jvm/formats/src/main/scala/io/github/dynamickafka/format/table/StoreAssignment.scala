package io.github.dynamickafka.format.table

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.TableOutputResolver
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeReference,
  BindReferences,
  Expression,
  Literal
}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, Project}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructField, StructType}

import io.github.dynamickafka.error.Errors

/** Casts columns to those of a schema as an INSERT does, by the rules of ANSI SQL, whatever the session has set. */
private[dynamickafka] final class StoreAssignment(input: StructType) {
  private val attributes: Seq[AttributeReference] =
    input.map(f => AttributeReference(f.name, f.dataType, f.nullable, f.metadata)())

  private val ansi = {
    val copy = SQLConf.get.clone()
    copy.setConfString("spark.sql.storeAssignmentPolicy", "ANSI")
    copy
  }

  /** The column itself. */
  def plain(index: Int): Expression = bound(attributes(index))

  /**
   * @param index the column of the input; None: null
   * @throws DynamicKafkaIllegalArgumentException `INVALID_COLUMN`
   */
  def to(target: StructField, index: Option[Int]): Expression = {
    val value = Alias(index.fold[Expression](Literal(null, target.dataType))(attributes(_)), target.name)()
    val expected = AttributeReference(target.name, target.dataType, nullable = true)()
    val resolved =
      try
        SQLConf.withExistingConf(ansi)(TableOutputResolver.resolveOutputColumns(
          "the records",
          Seq(expected),
          Project(Seq(value), LocalRelation(attributes)),
          byName = true,
          ansi
        ))
      catch {
        case NonFatal(e) =>
          throw Errors.invalidColumn(target.name, s"it does not fit 'schema': ${e.getMessage}")
      }
    resolved match {
      case Project(Seq(column), _) => bound(column.transform {
          case a: Attribute if a.exprId == value.exprId => value.child
        } match {
          case Alias(child, _) => child
          case other => other
        })
      case other => throw new IllegalStateException(s"no projection: $other")
    }
  }

  private def bound(e: Expression): Expression = BindReferences.bindReference(e, attributes)
}
