package io.github.dynamickafka.metadata.document

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.Conformance

/** Edits of documents, as the commands make them: the cases in `tests/conformance/edits`. */
class DocumentEditsSuite extends AnyFunSuite {

  Conformance.cases("edits").foreach { one =>
    test(one.get("name").asText) {
      val text = one.get("document").asText
      def edited: String = (one.get("command").asText, Conformance.texts(one.get("arguments"))) match {
        case ("move", Seq(stream, old, added)) => DocumentEdits.moved(text, stream, old, added)
        case (command, cluster +: stream) =>
          val state = if (command == "drain") "draining" else "active"
          DocumentEdits.withState(text, cluster, state, stream.headOption)
        case other => fail(s"unknown edit $other")
      }
      if (one.has("refused"))
        assert(intercept[EditRefused](edited).getMessage.startsWith(one.get("refused").asText))
      else assert(edited == one.get("result").asText)
    }
  }
}
