# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import fcntl
import gc
import os
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import loopsmith.compat
import pytest
from hypothesis import settings

import loopsmith as ls
from loopsmith import te

ROOT = Path(__file__).parent.parent

settings.register_profile("test", max_examples=300, deadline=None)
settings.register_profile("fuzz", max_examples=10_000, deadline=None)
settings.load_profile("test")


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Run a command and return what it printed; its output is the failure's text."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def made_once(folder: Path, lock: Path, make: Callable[[Path], None]) -> Path:
    """Return a folder that is made by the first process that asks; others wait for it.

    Whoever names the same lock waits, too, for whatever folder.
    """
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # Until the file is closed.
        if not folder.exists():
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)  # Of one that failed.
            make(part)
            part.rename(folder)
    return folder


@pytest.fixture
def tvm() -> Iterator[Any]:
    """Return the names of another compiler, which are there while a test runs."""
    was_there = loopsmith.compat.install()
    import tvm as module

    yield module
    if not was_there:
        loopsmith.compat.uninstall()


@pytest.fixture(scope="session")
def installed_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the prefix under which the C++ library is installed."""
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", ROOT / "build" / "release", "--prefix", prefix)
    return prefix


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Skip what runs code for instructions that this machine's processor does not have."""
    try:
        yield
    except ls.CallError as error:
        if "instructions that this machine's does not have" not in str(error):
            raise
        pytest.skip(f"this processor lacks instructions that {item.name} runs")


def pytest_unconfigure() -> None:
    """Forget Hypothesis' hook of the collector: by it, tests outlive the search for leaks."""
    gc.callbacks.clear()


@pytest.fixture(scope="session")
def add() -> ls.Module:
    """B = A + 1 for symbolic n and 4 columns."""
    n = te.size_var("n")
    a = te.placeholder((n, 4), "float32", name="A")
    b = te.compute((n, 4), lambda i, j: a[i, j] + 1, name="B")
    return ls.build([a, b], name="add")


@pytest.fixture(scope="session")
def scale() -> ls.Module:
    """B = A * x, with a scalar of each kind."""
    x, k = te.var("x", "float32"), te.var("k", "int8")
    a = te.placeholder((4,), "float32", name="A")
    b = te.compute((4,), lambda i: a[i] * x + k.astype("float32"), name="B")
    return ls.build([a, x, k, b], name="scale")
