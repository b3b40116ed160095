package io.github.dynamickafka.page

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options
import io.github.dynamickafka.config.Options.refused
import io.github.dynamickafka.testkit.TimeLimit

class PageOptionsSuite extends AnyFunSuite with TimeLimit {

  private val token = "a-token-of-twenty-ch"

  private def page(options: (String, String)*): Option[PageSettings] = Options.parse(options: _*).page

  test("a query is not shown unless it asks for it, and then to this machine only") {
    assert(page().isEmpty && page("ui" -> "false").isEmpty)
    assert(page("ui" -> "true").contains(PageSettings("127.0.0.1", 4090, None)))
    assert(page(
      "ui" -> "true",
      "uiPort" -> "0",
      "uiHost" -> "localhost"
    ).contains(PageSettings("localhost", 0)))
    assert(page("ui" -> "true", "uiToken" -> token).flatMap(_.token).contains(token))
  }

  test("an address that other machines reach needs a token") {
    for (host <- Seq("0.0.0.0", "driver.example", "10.0.0.1", "::", "127.0.0.1.example")) {
      val e = refused(page("ui" -> "true", "uiHost" -> host))
      assert(e.getCondition == "DYNAMIC_KAFKA.MISSING_OPTION" && e.getMessage.contains("uiToken"), host)
      assert(page("ui" -> "true", "uiHost" -> host, "uiToken" -> token).map(_.host).contains(host))
    }
  }

  test("a short token, another port, and options without ui=true are refused; no message has the token") {
    for (
      options <- Seq(
        Seq("ui" -> "true", "uiToken" -> "short-secret"),
        Seq("uiToken" -> token),
        Seq("ui" -> "true", "uiPort" -> "65536"),
        Seq("uiPort" -> "4090"),
        Seq("uiHost" -> "localhost")
      )
    ) {
      val e = refused(page(options: _*))
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION", options)
      assert(!e.getMessage.contains(token) && !e.getMessage.contains("short-secret"))
    }
  }
}
