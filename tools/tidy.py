#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run clang-tidy over the C++ sources that changed, newest change first, then over some others.

Changed: since the branch left the remote's default branch; on that branch itself, in the last
commits; and what is not committed. A changed header counts as its source file of the same name. The
others come in an order that the commit's hash chooses, so that each has its turn sooner or later.
Sources that are compiled together are checked together, in a fifth of the time. None starts after
the time budget.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
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


def joined_sources() -> dict[Path, list[Path]]:
    """Return the files that are compiled, each with the sources that it joins."""
    configure = ["cmake", "--preset", "release", "-B", str(DATABASE)]
    configure += ["-DLOOPSMITH_JOIN_SOURCES=ON", "-DLOOPSMITH_BUILD_BENCH=ON"]
    configure += ["-DLOOPSMITH_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run(configure, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    own = {ROOT / name for name in git("ls-files", "-co", "--exclude-standard", "*.cc")}
    found = {}
    for command in json.loads((DATABASE / "compile_commands.json").read_text()):
        unit = Path(command["file"])
        included = re.findall(r'^#include "(.*\.cc)"$', unit.read_text(), re.MULTILINE)
        joined = [path for path in (unit, *map(Path, included)) if path in own]
        if joined:
            found[unit] = joined
    return found


def main() -> int:
    """Check the files; the exit status is 1 if one has a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=float, default=90, help="seconds after which none starts")
    arguments = parser.parse_args()

    joined = joined_sources()
    unit_of = {source: unit for unit, sources in joined.items() for source in sources}
    changed = [path for path in changed_sources() if path in unit_of]
    order = [*changed, *(path for path in other_sources(changed) if path in unit_of)]
    units = list(dict.fromkeys(unit_of[path] for path in order))
    deadline = time.monotonic() + arguments.budget

    def findings_in(unit: Path) -> str | None:
        """Return what clang-tidy says of a file, None if its turn came too late."""
        if time.monotonic() > deadline:
            return None
        command: list[str | Path] = [
            "clang-tidy-22",
            "--quiet",
            "--warnings-as-errors=*",
            "--checks=-bugprone-suspicious-include",
            r"--header-filter=/(loopsmith|bindings|bench)/.*\.(h|cc)$",
            "-p",
            DATABASE,
            unit,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        text = "" if done.returncode == 0 else done.stdout + done.stderr
        if text:
            print(text, end="", flush=True)
        return text

    with ThreadPoolExecutor(arguments.jobs) as pool:
        findings = dict(zip(units, pool.map(findings_in, units)))
    checked = {path for unit, text in findings.items() if text is not None for path in joined[unit]}
    bad = [unit for unit, text in findings.items() if text]
    print(f"clang-tidy: {len(checked)} of {len(unit_of)} files checked, "
          f"findings in {len(bad)} of {len(units)} joined ones")  # fmt: skip
    if missed := [path for path in changed if path not in checked]:
        print(f"changed, not checked for lack of time: {len(missed)}, "
              f"{missed[0].relative_to(ROOT)} first")  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
