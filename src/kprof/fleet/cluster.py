"""Many captures over a cluster: Dask's scheduler and workers, the same answer to the bit.

The client sends names; each worker reads its captures itself, from a file system that all share or
from a store (`kprof.fleet.stores`), and merges what it found. Values are merged in a tree, in the
order of the captures. What a worker that dies had, Dask gives to others.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import kprof
from kprof.analysis.replay.compiled import available
from kprof.errors import KprofError, MissingExtraError, UsageError
from kprof.fleet.measure import Failed, Measured, Plan, attempt, hold_names, merge
from kprof.fleet.pool import CHUNK, Rate, Tell
from kprof.fleet.stores import is_url

SCHEME = "dask://"
_FAN = 16  # values that are merged at once
_RETRIES = 3
_MANY = 200  # captures for which it pays to compile the replay
_ANSWER_S = 10


class ClusterError(KprofError):
    """The cluster cannot be reached, or cannot do the work."""


def measure_on(
    address: str,
    captures: Sequence[str],
    plan: Plan,
    *,
    tell: Tell = lambda done, total, note: None,  # noqa: ARG005
) -> Measured:
    """Measure captures on the cluster whose scheduler is at ``dask://HOST:PORT``.

    Raises
    ------
    ClusterError
        Nobody answers there, or the workers have another kprof.
    MissingExtraError
        dask.distributed is not installed.
    KprofError
        As `kprof.fleet.measure.measure`.
    """
    if not address.startswith(SCHEME):
        raise UsageError(f"{address}: is no cluster; expected dask://HOST:PORT")
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingExtraError("a cluster (--on)", "fleet") from error
    try:
        client = Client("tcp://" + address.removeprefix(SCHEME), timeout=_ANSWER_S)
    except (OSError, ValueError) as error:
        raise ClusterError(f"{address}: no scheduler answers ({error})") from error
    with client:
        _check_workers(client, address)
        plan = hold_names(plan)
        names = [one if is_url(one) else os.path.abspath(one) for one in captures]  # noqa: PTH100
        chunks = [names[at : at + CHUNK] for at in range(0, len(names), CHUNK)]
        futures = client.map(
            _measure_there,
            chunks,
            plan=plan,
            many=len(names) >= _MANY,
            pure=False,
            retries=_RETRIES,
        )
        rate, sizes = Rate(len(names), tell), dict(zip(futures, map(len, chunks), strict=True))
        whole = _tree(client, list(futures))
        for future in as_completed(futures):
            rate.add(sizes[future])
        return _answer(whole)


def _tree(client: Any, level: list[Any]) -> Any:
    """Futures merged in a tree; the future of all."""
    while len(level) > 1:
        groups = [level[at : at + _FAN] for at in range(0, len(level), _FAN)]
        level = [client.submit(_merge_there, group, pure=False) for group in groups]
    return level[0]


def _answer(future: Any) -> Measured:
    try:
        found = future.result()
    except Exception as error:  # killed workers, lost connections: Dask's own
        raise ClusterError(f"the cluster gave up: {type(error).__name__}: {error}") from error
    if isinstance(found, Failed):
        raise found.error()
    assert isinstance(found, Measured)
    return found


def _check_workers(client: Any, address: str) -> None:
    try:
        versions = client.run(_version)
    except Exception as error:  # what unpickling finds there
        raise ClusterError(f"{address}: its workers have no kprof of this version") from error
    if not versions:
        raise ClusterError(f"{address}: the scheduler has no workers")
    for worker, version in versions.items():
        if version != kprof.__version__:
            raise ClusterError(
                f"{worker}: has kprof {version}, this is {kprof.__version__}; expected the same"
            )


def _version() -> str:
    return kprof.__version__


def _measure_there(chunk: Sequence[str], plan: Plan, many: bool) -> Measured | Failed:
    return attempt(chunk, replace(plan, fast=available() if many else None))


def _merge_there(parts: Sequence[Measured | Failed]) -> Measured | Failed:
    failed = next((part for part in parts if isinstance(part, Failed)), None)
    if failed is not None:
        return failed
    try:
        return merge(part for part in parts if isinstance(part, Measured))
    except KprofError as error:
        return Failed.of(error)
