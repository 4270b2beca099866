"""A real scheduler with two worker processes, and stores: the same answer to the bit."""

from __future__ import annotations

import json
import os
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.capture.traces import capture

from kprof.analysis.saved import write_statistics
from kprof.analysis.statistics import Statistics
from kprof.capture import write_capture
from kprof.cli.main import kprof_command
from kprof.errors import KprofError, UsageError
from kprof.fleet import cluster as on_cluster
from kprof.fleet.captures import captures_of
from kprof.fleet.cluster import ClusterError, measure_on
from kprof.fleet.measure import Measured, Plan, measure

distributed = pytest.importorskip("distributed")
pytest.importorskip("fsspec")
pytestmark = pytest.mark.filterwarnings("default")  # Dask's own, of the machine

NAMES = "".join(f"f{n}/{1024 + 2 * n}\n" for n in range(40))


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    """A scheduler with two workers, each a process."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as running:
        yield running


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(on_cluster, "CHUNK", 3)
    (tmp_path / "kernel.names").write_text(NAMES)
    for number in range(60):
        write_capture(tmp_path / f"{number:02}.kpd", capture(20 + number, seed=number))
    return [str(tmp_path / f"{number:02}.kpd") for number in range(60)]


def address(running: Any) -> str:
    return str(running.scheduler_address).replace("tcp://", "dask://")


def saved(statistics: Statistics | None, path: Path) -> str:
    assert statistics is not None
    write_statistics(path, statistics)
    return path.read_text()


def same(one: Measured, other: Measured, folder: Path) -> bool:
    """Are both the same to the bit?"""
    texts = [saved(each.statistics, folder / "x.json") for each in (one, other)]
    return texts[0] == texts[1] and one.unread == other.unread


def test_the_answer_is_that_of_one_machine(dask: Any, farm: list[str], tmp_path: Path) -> None:
    Path(farm[7]).write_bytes(b"\x89KPD\r\n\x1a\n too short")
    told: list[int] = []
    found = measure_on(address(dask), farm, Plan(), tell=lambda done, *_: told.append(done))
    assert same(found, measure(farm, Plan()), tmp_path)
    assert [one.capture for one in found.unread] == [farm[7]]
    assert told == list(range(3, 61, 3))


def test_a_worker_is_killed_in_mid_run(dask: Any, farm: list[str], tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(*_: object) -> None:
        if not killed:
            killed.append(next(iter(dask.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    found = measure_on(address(dask), farm, Plan(), tell=kill)
    assert killed
    assert same(found, measure(farm, Plan()), tmp_path)


def test_the_name_file_is_sent(dask: Any, farm: list[str], tmp_path: Path) -> None:
    named = tmp_path / "elsewhere" / "other.names"
    named.parent.mkdir()
    (tmp_path / "kernel.names").rename(named)
    plan = Plan(names="elsewhere/other.names")  # relative: another folder for a worker
    found = measure_on(address(dask), farm, plan)
    assert same(found, measure(farm, plan), tmp_path)
    assert not found.unread


def test_errors_come_back_as_sentences(dask: Any, farm: list[str]) -> None:
    Path(farm[7]).unlink()
    with pytest.raises(KprofError, match=r"07.kpd: cannot read: no such file"):
        measure_on(address(dask), farm, Plan(strict=True))
    with pytest.raises(UsageError, match="is no cluster; expected dask://"):
        measure_on("tcp://nobody:1", farm, Plan())


def test_nobody_answers(farm: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cluster, "_ANSWER_S", 0.5)
    with pytest.raises(ClusterError, match="no scheduler answers"):
        measure_on("dask://127.0.0.1:9", farm, Plan())


def test_the_command(dask: Any, farm: list[str], tmp_path: Path) -> None:
    here = ["merge", *farm, "-o", "here.json"]
    there = ["merge", str(tmp_path / "*.kpd"), "-o", "there.json", "--on", address(dask)]
    for arguments in (here, there):
        done = CliRunner().invoke(kprof_command, arguments)
        assert done.exit_code == 0, done.exception
    assert Path("here.json").read_text() == Path("there.json").read_text()
    one = CliRunner().invoke(
        kprof_command, ["report", farm[0], "--on", address(dask), "--format", "json"]
    )
    assert json.loads(one.stdout)["captures"][0]["source"] == farm[0]


@pytest.mark.parametrize("kind", ["file", "zip"])
def test_captures_in_stores(dask: Any, farm: list[str], tmp_path: Path, kind: str) -> None:
    base = f"file://{tmp_path}"
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
            for path in sorted(tmp_path.glob("*.*[ds]")):
                archive.write(path, f"night/{path.name}")
        base = "zip://night"
    end = f"::file://{tmp_path}/all.zip" if kind == "zip" else ""
    urls = captures_of([f"{base}/*.kpd{end}"])
    assert urls == [f"{base}/{number:02}.kpd{end}" for number in range(60)]
    wanted = measure(farm, Plan())
    for found in (measure(urls, Plan()), measure_on(address(dask), urls, Plan())):
        assert not found.unread
        assert found.statistics is not None
        assert [s for s, *_ in found.statistics.captures] == urls
        assert found.statistics.functions == wanted.statistics.functions  # type: ignore[union-attr]
        assert found.statistics.ledger == wanted.statistics.ledger  # type: ignore[union-attr]
    missing = f"{base}/99.kpd{end}"
    found = measure([urls[0], missing], Plan())
    assert found.unread[0].capture == missing
    assert "there is no such object" in found.unread[0].why


def test_captures_in_s3(dask: Any, farm: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    moto = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    try:
        settings = {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        for key, value in settings.items():
            monkeypatch.setenv(key, value)
        store = s3fs.S3FileSystem()
        store.mkdir("captures")
        for path in [*farm, "kernel.names"]:
            store.put_file(path, f"captures/night/{Path(path).name}")
        urls = captures_of(["s3://captures/night/*.kpd"])
        assert len(urls) == 60
        with distributed.Client(dask.scheduler_address) as client:
            client.run(lambda: os.environ.update(settings))
        wanted = measure(farm, Plan())
        for found in (measure(urls, Plan()), measure_on(address(dask), urls, Plan())):
            assert not found.unread
            assert found.statistics is not None
            assert found.statistics.functions == wanted.statistics.functions  # type: ignore[union-attr]
    finally:
        server.stop()
