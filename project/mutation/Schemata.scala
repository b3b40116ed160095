import scala.meta._

import stryker4s.model.Mutant

/**
 * Puts mutants into the text of a source. An expression becomes
 * `(if (<mutant 7 is active>) (<mutated>) else (<original>))`: with all mutants in it, the source is compiled once.
 * Stryker4s' own way copies whole statements, once for each combination of nested mutants.
 */
object Schemata {

  private final case class Host(start: Int, end: Int, variants: Seq[String])

  def apply(text: String, mutants: Seq[Mutant]): String = {
    val hosts = mutants.map(m => m -> host(m.original)).groupBy { case (_, h) => (h.pos.start, h.pos.end) }
      .toSeq.map { case ((start, end), of) =>
        Host(start, end, of.sortBy(_._1.id).map { case (m, _) => variant(text, start, end, m) })
      }
    render(text, 0, text.length, hosts.sortBy(h => (h.start, -h.end)))
  }

  /** How the copy asks whether a mutant is active; the system property is `mutant.7`. */
  val Active = """getBoolean\("mutant\.(\d+)"\)""".r

  private def variant(text: String, start: Int, end: Int, m: Mutant) = {
    val (from, to) = (m.original.pos.start, m.original.pos.end)
    val code = text.substring(start, from) + m.mutated.syntax + text.substring(to, end)
    s"""if (_root_.java.lang.Boolean.getBoolean("mutant.${m.id}")) ($code) else """
  }

  /** The smallest expression that contains the change: not only an operator, and the whole function of a `_`. */
  private def host(term: Tree): Tree = term.parent match {
    case Some(infix: Term.ApplyInfix) if infix.op eq term => host(infix)
    case Some(select: Term.Select) if select.name eq term => host(select)
    case Some(parent: Term) if !isArgument(term, parent) && hasPlaceholder(term) => host(parent)
    case _ => term
  }

  private def isArgument(term: Tree, of: Tree) = of match {
    case Term.Apply(_, arguments) => arguments.exists(_ eq term)
    case Term.ApplyInfix(_, _, _, arguments) => arguments.exists(_ eq term) && arguments.size > 1
    case _: Term.Block | _: Term.Function | _: Term.Assign => true
    case _ => false
  }

  /** A `_` that is not in an argument or a block, whose function would end there. */
  private def hasPlaceholder(term: Tree): Boolean = term match {
    case _: Term.Placeholder => true
    case parent => parent.children.exists(c => !isArgument(c, parent) && hasPlaceholder(c))
  }

  private def render(text: String, from: Int, to: Int, hosts: Seq[Host]): String = {
    val out = new StringBuilder
    var at = from
    var rest = hosts
    while (rest.nonEmpty) {
      val host = rest.head
      val (inside, after) = rest.tail.span(_.start < host.end)
      out ++= text.substring(at, host.start)
      out ++= host.variants.mkString("(", "", "(") ++= render(text, host.start, host.end, inside) ++= "))"
      at = host.end
      rest = after
    }
    (out ++= text.substring(at, to)).toString
  }
}
