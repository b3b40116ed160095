package io.github.dynamickafka.config

import java.net.URI

import org.scalatest.funsuite.AnyFunSuite

class AddressTextSuite extends AnyFunSuite {

  test("an HTTP address without its query") {
    def shown(url: String) = AddressText.http(new URI(url))
    assert(shown("https://h:8/a/b?token=hunter2#x") == "https://h:8/a/b?(redacted)")
    assert(shown("http://h") == "http://h")
  }
}
