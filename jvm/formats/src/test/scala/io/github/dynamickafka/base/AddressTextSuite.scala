package io.github.dynamickafka.base

import java.net.URI

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks

import io.github.dynamickafka.testkit.TimeLimit

class AddressTextSuite extends AnyFunSuite with TimeLimit with TableDrivenPropertyChecks {

  test("an HTTP address is printed without its query") {
    def shown(url: String) = AddressText.http(new URI(url))
    assert(shown("https://h:8/a/b?token=hunter2#x") == "https://h:8/a/b?(redacted)")
    assert(shown("http://h") == "http://h")
  }

  private val jdbc = Table(
    ("url", "shown", "credentials"),
    ("jdbc:postgresql://h:5432/meta", "jdbc:postgresql://h:5432/meta", Set.empty[String]),
    ("jdbc:postgresql://h,i/d?user=u&password=p1&x=y", "jdbc:postgresql://h,i/d", Set("p1")),
    ("jdbc:sqlserver://h;user=u;Pwd=p1;", "jdbc:sqlserver://h", Set("p1")),
    ("jdbc:mysql://u:p1@h/d", "jdbc:mysql:(redacted)", Set("u", "p1")),
    ("jdbc:oracle:thin:u/p1@//h:1/s", "jdbc:oracle:(redacted)", Set("u", "p1")),
    ("jdbc:mysql://(host=h,password=p1)/d", "jdbc:mysql:(redacted)", Set.empty[String]),
    ("jdbc:postgresql://u:p1;p2@h/d", "jdbc:postgresql:(redacted)", Set("u", "p1;p2", "p1", "p2")),
    (
      "jdbc:postgresql://u:p1@p2?p3/p4@h/d",
      "jdbc:postgresql:(redacted)",
      Set("u", "p1@p2?p3/p4", "p1", "p2", "p3", "p4")
    ),
    ("jdbc:postgresql://u:1p;p2@h/d", "jdbc:postgresql:(redacted)", Set("u", "1p;p2", "1p", "p2")),
    ("jdbc:postgresql://h/d?options=a@b", "jdbc:postgresql:(redacted)", Set.empty[String]),
    ("jdbc:postgresql://h:1,i:2/d?user=u@v&password=p1", "jdbc:postgresql:(redacted)", Set("p1")),
    ("jdbc:sqlserver://[::1]:1433;user=u@v", "jdbc:sqlserver:(redacted)", Set.empty[String]),
    ("u:p1@h", "(redacted)", Set.empty[String])
  )

  test("a JDBC URL is printed without anything that could be a credential") {
    forAll(jdbc) { (url, shown, credentials) =>
      assert(AddressText.jdbc(url) == shown)
      assert(AddressText.credentials(url).values.toSet == credentials)
    }
  }
}
