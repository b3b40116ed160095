"""``publish``."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import click

from dynamic_kafka._tools.cli.arguments import as_json, metadata_file, streams_of, with_timeout
from dynamic_kafka._tools.cli.locations import shown
from dynamic_kafka._tools.cli.output import count, print_json
from dynamic_kafka._tools.kafka.error import KafkaSettingsError
from dynamic_kafka._tools.metadata_file.records import RecordsError, records


@click.command()
@click.argument("file", type=metadata_file)
@click.option("--bootstrap-servers", required=True, metavar="HOST:PORT,...", help="The brokers of the topic.")
@click.option("--topic", required=True, help="The topic: one partition, cleanup.policy=compact.")
@click.option("--property", "given", multiple=True, metavar="NAME=VALUE", help="A property of Kafka's clients.")
@click.option("--stream", "only", multiple=True, metavar="ID", help="Only this stream.  [default: every stream]")
@click.option("--remove", multiple=True, metavar="ID", help="Remove a stream that is not in FILE.")
@with_timeout("Limit of each request, in seconds.")
@as_json
def publish(
    file: Path,
    bootstrap_servers: str,
    topic: str,
    given: tuple[str, ...],
    only: tuple[str, ...],
    remove: tuple[str, ...],
    timeout: float,
    as_json: bool,
) -> None:
    """Writes the streams of FILE, a metadata file, to the TOPIC of the metadata service `kafka-topic`.

    The whole file is validated before. Streams of the topic that FILE does not have stay, unless --remove names
    them. The exit code is 0, or 1 if FILE is not valid, a stream is unknown, or a record was not written.
    """
    streams_of(file)
    try:
        values = _values(file, only, remove)
        from dynamic_kafka._tools.kafka.metadata_topic import PublishError
        from dynamic_kafka._tools.kafka.metadata_topic import publish as write
    except ImportError:
        _refuse("no Kafka client is installed in this Python: pip install 'dynamic-kafka[cli]'")
    except RecordsError as e:
        _refuse(f"{shown(file)}: {e}")
    try:
        write({**_properties(given), "bootstrap.servers": bootstrap_servers}, topic, values, timeout)
    except (PublishError, KafkaSettingsError) as e:
        _refuse(str(e))
    published = [id for id, value in values.items() if value is not None]
    if as_json:
        print_json({"topic": topic, "published": published, "removed": list(remove)})
    else:
        removed = f", {count(len(remove), 'stream')} removed" if remove else ""
        click.echo(f"{topic}: {count(len(published), 'stream')} published{removed}")


def _values(file: Path, only: tuple[str, ...], remove: tuple[str, ...]) -> dict[str, str | None]:
    found = records(file.read_text(encoding="utf-8"))
    unknown = [id for id in only if id not in found]
    if unknown:
        raise RecordsError(f"there is no stream '{unknown[0]}'; the streams are {', '.join(found)}")
    kept = [id for id in remove if id in found]
    if kept:
        raise RecordsError(f"stream '{kept[0]}' is in the file: remove it there first")
    return {**{id: found[id] for id in only or found}, **dict.fromkeys(remove)}


def _properties(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    wrong = [name for name, equals, _ in pairs if not equals]
    if wrong:
        raise click.BadParameter(f"'{wrong[0]}' is not NAME=VALUE", param_hint="--property")
    return {name: value for name, _, value in pairs}


def _refuse(text: str) -> NoReturn:
    click.echo(text, err=True)
    raise SystemExit(1)
