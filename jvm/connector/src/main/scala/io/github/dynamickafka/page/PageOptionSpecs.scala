package io.github.dynamickafka.page

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.{OptionSpecs, OptionType, RawOptions}

/** The options of the page of the driver. */
private[dynamickafka] object PageOptionSpecs extends OptionSpecs {
  import OptionType._

  /** Shorter ones can be guessed. */
  val LeastToken = 16

  val Ui = option("ui", boolean, "false")(
    "Whether the driver shows this streaming query on [a page](page.md)."
  )

  private val withUi = without(Ui, "true")

  val UiHost = option("uiHost", text, PageSettings.Loopback, requires = withUi)(
    "The address of the page. One that other machines reach requires `uiToken`."
  )

  val UiPort = option(
    "uiPort",
    OptionType(
      "int",
      s => s.toIntOption.filter(n => n >= 0 && n <= 65535).toRight("it is not a port from 0 to 65535.")
    ),
    PageSettings.Port.toString,
    requires = withUi
  )(
    "The port of the page, or one of the next 15 if it is in use. `0`: any free port."
  )

  val UiToken = optional(
    "uiToken",
    OptionType(
      "string",
      s => Either.cond(s.length >= LeastToken, s, s"it has less than $LeastToken characters."),
      isSecret = true
    ),
    "",
    requires = withUi
  )(
    s"A secret of at least $LeastToken characters that visitors have to enter."
  )

  /** None: the query is not shown. */
  def parse(raw: RawOptions): Option[PageSettings] = Option.when(raw.get(Ui)) {
    val (host, token) = (raw.get(UiHost), raw.find(UiToken))
    if (!PageSettings.isLoopback(host) && token.isEmpty)
      throw Errors.missingOption(
        UiToken.name,
        s"'${UiHost.name}' is '$host', which other machines may reach: set '${UiToken.name}' to a secret of at least " +
          s"$LeastToken characters, or leave '${UiHost.name}' out."
      )
    PageSettings(host, raw.get(UiPort), token)
  }
}

/**
 * Where the page of a driver listens, and who may see it.
 *
 * @param port 0: any free one; another one and the next ones are tried otherwise
 * @param token what a visitor has to know; None: only requests that are addressed to this machine are answered
 */
private[dynamickafka] final case class PageSettings(
    host: String = PageSettings.Loopback,
    port: Int = PageSettings.Port,
    token: Option[String] = None
) {
  override def toString: String = s"PageSettings($host, $port)"
}

private[dynamickafka] object PageSettings {
  val Loopback = "127.0.0.1"
  val Port = 4090

  /** Decided by the text alone: a name may resolve to another address later. */
  def isLoopback(host: String): Boolean =
    host.equalsIgnoreCase("localhost") || host.matches("""127(\.\d{1,3}){3}""") ||
      host.stripPrefix("[").stripSuffix("]") == "::1"
}
