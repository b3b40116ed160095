"""Arguments that are folders or files: paths on this machine, or URIs of other stores, which fsspec reads.

What is elsewhere is copied here, and the commands read the copy: the newest batches of a checkpoint, or a file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import click

from dynamic_kafka._tools.checkpoint.log import COMMITS, OFFSETS

# Enough for the newest batch, and for one that is written meanwhile.
_BATCHES = 3
_SOURCES = "sources"
_COPIES = f"{__name__}.copies"


class Location(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A folder or a file that exists. The value is a path on this machine."""

    def __init__(self, is_folder: bool, instead: str | None = None) -> None:
        """Creates the type.

        Args:
            is_folder: Whether it is a checkpoint, otherwise a file.
            instead: The command needs it on this machine, because it changes it in place or needs all of it: what
                users do if it is elsewhere. None: the command reads it.
        """
        self.name = "directory" if is_folder else "file"
        self._is_folder, self._instead = is_folder, instead
        self._local = click.Path(exists=True, dir_okay=is_folder, file_okay=not is_folder, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Returns the path, of a copy if it is elsewhere."""
        if isinstance(value, Path):
            return value
        scheme = urlsplit(value).scheme if "://" in value else ""
        if scheme in ("", "file"):
            path = unquote(urlsplit(value).path) if scheme else value
            return Path(self._local.convert(path, param, ctx))
        if self._instead is not None:
            _refuse(f"{value} is not a {self.name} on this machine, which the command needs: {self._instead}")
        folder = tempfile.TemporaryDirectory(prefix="dynamic-kafka-")
        context = click.get_current_context()
        context.call_on_close(folder.cleanup)
        copy = _Copy(value, Path(folder.name), self._is_folder)
        context.meta.setdefault(_COPIES, {})[copy.path] = copy
        with _failing(value):
            if not copy.exists():
                self.fail(f"{self.name.capitalize()} '{value}' does not exist.", param, ctx)
            copy.refresh()
        return copy.path


def refresh(path: Path) -> None:
    """Copies again what is elsewhere.

    Raises:
        OSError: if it cannot be read.
    """
    copy = _copy_of(path)
    if copy is not None:
        copy.refresh()


def shown(path: Path) -> str:
    """The path or URI that the user has given."""
    copy = _copy_of(path)
    return str(path) if copy is None else copy.uri


class _Copy:
    def __init__(self, uri: str, folder: Path, is_folder: bool) -> None:
        self.uri = uri
        with _failing(uri):
            from fsspec.core import url_to_fs  # type: ignore[import-not-found,import-untyped,unused-ignore]

            found: tuple[Any, str] = url_to_fs(uri)
        self._files, self._root = found[0], found[1].rstrip("/")
        self._is_folder = is_folder
        self.path = folder / self._root.rpartition("/")[2]

    def exists(self) -> bool:
        return bool(self._files.isdir(self._root) if self._is_folder else self._files.isfile(self._root))

    def refresh(self) -> None:
        self._files.invalidate_cache()
        if not self._is_folder:
            self.path.write_bytes(self._files.cat_file(self._root))
            return
        self.path.mkdir(exist_ok=True)
        for log in (COMMITS, OFFSETS):
            # The newest batches, by number: a log may have hundreds.
            files = [file for file in self._names(log) if file.isdecimal()]
            self._copy(log, [f"{log}/{file}" for file in sorted(files, key=int)[-_BATCHES:]])
        sources = f"{self._root}/{_SOURCES}"
        if self._files.isdir(sources):
            self._copy(_SOURCES, [str(file).removeprefix(f"{self._root}/") for file in self._files.find(sources)])

    def _names(self, folder: str) -> list[str]:
        path = f"{self._root}/{folder}"
        found = self._files.ls(path, detail=False) if self._files.isdir(path) else []
        return [str(file).rpartition("/")[2] for file in found]

    def _copy(self, folder: str, files: list[str]) -> None:
        if self._files.isdir(f"{self._root}/{folder}"):
            (self.path / folder).mkdir(exist_ok=True)
        for file in files:
            target = self.path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self._files.cat_file(f"{self._root}/{file}"))


def _copy_of(path: Path) -> _Copy | None:
    copies: dict[Path, _Copy] = click.get_current_context().meta.get(_COPIES, {})
    return copies.get(path)


@contextmanager
def _failing(uri: str) -> Iterator[None]:
    """Exits with 1 and the reason if a store cannot be read."""
    try:
        yield
    except ModuleNotFoundError as e:
        if (e.name or "").partition(".")[0] == "fsspec":
            _refuse(f"{uri} needs fsspec: pip install 'dynamic-kafka[uri]', and the package of the store")
        _refuse(f"{uri}: {e}")
    except (ImportError, ValueError, OSError) as e:
        _refuse(f"{uri}: {e}")


def _refuse(reason: str) -> NoReturn:
    click.echo(reason, err=True)
    raise SystemExit(1)
