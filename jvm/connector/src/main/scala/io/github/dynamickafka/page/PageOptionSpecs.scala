package io.github.dynamickafka.page

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.{OptionSpec, OptionType, RawOptions}

/** The options of the page of the driver. */
private[dynamickafka] object PageOptionSpecs {
  import OptionType._

  val Ui: OptionSpec[Boolean] = OptionSpec(
    "ui",
    boolean,
    Some(false),
    "`false`",
    "Whether the driver serves [a page](page.md) that shows this streaming query while it runs. There is one page per driver, with all queries " +
      "that set this option."
  )

  val UiHost: OptionSpec[String] = OptionSpec(
    "uiHost",
    text,
    Some(PageSettings.Loopback),
    s"`${PageSettings.Loopback}`",
    "The address that the page listens on. One that other machines reach requires `uiToken`."
  )

  val UiPort: OptionSpec[Int] = OptionSpec(
    "uiPort",
    OptionType(
      "int",
      s => s.toIntOption.filter(n => n >= 0 && n <= 65535).toRight("it is not a port from 0 to 65535.")
    ),
    Some(PageSettings.Port),
    s"`${PageSettings.Port}`",
    "The port of the page. If it is in use, the 15 next ones are tried. `0`: any free port."
  )

  /** Shorter ones can be guessed. */
  val LeastToken = 16

  val UiToken: OptionSpec[String] = OptionSpec(
    "uiToken",
    OptionType(
      "string",
      s => Either.cond(s.length >= LeastToken, s, s"it has less than $LeastToken characters.")
    ),
    None,
    "",
    s"A secret of at least $LeastToken characters that visitors of the page have to enter. Also useful on loopback if other users " +
      "work on the machine of the driver.",
    secret = true
  )

  val all: Seq[OptionSpec[_]] = Seq(Ui, UiHost, UiPort, UiToken)

  /** None: the query is not shown. */
  def parse(raw: RawOptions): Option[PageSettings] = {
    val (host, token) = (raw.get(UiHost), raw.find(UiToken))
    if (!raw.get(Ui)) {
      all.flatMap(spec => raw.written(spec).filter(_ => spec ne Ui).map(spec -> _)).headOption.foreach {
        case (spec, written) => throw Errors.invalidOption(
            written.name,
            spec.shown(written.value),
            s"it has no effect without '${Ui.name}=true'."
          )
      }
      None
    } else if (!PageSettings.isLoopback(host) && token.isEmpty)
      throw Errors.missingOption(
        UiToken.name,
        s"'${UiHost.name}' is '$host', which other machines may reach: set '${UiToken.name}' to a secret of at least " +
          s"$LeastToken characters, or leave '${UiHost.name}' out."
      )
    else Some(PageSettings(host, raw.get(UiPort), token))
  }
}
