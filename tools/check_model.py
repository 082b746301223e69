#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the model of the threads with Spin: in each scenario all threads come to their end.

A variant without one of the steps that the code needs must hang or break a rule: otherwise the
model proves nothing. The exit status is 1 if a scenario fails or a variant does not.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "loopsmith" / "runtime" / "model" / "threads.pml"
CODE = ROOT / "loopsmith" / "runtime" / "thread_team.cc"

# What the model takes to be read and written in one order, seen alike by all threads.
ORDERED = (
    "state",
    "stopped_",
    "sleepers_",
    "wakes_",
    "refused_",
    "num_host_slots_",
    "num_nested_slots_",
    "num_slots",
)

SCENARIOS = {
    "meet": "-DMEET",
    "two_workers_meet": "-DMEET -DWORKERS=2 -DCHUNKS=3",
    "inner_loops": "-DMEET -DNESTED",
    "end_at_any_time": "-DEXIT -DNESTED",
    "hosts_come_and_go": "-DALONE -DHOSTS=2 -DTHREADS=2 -DCHUNKS=4 -DLOOPS=1",
    "inner_loops_of_two_hosts": "-DAWAKE -DNESTED -DHOSTS_NEST -DHOSTS=2 -DTHREADS=3 -DLOOPS=1",
    "fork": "-DFORK -DMEET",
}

# Steps that the code needs, each with a scenario that shows why.
NEEDED = {
    "TELLING_THE_END_FIRST": "meet",
    "ASKING_FOR_THE_END_AGAIN": "meet",
    "LOADING_THE_COUNT_FIRST": "meet",
    "BEING_COUNTED_FIRST": "meet",
    "ASKING_FOR_LOOPS_AGAIN": "meet",
    "WAKING_THE_ROOT": "inner_loops",
    "LOOKING_AGAIN_FOR_INNER_LOOPS": "inner_loops",
    "NOTING_WHO_IS_REFUSED": "hosts_come_and_go",
    "NOTING_WHO_IS_NOT_WOKEN": "hosts_come_and_go",
    "ASKING_FOR_HOSTS_AGAIN": "hosts_come_and_go",
    "ASKING_FOR_THE_ROOT_AGAIN": "inner_loops_of_two_hosts",
    "A_TEAM_OF_ITS_OWN": "fork",
}


def check_text(code: str, model: str) -> list[str]:
    """Return where the code does not say its place in the model, or is ordered less than it."""
    problems = []
    for number, line in enumerate(code.splitlines(), 1):
        if re.search(r"(?<!un)\bpark\(", line):
            named = re.search(r"// model: (\w+)$", line)
            if not named:
                problems.append(f"line {number}: park names no transition of the model")
            elif f"inline {named.group(1)}(" not in model:
                problems.append(f"line {number}: the model has no inline {named.group(1)}")
    names = "|".join(ORDERED)
    for access in re.finditer(rf"\b({names})\.(\w+)\([^;]*?memory_order", code):
        number = code.count("\n", 0, access.start()) + 1
        problems.append(f"line {number}: {access.group(1)} is ordered less than the model takes it")
    return problems


def search(options: str) -> tuple[bool, str]:
    """Look at all that threads can do in a scenario; whether all ends well, and how much it was."""
    # A process that another can stop for ever is outside what partial orders may leave out.
    reduce = ["-DNOREDUCE"] if "-DFORK" in options else []
    with tempfile.TemporaryDirectory() as folder:
        spin = ["spin", "-a", *options.split(), str(MODEL)]
        subprocess.run(spin, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        compile_ = ["cc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=8000", *reduce]
        subprocess.run([*compile_, "-o", "pan", "pan.c"], cwd=folder, check=True)
        # -E: the watching process says itself which ends are good.
        pan = subprocess.run(
            ["./pan", "-E", "-m3000000"], cwd=folder, check=True, capture_output=True, text=True
        )
    errors = re.search(r"errors: (\d+)", pan.stdout)
    states = re.search(r"(\S+) states, stored", pan.stdout)
    found = errors is not None and errors.group(1) != "0"
    if not errors or not states or ("Search not completed" in pan.stdout and not found):
        raise RuntimeError(f"the search was not finished:\n{pan.stdout}{pan.stderr}")
    return not found, f"{float(states.group(1)):,.0f} states"


def main() -> int:
    """Check the text of the code, then all scenarios and variants."""
    problems = check_text(CODE.read_text(), MODEL.read_text())
    for problem in problems:
        print(f"{CODE.relative_to(ROOT)}: {problem}")
    runs = [(name, options, True) for name, options in SCENARIOS.items()]
    for step, name in NEEDED.items():
        variant = f"{name} without {step.lower().replace('_', ' ')}"
        runs.append((variant, f"{SCENARIOS[name]} -DWITHOUT_{step}", False))
    for name, options, expected in runs:
        start = time.monotonic()
        ends_well, size = search(options)
        verdict = "all ends well" if ends_well else "somebody waits for ever, or breaks a rule"
        print(f"{name}: {verdict}; {size}, {time.monotonic() - start:.0f} s", flush=True)
        if ends_well != expected:
            problems.append(name)
            print(f"  and it should {'' if expected else 'not '}end well")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
