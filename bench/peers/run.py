# SPDX-License-Identifier: Apache-2.0
"""Measure our kernels beside those of other libraries and compilers, in turns, in one run.

Each peer runs in a process of its own. In each round every one is sampled once, in another order;
a round in which others used the machine is taken again. With one thread, samples are the
processor's time, which other programs do not take; with more, wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from install import ENVIRONMENT, ROOT
from results import Cell, Row, geometric_mean, is_ours, table, tuning_table
from session import ForeignTime, PeerKind, PeerProcess, peer_kinds
from workloads import WORKLOADS, Workload

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from measure import print_table  # noqa: E402

FOREIGN = 0.1
"""A round in which others took more than this share of the processors is taken again."""


def measured(
    workload: Workload, peers: list[PeerProcess], machine: PeerProcess, options: Any, threads: int
) -> Row:
    """Prepare a workload with all peers, and sample them in turns."""
    clock = "processor" if threads == 1 else "wall"
    row = Row(workload.name, workload.kind, threads, workload.flops, workload.bytes, clock)
    with tempfile.TemporaryDirectory() as folder:
        expected = str(Path(folder) / "expected.npy")
        np.save(expected, workload.expected())
        for peer in peers:
            if not peer.lacks:
                begin = time.monotonic()
                note = peer.ask("prepare", workload, expected)
                row.cells[peer.kind.name] = Cell(
                    note=peer.lacks if note is None else note,
                    preparation=time.monotonic() - begin,
                )
        machine.ask("prepare", workload, expected)
    ready = [peer for peer in peers if row.cells.get(peer.kind.name, Cell(note="-")).note == ""]
    peaks: list[float] = []
    bandwidths: list[float] = []
    foreign: list[float] = []
    watch = ForeignTime([*peers, machine])
    order = random.Random(0)
    again = options.rounds
    done = 0
    while done < options.rounds:
        watch.restart()
        samples: dict[str, float] = {}
        for peer in order.sample(ready, len(ready)):
            if threads > 1:
                time.sleep(options.pause)  # Threads of the one before have stopped to spin.
            answer = peer.ask("sample", options.seconds)
            if isinstance(answer, tuple):
                samples[peer.kind.name] = answer[0 if clock == "wall" else 1]
            else:
                row.cells[peer.kind.name].note = answer or peer.lacks
        limits = machine.ask("sample", options.seconds)
        share = watch.share()
        if share > FOREIGN and again > 0 and clock == "wall":
            again -= 1
            continue
        done += 1
        foreign.append(share)
        for name, seconds in samples.items():
            row.cells[name].samples.append(seconds)
        if isinstance(limits, tuple):
            peaks.append(limits[0])
            bandwidths.append(limits[1])
    row.peak, row.bandwidth = max(peaks, default=0.0), max(bandwidths, default=0.0)
    row.foreign = float(np.mean(foreign))
    return row


def _chosen(options: Any) -> tuple[list[Workload], list[PeerKind]]:
    workloads = [
        each
        for each in WORKLOADS
        if re.search(options.filter, each.name) and (each.is_quick or not options.quick)
    ]
    kinds = peer_kinds(options.tvm_trials, [each for each in options.tune.split(",") if each])
    if options.peers:
        wanted = options.peers.split(",")
        kinds = [kind for kind in kinds if is_ours(kind.name) or kind.name in wanted]
    return workloads, kinds


def _machine_text() -> str:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "a processor without a name",
    )
    return f"{model}, {len(os.sched_getaffinity(0))} processors, load {os.getloadavg()[0]:.1f}"


def arguments() -> argparse.ArgumentParser:
    """Return what can be chosen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default="", help="rows whose names match, a regular expression")
    parser.add_argument("--quick", action="store_true", help="a third of the rows, fewer rounds")
    parser.add_argument("--peers", default="", help="these alone, with commas: numpy,torch,gcc")
    parser.add_argument("--threads", choices=("one", "all", "both"), default="both")
    parser.add_argument("--rounds", type=int, help="samples of each; 15, quick 5")
    parser.add_argument("--seconds", type=float, default=0.005, help="of a sample, at least")
    parser.add_argument("--pause", type=float, default=0.02, help="before a sample of all threads")
    parser.add_argument("--tune", default="", help="search so many seconds, too: 10,120")
    parser.add_argument("--tvm-trials", type=int, default=0, help="of its tuner, for each row")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "peers" / "results")
    return parser


def main() -> None:
    """Measure, print the table, and write the JSON, the plots and the page."""
    options = arguments().parse_args()
    options.rounds = options.rounds or (5 if options.quick else 15)
    workloads, kinds = _chosen(options)
    cpus = len(os.sched_getaffinity(0))
    counts = {"one": [1], "all": [cpus], "both": sorted({1, cpus})}[options.threads]
    rows: list[Row] = []
    told: list[str] = []
    for threads in counts:
        compiler = next((kind for kind in kinds if kind.module == "programs_c"), None)
        c = compiler.variables if compiler else {"BENCH_CC": "gcc"}
        machine = PeerProcess(PeerKind("machine", "limits", sys.executable, c), threads)
        peers = [PeerProcess(kind, threads) for kind in kinds]
        for peer in (machine, *peers):
            peer.start()
            told.append(f"{peer.kind.name}, {threads} thread(s): {peer.version or peer.lacks}")
            print(told[-1], flush=True)
        for workload in workloads:
            print(f"  {workload.name}", end="\r", file=sys.stderr, flush=True)
            rows.append(measured(workload, peers, machine, options, threads))
        for peer in (machine, *peers):
            peer.stop()
    head, lines = table(rows)
    print_table(f"{_machine_text()}; medians in us, ratio to the best peer", head, lines)
    tuning_head, tuning_lines = tuning_table(rows)
    if tuning_lines:
        print_table("Searches: their seconds, and what they found", tuning_head, tuning_lines)
    for threads in counts:
        for name in [kind.name for kind in kinds if is_ours(kind.name)]:
            ratios = [row.ratio(name) for row in rows if row.threads == threads]
            found = [ratio for ratio in ratios if ratio is not None]
            if found:
                mean = geometric_mean(found)
                print(f"{name}, {threads} thread(s): {mean:.2f} in the geometric mean")
    for row in rows:
        for name, cell in row.cells.items():
            if ":" in cell.note:
                print(f"{row.workload}, {row.threads} thread(s), {name}: {cell.note}")
    options.output.mkdir(parents=True, exist_ok=True)
    data = {
        "machine": _machine_text(),
        "peers": told,
        "head": head,
        "lines": lines,
        "rows": [row.as_data() for row in rows],
    }
    (options.output / "results.json").write_text(json.dumps(data, indent=1))
    python = ENVIRONMENT / "bin" / "python"
    with_plots = python if python.exists() else sys.executable
    subprocess.run([with_plots, FOLDER / "report.py", options.output], check=True)
    print(f"the page, the plots and the numbers are in {options.output}")


if __name__ == "__main__":
    main()
