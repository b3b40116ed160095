package io.github.dynamickafka.source.trigger

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.offset.Loss
import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.testkit.TimeLimit

class LossPolicySuite extends AnyFunSuite with TimeLimit {

  test("a topic that was read may be missing for a moment; lost records are decided at once") {
    val gone = Loss.TopicGone("blue", "orders")
    val policy = new LossPolicy(failOnDataLoss = true, graceMs = 5000L)
    assert(policy.judge(Seq(gone), now = 0L, waitForTopics = true))
    assert(!policy.judge(Nil, now = 4000L, waitForTopics = true))
    assert(policy.judge(Seq(gone), now = 6000L, waitForTopics = true))
    assert(policy.judge(Seq(gone), now = 10999L, waitForTopics = true))
    val late =
      intercept[DynamicKafkaRuntimeException](policy.judge(Seq(gone), now = 11000L, waitForTopics = true))
    assert(
      late.getMessageParameters.get("cluster") == "blue" && late.getMessageParameters.get("topic") == "orders"
    )
    intercept[DynamicKafkaRuntimeException](
      new LossPolicy(true, 5000L).judge(Seq(gone), now = 0L, waitForTopics = false)
    )
    val expired = Loss.Expired("blue", "orders", 3, known = 7L, earliest = 9L)
    val e =
      intercept[DynamicKafkaRuntimeException](policy.judge(Seq(expired), now = 0L, waitForTopics = true))
    assert(
      Seq("blue", "orders", "partition 3", "offset to read is 7", "9").forall(e.getMessage.contains),
      e.getMessage
    )
    assert(!new LossPolicy(
      failOnDataLoss = false,
      0L
    ).judge(Seq(gone, expired), now = 0L, waitForTopics = false))
  }

  test("what is missing counts as lost when its grace ends, other losses at once") {
    val gone = Loss.TopicGone("blue", "orders")
    val policy = new LossPolicy(failOnDataLoss = false, graceMs = 5000L)
    assert(!policy.isLost(gone, now = 9000L) && policy.isLost(Loss.Expired("blue", "orders", 0, 7L, 9L), 0L))
    policy.judge(Seq(gone), now = 0L, waitForTopics = true)
    assert(!policy.isLost(gone, now = 4999L) && policy.isLost(gone, now = 5000L))
    policy.judge(Nil, now = 6000L, waitForTopics = true)
    assert(!policy.isLost(gone, now = 7000L))
  }

  test("losses are logged once for each partition and kind, and again after a while") {
    val policy = new LossPolicy(failOnDataLoss = false, graceMs = 0L)
    def logged(now: Long, losses: Loss*) =
      Logs.during(classOf[LossPolicy])(policy.judge(losses, now, waitForTopics = false)).size
    def expired(partition: Int, known: Long) = Loss.Expired("blue", "orders", partition, known, known + 5)
    assert(logged(0L, expired(0, 7L), expired(1, 7L), Loss.TopicGone("blue", "other")) == 3)
    assert((1 to 50).map(i => logged(i * 1000L, expired(0, 7L + i))).sum == 0)
    assert(logged(51000L, Loss.Truncated("blue", "orders", 0, 8L)) == 1)
    assert(logged(60000L, expired(0, 99L)) == 1)
  }

  test("a missing topic is waited for, other losses are not") {
    val policy = new LossPolicy(failOnDataLoss = false, graceMs = 5000L)
    val gone = Loss.PartitionGone("blue", "orders", 1, 7L)
    val expired = Loss.Expired("blue", "orders", 0, 7L, 9L)
    assert(policy.judge(Seq(gone, expired), now = 0L, waitForTopics = true))
    assert(!policy.judge(Seq(expired), now = 1000L, waitForTopics = true))
    assert(policy.judge(Seq(gone), now = 4000L, waitForTopics = true))
    assert(!policy.judge(Seq(gone), now = 9000L, waitForTopics = true))
  }

  test("a topic that is gone and was drained is waited for, and is no loss") {
    val policy = new LossPolicy(failOnDataLoss = true, graceMs = 5000L)
    val gone = Seq(Loss.TopicGone("blue", "orders"))
    assert(policy.judge(gone, now = 0L, waitForTopics = true, _ => true))
    assert(!policy.judge(gone, now = 5000L, waitForTopics = true, _ => true))
    val other = Loss.TopicGone("blue", "payments")
    policy.judge(gone :+ other, now = 6000L, waitForTopics = true, _ != other)
    val e = intercept[DynamicKafkaRuntimeException](
      policy.judge(gone :+ other, now = 11000L, waitForTopics = true, _ != other)
    )
    assert(e.getMessage.contains("payments"))
  }

  test("what is missing counts as lost only after an answer of the metadata service that has it") {
    object Service extends LossGrace.Metadata {
      var asked = Vector.empty[Long]
      var answered = 0L
      var names = true
      override def ask(): Option[Long] = {
        asked :+= answered
        Some(answered)
      }
      override def reads(cluster: String, topic: String, asked: Long): Boolean = answered > asked && names
    }
    val gone = Loss.TopicGone("blue", "orders")
    val policy = new LossPolicy(failOnDataLoss = true, graceMs = 5000L, Service)
    def waits(now: Long) = policy.judge(Seq(gone), now, waitForTopics = true)
    assert(waits(0L) && waits(5000L) && waits(60000L), "there is no answer")
    Service.answered = 1L
    Service.names = false
    assert(waits(61000L) && waits(120000L), "the answer lacks it, and is not confirmed")
    Service.names = true
    assert(Service.asked == Vector(0L), "asked once for a topic that is missing")
    intercept[DynamicKafkaRuntimeException](waits(121000L))
  }
}
