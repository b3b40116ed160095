package io.github.dynamickafka.offset

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.Conformance
import io.github.dynamickafka.error.DynamicKafkaRuntimeException

/** Composite offsets of all versions that are accepted, and texts that are refused. */
class OffsetConformanceSuite extends AnyFunSuite {

  Conformance.cases("offsets").foreach { one =>
    val text = one.get("offset").asText
    test(one.get("name").asText) {
      if (one.has("refused")) {
        val e = intercept[DynamicKafkaRuntimeException](CompositeOffsetJson.read(text))
        assert(e.getCondition == s"DYNAMIC_KAFKA.${one.get("refused").get("condition").asText}")
        Conformance.texts(one.get("refused").get("says")).foreach(said => assert(e.getMessage.contains(said)))
      } else {
        val offset = CompositeOffsetJson.read(text)
        assert(offset.json == text)
        val now = CompositeOffsetJson.write(offset)
        assert(CompositeOffsetJson.read(now) == offset)
        if (one.has("same")) assert(now == one.get("same").asText)
      }
    }
  }
}
