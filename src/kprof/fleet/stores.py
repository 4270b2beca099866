"""Captures in stores: ``s3://``, ``gs://``, ``https://``, ``zip://``, whatever fsspec knows.

A capture is copied to this machine for as long as it is measured, and the name files beside it once
for each folder; so a name file is found as it is among local files.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from kprof.errors import FileAccessError, MissingExtraError

_TRIES = 3  # stores are slow, and now and then busy


def is_url(name: str) -> bool:
    """Is it in a store?"""
    return "://" in name


def expand(pattern: str) -> list[str]:
    """The URLs that a pattern matches, in order of their names.

    Raises
    ------
    FileAccessError
        The store does not answer, or cannot list what it has.
    """
    store, path = _store(pattern)
    try:
        found = sorted(str(one) for one in store.glob(path))
    except Exception as error:  # of any store's library
        raise FileAccessError(f"{pattern}: cannot be listed: {error}") from error
    first, chain, rest = pattern.partition("::")
    protocol = first.partition("://")[0]
    return [f"{store.unstrip_protocol(one) if not chain else f'{protocol}://{one}'}{chain}{rest}"
            for one in found]  # fmt: skip


@contextmanager
def local_copy(url: str) -> Iterator[Path]:
    """A copy on this machine, for a while, with the name files of its folder beside it.

    Raises
    ------
    FileAccessError
        It cannot be had.
    """
    store, path = _store(url)
    head, _, chain = url.partition("::")
    folder = _folder_with_names(head.rpartition("/")[0] + (f"::{chain}" if chain else ""))
    copy = folder / PurePosixPath(path).name
    try:
        for tries in range(_TRIES):
            try:
                store.get_file(path, str(copy))
                break
            except FileNotFoundError as error:
                raise FileAccessError(f"{url}: cannot read: there is no such object") from error
            except Exception as error:
                if tries == _TRIES - 1:
                    raise FileAccessError(f"{url}: cannot read: {error}") from error
        yield copy
    finally:
        copy.unlink(missing_ok=True)


@functools.lru_cache(maxsize=64)
def _folder_with_names(url: str) -> Path:
    """A folder of this machine that has the name files of the folder `url`."""
    folder = Path(tempfile.mkdtemp(prefix="kprof-fleet-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with suppress(Exception):  # web servers list nothing: then --names says which
        store, path = _store(url)
        for one in store.glob(f"{path.rstrip('/')}/*.names*"):
            store.get_file(one, str(folder / PurePosixPath(one).name))
    return folder


def _store(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtraError(f"reading {url}", "fleet") from error
    try:
        store, path = url_to_fs(url)
    except ImportError as error:
        raise FileAccessError(f"{url}: {error}") from error
    except Exception as error:
        raise FileAccessError(f"{url}: cannot be read: {error}") from error
    return store, str(path)
