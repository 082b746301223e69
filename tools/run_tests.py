#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the suites of tests and checks, all or those named, and print one summary.

The last line is ``N passed, N failed, N skipped``; the exit status is 1 if anything failed or a
suite ran nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "reports"
BIN = Path(sys.executable).parent


@dataclass
class Counts:
    """How many tests of a suite passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def run(command: Sequence[str | Path], **variables: str) -> int:
    """Run a command in the root of the repository, its output shown as it comes."""
    environment = {**os.environ, **variables}
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=environment).returncode


def run_quietly(command: Sequence[str | Path], noise: str, **variables: str) -> int:
    """Run a command likewise, but leave out the lines in which the regular expression occurs."""
    environment = {**os.environ, **variables}
    words = [str(part) for part in command]
    with subprocess.Popen(
        words,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            if not re.search(noise, line):
                print(line, end="", flush=True)
    return process.returncode


def read_junit(report: Path, status: int) -> Counts:
    """Count the tests of a JUnit report; a runner that failed without one counts as a failure."""
    counts = Counts()
    if report.exists():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            number = {key: int(suite.get(key, 0)) for key in ("tests", "skipped", "disabled")}
            failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped = number["skipped"] + number["disabled"]
            counts += Counts(number["tests"] - failed - skipped, failed, skipped)
    if status != 0 and counts.failed == 0:
        counts.failed = 1
    return counts


def check(command: Sequence[str | Path]) -> Counts:
    """Run a check, which counts as one test."""
    return Counts(passed=1) if run(command) == 0 else Counts(failed=1)


def sources(*patterns: str) -> list[str]:
    """List the files of the repository that match, committed or not."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *patterns],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [path for path in listed.stdout.splitlines() if (ROOT / path).exists()]


def ctest(preset: str, jobs: int, floors: Sequence[str] = (), **variables: str) -> Counts:
    """Run the unit tests of a preset that is built, of all floors or some."""
    report = REPORTS / f"ctest_{preset}.xml"
    report.unlink(missing_ok=True)
    command: list[str | Path] = ["ctest", "--preset", preset, "--parallel", str(jobs)]
    command += ["--timeout", "300", "--output-junit", report]
    if floors:
        command += ["--tests-regex", rf"^({'|'.join(floors)})\."]
    return read_junit(report, run_quietly(command, r"^ +Start +\d|   Passed ", **variables))


def sanitizer(preset: str, jobs: int, floors: Sequence[str] = (), **variables: str) -> Counts:
    """Build a sanitizer's preset, then run its unit tests."""
    build = ["cmake", "--build", "--preset", preset, "--parallel", str(jobs)]
    for floor in floors:
        if any((ROOT / "loopsmith" / floor).rglob("*_test.cc")):
            build += ["--target", f"{floor}_test"]
    if run(["cmake", "--preset", preset]) != 0 or run(build) != 0:
        return Counts(failed=1)
    return ctest(preset, jobs, floors, **variables)


def unit(jobs: int) -> Counts:
    """Every floor's unit tests, as released."""
    return ctest("release", jobs)


def python(jobs: int) -> Counts:
    """Tests of the whole compiler, in Python."""
    report = REPORTS / "pytest.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--durations=10", f"--junitxml={report}"]
    return read_junit(report, run(command))


def asan(jobs: int) -> Counts:
    """Unit tests of all floors without LLVM under AddressSanitizer and UBSan."""
    return sanitizer("asan", jobs, UBSAN_OPTIONS="print_stacktrace=1")


def tsan(jobs: int) -> Counts:
    """Unit tests of the floors that run threads, under ThreadSanitizer."""
    return sanitizer("tsan", jobs, floors=["support", "runtime"])


def format_(jobs: int) -> Counts:
    """C++ sources are as clang-format leaves them."""
    return check(["clang-format-22", "--dry-run", "-Werror", *sources("*.cc", "*.h")])


def includes(jobs: int) -> Counts:
    """No include climbs the floors."""
    return check([sys.executable, "tools/check_includes.py"])


def ruff(jobs: int) -> Counts:
    """Python sources: style and format."""
    ruff = BIN / "ruff"
    return check([ruff, "check", "-q"]) + check([ruff, "format", "-q", "--check"])


def mypy(jobs: int) -> Counts:
    """Python sources: types."""
    return check([sys.executable, "-m", "mypy"])


def tidy(jobs: int) -> Counts:
    """Changed C++ sources pass clang-tidy."""
    return check([sys.executable, "tools/tidy.py", "--jobs", str(jobs)])


# Quick ones first, so that a slip shows early.
SUITES: dict[str, Callable[[int], Counts]] = {
    "format": format_,
    "includes": includes,
    "ruff": ruff,
    "mypy": mypy,
    "unit": unit,
    "python": python,
    "tidy": tidy,
    "asan": asan,
    "tsan": tsan,
}


def main() -> int:
    """Run the suites and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.suites) - set(SUITES)):
        parser.error(f"no suite is called {', '.join(unknown)}; there are {', '.join(SUITES)}")

    REPORTS.mkdir(parents=True, exist_ok=True)
    total = Counts()
    table = []
    for name in arguments.suites or SUITES:
        suite = SUITES[name]
        print(f"\n== {name}: {suite.__doc__}", flush=True)
        start = time.monotonic()
        counts = suite(arguments.jobs)
        if counts == Counts():
            print(f"{name}: ran nothing, which counts as a failure")
            counts.failed = 1
        table.append(f"{name:10}{time.monotonic() - start:8.1f} s   {counts}")
        total += counts

    print("\n== summary", *table, total, sep="\n", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
