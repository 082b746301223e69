#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the suites of tests and checks, all or those named, and print one summary.

The last line is ``N passed, N failed, N skipped``; the exit status is 1 if anything failed or a
suite ran nothing.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "reports"
BIN = Path(sys.executable).parent


# How much of a failure is said again beneath the summary: whoever sees only the end sees the cause.
LINES_OF_A_FAILURE = 12
MOST_FAILURES = 10


@dataclass
class Counts:
    """How many tests of a suite passed, failed and were skipped, and what is known of failures."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.failures + other.failures,
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def run(command: Sequence[str | Path], noise: str = "") -> tuple[int, str]:
    """Run a command in the root of the repository, its output shown as it comes.

    Lines in which the regular expression `noise` occurs are left out. Returned are the exit status
    and the last lines of the output.
    """
    words = [str(part) for part in command]
    last: deque[str] = deque(maxlen=LINES_OF_A_FAILURE)
    with subprocess.Popen(
        words,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            if not noise or not re.search(noise, line):
                print(line, end="", flush=True)
                last.append(line)
    return process.returncode, "".join(last)


def read_junit(report: Path, status: int, last_lines: str) -> Counts:
    """Count the tests of a JUnit report; a runner that failed without one counts as a failure."""
    counts = Counts()
    if report.exists():
        root = ElementTree.parse(report).getroot()
        for suite in root.iter("testsuite"):
            number = {key: int(suite.get(key, 0)) for key in ("tests", "skipped", "disabled")}
            failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped = number["skipped"] + number["disabled"]
            counts += Counts(number["tests"] - failed - skipped, failed, skipped)
        for case in root.iter("testcase"):
            problem = case.find("failure") if case.find("error") is None else case.find("error")
            if problem is not None:
                text = (problem.get("message") or problem.text or "").strip().splitlines()
                counts.failures.append(f"{case.get('name')}: {text[0] if text else 'failed'}")
    if status != 0 and counts.failed == 0:
        counts += Counts(failed=1, failures=[last_lines])
    return counts


def check(command: Sequence[str | Path]) -> Counts:
    """Run a check, which counts as one test."""
    status, last_lines = run(command)
    return Counts(passed=1) if status == 0 else Counts(failed=1, failures=[last_lines])


def sources(*patterns: str) -> list[str]:
    """List the files of the repository that match, committed or not."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *patterns],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [path for path in listed.stdout.splitlines() if (ROOT / path).exists()]


def ctest(preset: str, jobs: int, floors: Sequence[str] = ()) -> Counts:
    """Run the unit tests of a preset that is built, of all floors or some."""
    report = REPORTS / f"ctest_{preset}.xml"
    report.unlink(missing_ok=True)
    command: list[str | Path] = ["ctest", "--preset", preset, "--parallel", str(jobs)]
    command += ["--timeout", "300", "--output-junit", report]
    if floors:
        command += ["--tests-regex", rf"^({'|'.join(floors)})\."]
    return read_junit(report, *run(command, noise=r"^ +Start +\d|   Passed "))


def sanitizer(preset: str, jobs: int, floors: Sequence[str]) -> Counts:
    """Build the unit tests of some floors by a sanitizer's preset, then run them."""
    build = ["cmake", "--build", "--preset", preset, "--parallel", str(jobs)]
    for floor in floors:
        if any((ROOT / "loopsmith" / floor).rglob("*_test.cc")):
            build += ["--target", f"{floor}_test"]
    built = check(["cmake", "--preset", preset])
    if not built.failed:
        built = check(build)
    if built.failed:
        return built
    return ctest(preset, jobs, floors)


def unit(jobs: int) -> Counts:
    """Every floor's unit tests, as released."""
    return ctest("release", jobs)


def python(jobs: int) -> Counts:
    """Tests of the whole compiler, in Python: each file in one of as many processes as jobs."""
    report = REPORTS / "pytest.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--durations=10", f"--junitxml={report}"]
    command += ["--numprocesses", str(jobs), "--dist", "loadfile"]
    return read_junit(report, *run(command))


def asan(jobs: int) -> Counts:
    """Unit tests of all floors under AddressSanitizer and UBSan; LLVM is not instrumented."""
    folders = sorted(path.name for path in (ROOT / "loopsmith").iterdir() if path.is_dir())
    return sanitizer("asan", jobs, floors=folders)


def tsan(jobs: int) -> Counts:
    """Unit tests of the floors that run threads, under ThreadSanitizer."""
    return sanitizer("tsan", jobs, floors=["support", "runtime"])


def format_(jobs: int) -> Counts:
    """C++ sources are as clang-format leaves them."""
    return check(["clang-format-22", "--dry-run", "-Werror", *sources("*.cc", "*.h")])


def includes(jobs: int) -> Counts:
    """No include climbs the floors."""
    return check([sys.executable, "tools/check_includes.py"])


def words(jobs: int) -> Counts:
    """No retired name or phrase comes back."""
    return check([sys.executable, "tools/check_words.py"])


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
    "words": words,
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
            counts += Counts(failed=1, failures=["ran nothing, which counts as a failure"])
        table.append(f"{name:10}{time.monotonic() - start:8.1f} s   {counts}")
        counts.failures = [f"{name}: {text.rstrip()}" for text in counts.failures]
        total += counts

    if total.failures:
        print("\n== failures", *total.failures[:MOST_FAILURES], sep="\n")
        if (more := len(total.failures) - MOST_FAILURES) > 0:
            print(f"and {more} more")
    print("\n== summary", *table, total, sep="\n", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
