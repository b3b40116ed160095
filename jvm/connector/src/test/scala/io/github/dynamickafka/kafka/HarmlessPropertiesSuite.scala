package io.github.dynamickafka.kafka

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.testkit.TimeLimit

/** The list of harmless properties, compared with the definitions of Kafka's clients. */
class HarmlessPropertiesSuite extends AnyFunSuite with TimeLimit {

  test("every number, boolean and class name among Kafka's properties is on the list") {
    import org.apache.kafka.common.config.ConfigDef.Type._
    val numberOrBoolean = Set(BOOLEAN, SHORT, INT, LONG, DOUBLE)
    KafkaProperties.names.foreach { name =>
      val kind = KafkaProperties.typeOf(name).get
      val shown = Seq("1", "true", "a.B").map(Redaction.isSafe(name, _))
      if (numberOrBoolean(kind)) assert(shown == Seq(true, true, false), name)
      else if (kind == CLASS) assert(shown == Seq(true, true, true), name)
    }
  }

  test("no property that Kafka itself hides is on the list") {
    KafkaProperties.names.filter(KafkaProperties.isPassword).foreach(name =>
      assert(!Redaction.isSafe(name, "true"))
    )
  }
}
