package io.github.dynamickafka.testkit

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.admin.{
  Admin,
  ScramCredentialInfo,
  ScramMechanism,
  UserScramCredentialAlteration,
  UserScramCredentialUpsertion
}
import org.apache.kafka.common.acl.{AccessControlEntry, AclBinding, AclOperation, AclPermissionType}
import org.apache.kafka.common.errors.AuthenticationException
import org.apache.kafka.common.resource.{PatternType, ResourcePattern, ResourceType}

/** Users and ACLs of one cluster. Methods that change something return when the change is visible to clients. */
private[testkit] final class Access(bootstrapServers: String) extends AutoCloseable {
  private val admin = AdminClients.open(bootstrapServers)

  /** @param client the properties of a client that has this user's new password */
  def setPassword(user: String, password: String, client: Map[String, String]): Unit = {
    val credential = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, Access.Iterations)
    val change: UserScramCredentialAlteration = new UserScramCredentialUpsertion(user, credential, password)
    AdminClients.result(admin.alterUserScramCredentials(Seq(change).asJava).all())
    Poll.until(s"$user can log in at $bootstrapServers")(logsIn(client))
  }

  /** @param pattern whether the permissions apply to all resources whose names start with `name`, not only to `name` */
  def add(
      user: String,
      what: ResourceType,
      name: String,
      operations: Seq[AclOperation],
      pattern: PatternType = PatternType.LITERAL
  ): Unit = {
    val resource = new ResourcePattern(what, name, pattern)
    val acls = operations.map { operation =>
      val entry = new AccessControlEntry(s"User:$user", "*", operation, AclPermissionType.ALLOW)
      new AclBinding(resource, entry)
    }
    AdminClients.result(admin.createAcls(acls.asJava).all())
    Poll.until(s"$user has permissions on $name at $bootstrapServers") {
      acls.forall(acl => !AdminClients.result(admin.describeAcls(acl.toFilter).values()).isEmpty)
    }
  }

  override def close(): Unit = admin.close()

  private def logsIn(client: Map[String, String]): Boolean =
    Using.resource(Admin.create((client: Map[String, AnyRef]).asJava)) { asUser =>
      try AdminClients.result(asUser.describeCluster().clusterId()) != null
      catch { case _: AuthenticationException => false }
    }
}

private[testkit] object Access {

  /** Kafka's minimum, because tests authenticate often. */
  private val Iterations = 4096
}
