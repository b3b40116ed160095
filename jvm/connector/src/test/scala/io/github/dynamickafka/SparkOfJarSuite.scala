package io.github.dynamickafka

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.testkit.TimeLimit

class SparkOfJarSuite extends AnyFunSuite with TimeLimit {
  private val line = BuildInfo.sparkLine

  test("the Spark and Scala that the jar was built for") {
    Seq(s"$line.0", s"$line.17", s"$line.1-SNAPSHOT").foreach(SparkOfJar.check(_, "2.13.9"))
    if (line == "4.2") SparkOfJar.check("4.3.0", "2.13.18")
  }

  test("a jar for another Spark or Scala") {
    for (
      (spark, scala) <-
        Seq("3.5.8" -> "2.12.18", s"$line.0" -> "2.12.18", "4.9.0" -> "2.13.16", s"${line}0.1" -> "2.13.16")
    ) {
      val e = intercept[DynamicKafkaIllegalArgumentException](SparkOfJar.check(spark, scala))
      assert(e.getCondition == "DYNAMIC_KAFKA.WRONG_JAR")
      Seq(s"Spark $line with Scala 2.13", s"Spark $spark with Scala $scala").foreach(s =>
        assert(e.getMessage.contains(s))
      )
    }
  }
}
