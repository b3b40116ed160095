package org.apache.spark.kafka010

import java.nio.charset.StandardCharsets.UTF_8
import java.util.regex.Pattern

import org.apache.hadoop.io.Text
import org.apache.hadoop.security.token.{Token, TokenIdentifier}
import org.apache.hadoop.security.{Credentials, UserGroupInformation}
import org.apache.spark.SparkEnv

/** Gives this process a delegation token for a Kafka cluster, as Spark does with those that it has obtained. */
object TestTokens {
  private val Name = "tokens"
  private val Settings = s"spark.kafka.clusters.$Name."

  /** @param hmac in base 64 */
  def set(bootstrapServers: String, id: String, hmac: String): Unit = {
    val conf = SparkEnv.get.conf
    conf.set(s"${Settings}auth.bootstrap.servers", bootstrapServers)
    conf.set(s"${Settings}target.bootstrap.servers.regex", Pattern.quote(bootstrapServers))
    conf.set(s"${Settings}sasl.token.mechanism", "SCRAM-SHA-256")
    val service: Text = KafkaTokenUtil.getTokenService(Name)
    val all = new Credentials
    all.addToken(
      service,
      new Token[TokenIdentifier](id.getBytes(UTF_8), hmac.getBytes(UTF_8), KafkaTokenUtil.TOKEN_KIND, service)
    )
    UserGroupInformation.getCurrentUser.addCredentials(all)
  }

  /** This process has no token from now on: one that matches no cluster. */
  def unset(): Unit = {
    val _ = SparkEnv.get.conf.set(s"${Settings}target.bootstrap.servers.regex", "none")
  }
}
