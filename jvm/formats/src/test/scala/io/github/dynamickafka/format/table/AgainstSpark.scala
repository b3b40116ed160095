package io.github.dynamickafka.format.table

import java.nio.charset.StandardCharsets.UTF_8

import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.Assertions

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.{Decoder, SideLayout}

/**
 * Compares decoders with Spark's expressions, over sequences of records: one decoder decodes them all, and the expression sees each
 * of them alone. So a record that changes what is made of the one after it is found.
 */
trait AgainstSpark extends Assertions {

  protected def some[A](of: Gen[A], count: Int, seed: Long = 0, size: Int = 20): Seq[A] =
    Gen.listOfN(count, of).pureApply(Gen.Parameters.default.withSize(size), Seed(TestSeed() + seed))

  /** @return how many of the records were bad */
  protected def assertSame(side: SideLayout, decoder: Decoder, records: Seq[Array[Byte]])(
      bySpark: Array[Byte] => Decoded
  ): Int = {
    val decode = Decoded.by(decoder, side)
    var before = Array.emptyByteArray
    records.count { record =>
      val (found, expected) = (decode(record), bySpark(record))
      assert(found == expected, s"${shown(record)}, after ${shown(before)}, seed ${TestSeed()}")
      before = record
      expected.bad
    }
  }

  private def shown(bytes: Array[Byte]) = {
    val text = new String(bytes, UTF_8).replace("\n", "\\n").replace("\r", "\\r").replace("\uffff", "\\uffff")
    s"'$text' (${bytes.map("%02x".format(_)).mkString})"
  }
}

object AgainstSpark {

  /** The same bytes, with one changed, removed or added, or cut off. */
  def damaged(bytes: Array[Byte]): Gen[Array[Byte]] =
    if (bytes.isEmpty) Gen.const(bytes)
    else
      for {
        at <- Gen.choose(0, bytes.length - 1)
        by <-
          Gen.oneOf(Gen.choose(Byte.MinValue, Byte.MaxValue), Gen.oneOf("\n\r\",{}[]\\\u0000".getBytes.toSeq))
        result <- Gen.oneOf(
          bytes.take(at),
          bytes.updated(at, by),
          bytes.take(at) ++ Array(by) ++ bytes.drop(at),
          bytes.take(at) ++ bytes.drop(at + 1)
        )
      } yield result
}
