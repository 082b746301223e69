#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetch the C sources of isl, once, and print the folder in which they lie.

They come from the source package pinned in ``isl.txt``, through pip, which checks its hash. The
folder is named after that hash and lies in the user's cache, so that all clones and build folders
share it, and nothing is fetched when it is there.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PIN = Path(__file__).resolve().parent / "isl.txt"
PARTS = ("isl", "isl-supplementary")


def cache_folder() -> Path:
    """Return where this version belongs: the hash of the package is in the name."""
    match = re.search(r"--hash=sha256:([0-9a-f]{64})", PIN.read_text())
    if match is None:
        raise SystemExit(f"fetch_isl: {PIN} has no sha256")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "loopsmith" / f"isl-{match.group(1)[:16]}"


def download(folder: Path) -> Path:
    """Download the package into the folder and return its path; nothing of it is built."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary", "islpy", "--require-hashes"]
    if importlib.util.find_spec("scikit_build_core"):
        # pip asks the package for its metadata; what that takes is here already.
        command += ["--no-build-isolation"]
    command += ["--dest", str(folder), "--requirement", str(PIN)]
    if subprocess.run(command, stdout=sys.stderr).returncode != 0:
        raise SystemExit("fetch_isl: pip could not download isl; is the package index in reach?")
    return next(folder.glob("*.tar.gz"))


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the C sources, without the leading folder of the archive."""
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            path = Path(*Path(member.name).parts[1:])
            if member.isfile() and path.parts[:1] in [(part,) for part in PARTS]:
                target = folder / path
                if ".." in path.parts:
                    raise SystemExit(f"fetch_isl: {member.name} leaves the archive's folder")
                target.parent.mkdir(parents=True, exist_ok=True)
                content = tar.extractfile(member)
                if content is not None:
                    with content, target.open("wb") as out:
                        shutil.copyfileobj(content, out)


def fetch(folder: Path) -> None:
    """Fill the folder; it appears whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        sources = Path(scratch) / "sources"
        unpack(download(Path(scratch)), sources)
        try:
            sources.rename(folder)
        except OSError:
            # Another process was first.
            if not folder.is_dir():
                raise


def main() -> None:
    """Print the folder of the sources, fetched if need be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offline", action="store_true", help="fail instead of downloading")
    arguments = parser.parse_args()
    folder = cache_folder()
    if not folder.is_dir():
        if arguments.offline:
            raise SystemExit("fetch_isl: isl is not there; run tools/setup.sh")
        print(f"fetch_isl: fetching isl into {folder}", file=sys.stderr)
        fetch(folder)
    print(folder)


if __name__ == "__main__":
    main()
