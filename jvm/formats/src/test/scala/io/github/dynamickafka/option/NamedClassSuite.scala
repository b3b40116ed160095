package io.github.dynamickafka.option

import org.scalatest.funsuite.AnyFunSuite

/** Classes and registrations that are found by a name. */
class NamedClassSuite extends AnyFunSuite {
  test("the error names the file that an archive without the registration of a module lacks") {
    val e = intercept[IllegalStateException](NamedClass.ofJar(classOf[NamedClassSuite.OfModule]))
    assert(e.getMessage.contains(s"META-INF/services/${classOf[NamedClassSuite.OfModule].getName}"))
  }
}

object NamedClassSuite {
  trait OfModule
}
