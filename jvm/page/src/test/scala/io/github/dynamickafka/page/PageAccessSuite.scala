package io.github.dynamickafka.page

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.page.PageAccess.{Allowed, Asked, Refused}
import io.github.dynamickafka.testkit.TimeLimit

class PageAccessSuite extends AnyFunSuite with TimeLimit {

  private val token = "0123456789abcdef"
  private val open = new PageAccess(PageSettings())
  private val guarded = new PageAccess(PageSettings(host = "0.0.0.0", token = Some(token)))

  test("without a token, only requests that are addressed to this machine are answered") {
    for (host <- Seq("127.0.0.1:4090", "localhost:4090", "LOCALHOST", "127.9.9.9", "[::1]:4090", "[::1]"))
      assert(open.decide(Some(host), None, None) == Allowed, host)
    for (
      host <-
        Seq("evil.example:4090", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1:4090", "")
    )
      assert(open.decide(Some(host), None, None) == Refused, host)
    assert(open.decide(None, None, None) == Refused)
  }

  test("with a token, every request needs it, or the cookie of somebody who had it") {
    def decide(authorization: Option[String], cookies: Option[String]) =
      guarded.decide(Some("driver.example:4090"), authorization, cookies)
    assert(decide(None, None) == Asked)
    assert(decide(Some(s"Bearer $token"), None) == Allowed)
    assert(decide(Some(token), None) == Asked)
    assert(decide(Some("Bearer 0123456789abcdeg"), None) == Asked)
    val cookie = guarded.cookie.takeWhile(_ != ';')
    assert(decide(None, Some(cookie)) == Allowed)
    assert(decide(None, Some(s"other=1; $cookie; more=2")) == Allowed)
    assert(decide(None, Some(s"${cookie}x")) == Asked)
    assert(guarded.isToken(token) && !guarded.isToken("") && !open.isToken(""))
  }

  test("the cookie does not contain the token, and each driver has one of its own") {
    assert(!guarded.cookie.contains(token))
    assert(guarded.cookie.contains("HttpOnly") && guarded.cookie.contains("SameSite=Strict"))
    val other = new PageAccess(PageSettings(token = Some(token)))
    assert(other.cookie.takeWhile(_ != '=') != guarded.cookie.takeWhile(_ != '='))
  }

  test("settings do not print the token") {
    assert(!PageSettings(token = Some(token)).toString.contains(token))
  }
}
