package io.github.dynamickafka.config

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options._
import io.github.dynamickafka.testkit.TimeLimit

/** Spark 4.0 does not have real-time mode. */
class RealTimeRefusalSuite extends AnyFunSuite with TimeLimit {

  for ((option, value) <- Seq("realTimeTasks" -> "2", "real-time-tasks" -> "2", "realTimeMinBatchMs" -> "250"))
    test(s"$option is refused by name, with the first version of Spark that has the mode") {
      val error = refused(parse(option -> value))
      assert(error.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION")
      assert(error.getMessageParameters.get("option") == option)
      assert(error.getMessage.contains("real-time") && error.getMessage.contains("4.1"), error.getMessage)
    }
}
