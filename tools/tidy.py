#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run clang-tidy over the C++ sources that changed, newest change first, then over some others.

Changed: since the branch left the remote's default branch; on that branch itself, in the last
commits; and what is not committed. A changed header counts as its source file of the same name. The
others come in an order that the commit's hash chooses, so that each has its turn sooner or later.
None starts after the time budget.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATABASE = ROOT / "build" / "lint"
LAST_COMMITS = 30


def git(*arguments: str) -> list[str]:
    """Return the lines that a git command prints; none if it fails."""
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def commits_to_check() -> list[str]:
    """Return git's arguments for the commits whose files are looked at."""
    head = git("rev-parse", "HEAD")
    for branch in ("origin/HEAD", "origin/main", "main"):
        base = git("merge-base", "HEAD", branch)
        if base and base != head:
            return [f"{base[0]}..HEAD"]
    return [f"--max-count={LAST_COMMITS}", "HEAD"]


def changed_sources() -> list[Path]:
    """Return the source files to check, the last changed first."""
    names = git("ls-files", "-mo", "--exclude-standard")
    names += git("log", "--format=", "--name-only", "--no-renames", *commits_to_check())
    paths = (ROOT / name for name in names if name.endswith((".cc", ".h")))
    return list(dict.fromkeys(path.with_suffix(".cc") for path in paths))


def other_sources(changed: list[Path]) -> list[Path]:
    """Return the source files that did not change, in an order that the commit chooses."""
    commit = "".join(git("rev-parse", "HEAD"))
    others = [ROOT / name for name in git("ls-files", "*.cc")]
    return sorted(
        (path for path in others if path not in set(changed)),
        key=lambda path: hashlib.sha256(f"{commit} {path.relative_to(ROOT)}".encode()).digest(),
    )


def commands_of_sources() -> str:
    """Return how each source is compiled alone: where sources are joined, nothing else says it."""
    configure = ["cmake", "--preset", "release", "-B", str(DATABASE)]
    configure += ["-DLOOPSMITH_JOIN_SOURCES=OFF", "-DLOOPSMITH_BUILD_BENCH=ON"]
    configure += ["-DLOOPSMITH_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run(configure, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return (DATABASE / "compile_commands.json").read_text()


def main() -> int:
    """Check the files; the exit status is 1 if one has a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=float, default=90, help="seconds after which none starts")
    arguments = parser.parse_args()

    database = commands_of_sources()
    changed = changed_sources()
    files = [
        path
        for path in [*changed, *other_sources(changed)]
        if path.exists() and f'{path}"' in database
    ]
    deadline = time.monotonic() + arguments.budget

    def findings_in(path: Path) -> str | None:
        """Return what clang-tidy says of a file, None if its turn came too late."""
        if time.monotonic() > deadline:
            return None
        command: list[str | Path] = [
            "clang-tidy-22",
            "--quiet",
            "--warnings-as-errors=*",
            "-p",
            DATABASE,
            path,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    with ThreadPoolExecutor(arguments.jobs) as pool:
        findings = dict(zip(files, pool.map(findings_in, files)))
    late = [path for path, text in findings.items() if text is None]
    bad = [path for path, text in findings.items() if text]
    print(*filter(None, findings.values()), sep="\n", end="")
    print(f"clang-tidy: {len(files) - len(late)} files checked, {len(bad)} with findings")
    if missed := [path for path in late if path in set(changed)]:
        print(f"changed, not checked for lack of time: {len(missed)}, "
              f"{missed[0].relative_to(ROOT)} first")  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
