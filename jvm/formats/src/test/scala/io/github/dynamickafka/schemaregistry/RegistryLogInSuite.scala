package io.github.dynamickafka.schemaregistry

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.schemaregistry.RegistryServer.{Answer, servingFrom}
import io.github.dynamickafka.testkit.TimeLimit

/** Requests to a registry with tokens of an authorization server. */
class RegistryLogInSuite extends AnyFunSuite with TimeLimit with RegistryTest {
  private val Secret = "hunter2"

  /** A registry, and a server whose tokens it is asked with. */
  private def serving(body: (RegistryServer, RegistryServer) => Unit): Unit =
    servingFrom(1) { registry =>
      servingFrom(1) { authority =>
        authority.behave = _ =>
          Some(Answer(200, s"""{"access_token": "token-${authority.requests.size}", "expires_in": 3600}"""))
        registry.register("s", "\"int\"")
        body(registry, authority)
      }
    }

  private def settings(registry: RegistryServer, authority: RegistryServer, more: (String, String)*) =
    registry.settings(Seq(
      "oauth.tokenUrl" -> s"${authority.url}/token",
      "oauth.clientId" -> "reader",
      "oauth.clientSecret" -> Secret
    ) ++ more: _*)

  private def sent(registry: RegistryServer) = registry.requests.map(_.headers("authorization"))

  test("requests have a token, and the headers of Confluent Cloud; a token that is refused is replaced once") {
    serving { (registry, authority) =>
      val of = settings(
        registry,
        authority,
        "oauth.scope" -> "schemas",
        "oauth.logicalCluster" -> "lsrc-1",
        "oauth.identityPoolId" -> "pool-2",
        "basicAuth.userInfo" -> "me:hunter3"
      )
      (1 to 2).foreach(_ => assert(client.about(of).schema(1).isDefined))
      assert(sent(registry) == Seq("Bearer token-1", "Bearer token-1"))
      assert(authority.requests.map(_.body) == Seq("grant_type=client_credentials&scope=schemas"))
      assert(registry.requests.forall(r =>
        r.headers("target-sr-cluster") == "lsrc-1" && r.headers("confluent-identity-pool-id") == "pool-2"
      ))
      registry.behave =
        request => Option.when(request.headers("authorization") == "Bearer token-1")(Answer(401))
      assert(client.about(of).schema(1).isDefined)
      assert(sent(registry).drop(2) == Seq("Bearer token-1", "Bearer token-2"))
      registry.behave = _ => Some(Answer(401))
      val e = failure(client.about(of).schema(1))
      assert(e.getCondition == "DYNAMIC_KAFKA.REGISTRY_AUTHENTICATION_FAILED")
      assert(sent(registry).drop(4) == Seq("Bearer token-2", "Bearer token-3"))
      assert(!of.toString.contains("hunter") && !of.resolved().toString.contains("hunter"))
    }
  }

  test("an authorization server that fails is asked again, one that refuses the client is not") {
    serving { (registry, authority) =>
      val of = settings(registry, authority)
      authority.behave = _ =>
        Some(if (authority.requests.size <= 2) Answer(503, "hunter4")
        else Answer(200, """{"access_token": "t"}"""))
      assert(client.about(of).schema(1).isDefined)
      assert(sent(registry) == Seq("Bearer t") && authority.requests.size == 3)
      val other = settings(registry, authority, "oauth.scope" -> "other")
      authority.behave =
        _ => Some(Answer(400, """{"error": "invalid_scope", "error_description": "hunter5"}"""))
      val refused = failure(client.about(other).schema(1))
      assertUnavailable(refused, "status 400, invalid_scope", authority.url)
      assert(authority.requests.size == 4 && !refused.getMessage.contains("hunter"))
      authority.behave = _ => Some(Answer(500))
      assertUnavailable(failure(client.about(other).schema(1)), "status 500", "attempts")
    }
  }

  test("what is missing or invalid, and what a cluster has instead of a log-in for all") {
    def missing(names: String*): String = {
      val e = intercept[DynamicKafkaIllegalArgumentException](
        RegistryServer.settingsOf("http://r", names.map(_ -> "hunter2"): _*)
      )
      assert(e.getCondition == "DYNAMIC_KAFKA.MISSING_OPTION" && !e.getMessage.contains("hunter"))
      e.getMessage
    }
    assert(missing("oauth.clientId", "oauth.clientSecret").contains("'cluster.blue.registry.oauth.tokenUrl'"))
    assert(missing("oauth.tokenUrl", "oauth.clientSecret").contains("'cluster.blue.registry.oauth.clientId'"))
    assert(missing("oauth.scope").contains("'cluster.blue.registry.oauth.tokenUrl'"))
    serving { (registry, authority) =>
      val invalid = registry.settings(
        "oauth.tokenUrl" -> "https://me:hunter6@l",
        "oauth.clientId" -> "me",
        "oauth.clientSecret" -> Secret
      )
      val e = failure(client.about(invalid).schema(1))
      assertUnavailable(e, "'registry.oauth.tokenUrl'")
      assert(!e.getMessage.contains("hunter"))
      val shared = settings(registry, authority).values
      def of(own: (String, String)) =
        Registries(shared, Map(s"blue.registry.${own._1}" -> own._2)).of("blue").resolved()
      assert(of("bearerAuth.token" -> "t").login.isEmpty && of("basicAuth.userInfo" -> "u:p").login.isEmpty)
      assert(of("oauth.scope" -> "own").login.exists(_.scope == "own"))
    }
  }
}
