# SPDX-License-Identifier: Apache-2.0
"""The wheel that `pip install .` builds, as others install it."""

import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import ROOT, made_once, run


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the installed wheel, of all workers of a session."""
    own = tmp_path_factory.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    (ROOT / "build").mkdir(exist_ok=True)
    # All wheels are built in one folder, those of other sessions, too.
    return made_once(common / "site", ROOT / "build" / "wheel.lock", install)


def install(folder: Path) -> None:
    """Install the wheel in a folder."""
    # With the tools of this environment and the compiler of `make build`: offline and cached.
    run(sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps",
        "--target", folder, ROOT, CC="cc", CXX="c++")  # fmt: skip


def test_what_two_workers_need_is_made_once(tmp_path: Path):
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        folder.mkdir()
        time.sleep(0.2)
        if len(made) == 1:
            raise OSError("the disk is full")
        (folder / "ready").touch()

    def ask(_: int) -> bool:
        return (made_once(tmp_path / "site", tmp_path / "lock", make) / "ready").exists()

    with pytest.raises(OSError, match="the disk is full"):
        ask(0)
    with ThreadPoolExecutor(2) as workers:  # Each opens the lock for itself, as processes do.
        assert list(workers.map(ask, range(2))) == [True, True]
    assert len(made) == 2


def run_python(site: Path, program: str) -> str:
    """Run a program that imports the wheel's package, not the one in the tree."""
    check = f"import loopsmith; assert loopsmith.__file__.startswith({str(site)!r})\n"
    return run(sys.executable, "-c", program + "\n" + check, PYTHONPATH=str(site), cwd=site)


def test_the_wheel_has_the_extension_its_types_and_no_build_files(site: Path):
    package = site / "loopsmith"
    names = {path.name for path in package.rglob("*") if path.is_file()}
    assert {"__init__.py", "_core.pyi", "py.typed"} <= names
    assert len(list(package.glob("_core.*.so"))) == 1
    assert {path.suffix for path in package.rglob("*") if path.is_file()} <= {
        ".py", ".pyi", ".so", ".typed", ".pyc",
    }  # fmt: skip


def test_the_extension_shows_nothing_but_its_entry(site: Path):
    extension = next((site / "loopsmith").glob("_core.*.so"))
    listed = run("nm", "--dynamic", "--defined-only", extension).split()
    # What GDB looks for, and the entry.
    wanted = ["PyInit__core", "__jit_debug_descriptor", "__jit_debug_register_code"]
    assert sorted(listed[2::3]) == wanted


def test_the_extension_brings_its_llvm(site: Path):
    extension = next((site / "loopsmith").glob("_core.*.so"))
    needed = [line.split("[")[1][:-1] for line in run("readelf", "-d", extension).splitlines()
              if "NEEDED" in line]  # fmt: skip
    # Nothing but the libraries of C and C++, which every system has.
    assert [name for name in needed if re.match(r"lib(LLVM|clang|z|zstd|fmt)\b", name)] == []


def test_the_extension_asks_for_no_function_of_the_newest_c_library(site: Path):
    extension = next((site / "loopsmith").glob("_core.*.so"))
    asked = run("nm", "--dynamic", "--undefined-only", extension).split()
    names = {name.partition("@")[0] for name in asked[1::2]}
    assert "malloc" in names and "arc4random" not in names


def test_the_command_is_installed(site: Path):
    assert "llvm" in run(site / "bin" / "loopsmith", "doctor", PYTHONPATH=str(site), cwd=site)


NUMBA = """
import numba
assert numba.njit(lambda x: x + 1)(1) == 2
"""
LOOPSMITH = """
import loopsmith
assert loopsmith.__version__
"""


@pytest.mark.parametrize("order", [NUMBA + LOOPSMITH, LOOPSMITH + NUMBA], ids=["after", "before"])
def test_the_wheel_works_beside_numba_imported_first_or_last(site: Path, order: str):
    run_python(site, order)
