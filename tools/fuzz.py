#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run every fuzzer for a time: libFuzzer's, random schedules and programs, Hypothesis.

The model of the threads is checked first, which takes a few minutes.

What a fuzzer finds is left under ``build/fuzz/found``; put it into ``fuzz/corpus`` with its cure.
The exit status is 1 if one found something.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
READERS = ("json", "script")
SCHEDULES = 10_000
RANDOM_TESTS = (
    "schedule_fuzz",
    "random_loops",
    "random_tensors",
    "feedback",
    "in_place",
    "private_memory",
    "tuning_spaces",
)
GOOGLE_TESTS = (
    ("schedule_test", "*fuzz*"),
    ("transform_test", "random_*"),
    ("driver_test", "random_*"),
)


def succeeds(*command: str | Path, **variables: str) -> bool:
    """Show a command, run it, and return whether it succeeded."""
    words = [str(part) for part in command]
    print("\n==", *words, flush=True)
    return subprocess.run(words, cwd=ROOT, env={**os.environ, **variables}).returncode == 0


def succeeds_quietly(*command: str | Path, **variables: str) -> bool:
    """Run a command, show it with what it printed when it is done, and how long it took."""
    words = [str(part) for part in command]
    start = time.monotonic()
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print("\n==", *words, f"\n{done.stdout}{time.monotonic() - start:.0f} s", flush=True)
    return done.returncode == 0


def fuzz_reader(reader: str, seconds: int, jobs: int) -> bool:
    """Run the fuzzer of a reader from its seeds and from what it found interesting before."""
    corpus, found = BUILD / "corpus" / reader, BUILD / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-fork={jobs}", "-timeout=10", "-rss_limit_mb=2048"]
    prefix = f"-artifact_prefix={found}/{reader}_"
    fuzzer, seeds = BUILD / "fuzz" / f"fuzz_{reader}", ROOT / "fuzz" / "corpus" / reader
    return succeeds(fuzzer, *limits, prefix, corpus, seeds)


def main() -> int:
    """Build and run all fuzzers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=int, default=600, help="of libFuzzer's each, of schedule_fuzz"
    )
    parser.add_argument("--schedules", type=int, default=SCHEDULES, help="random schedules")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()

    jobs = str(arguments.jobs)
    if not succeeds("cmake", "--preset", "fuzz"):
        return 1
    if not succeeds("cmake", "--build", "--preset", "fuzz", "--parallel", jobs):
        return 1
    passed = [succeeds(sys.executable, "tools/check_model.py")]
    passed += [fuzz_reader(reader, arguments.seconds, arguments.jobs) for reader in READERS]
    cases = {"LOOPSMITH_FUZZ_CASES": str(arguments.schedules)}
    pytest = (sys.executable, "-m", "pytest", "-q", "--hypothesis-profile=fuzz")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        waiting = [pool.submit(succeeds_quietly, *pytest, "tests/test_interp.py")]
        for name in RANDOM_TESTS:
            test = f"tests/test_{name}.py"
            waiting.append(pool.submit(succeeds_quietly, *pytest, test, **cases))
        seed = str(secrets.randbelow(10**9))
        print(f"LOOPSMITH_FUZZ_SEED={seed} of the tests in C++", flush=True)
        for test, name in GOOGLE_TESTS:
            program = ROOT / "build" / "release" / test
            filtered = (program, f"--gtest_filter={name}")
            waiting.append(
                pool.submit(succeeds_quietly, *filtered, LOOPSMITH_FUZZ_SEED=seed, **cases)
            )
        program, found = ROOT / "build" / "release" / "schedule_fuzz", BUILD / "found" / "schedules"
        limits = ("--seconds", str(arguments.seconds), "--findings", found)
        waiting.append(pool.submit(succeeds_quietly, program, *limits))
        passed += [part.result() for part in waiting]
    print(f"\n{passed.count(True)} fuzzers found nothing, {passed.count(False)} found something")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
