# SPDX-License-Identifier: Apache-2.0
"""Records in and out of the JSON database of another tuner.

A folder has `database_workload.json`, a line ``[hash, program]`` each, and
`database_tuning_record.json`, a line ``[workload, [trace, seconds, target, arguments]]`` each.
Traces and arguments (``["TENSOR", dtype, shape]``) are written alike on both sides; programs are
not: where a folder comes from elsewhere, they are given, and found by their arguments.
"""

from __future__ import annotations

import base64
import json
import math
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import _core
from ..._core import PrimFunc, Schedule, Trace, named_main, program_key
from ...errors import UserError
from ...ir import from_json, to_json
from .records import Record, Records

WORKLOADS = "database_workload.json"
RECORDS = "database_tuning_record.json"
FAILED = 1e9
"""Seconds from here on stand for a candidate that failed."""


def export_database(records: Records, folder: str | os.PathLike[str]) -> int:
    """Write all records that have one schedule into a folder; return how many."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    programs: dict[str, int] = {}
    workloads: list[str] = []
    lines: list[str] = []
    for record in records.all():
        trace = json.loads(record.trace)
        if "variants" in trace:
            continue
        if record.key not in programs:
            programs[record.key] = len(workloads)
            text = base64.b64encode(record.program.encode()).decode()
            workloads.append(json.dumps([record.key, text]))
        arguments = arguments_of(from_json(record.program))
        body = [trace, [record.seconds], {"kind": record.target}, arguments]
        lines.append(json.dumps([programs[record.key], body]))
    (path / WORKLOADS).write_text("".join(f"{line}\n" for line in workloads), encoding="utf-8")
    (path / RECORDS).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def import_database(
    records: Records,
    folder: str | os.PathLike[str],
    programs: Sequence[PrimFunc],
    target: str,
    machine: str | None = None,
) -> list[str]:
    """Add the best record of each of some programs; return why others were left out.

    Parameters
    ----------
    records
        Where they are added.
    folder
        What a tuner wrote.
    programs
        Programs; the records of each are those with its arguments. Those whose trace it refuses are
        left out.
    target
        What they were compiled for, as `machine.target_key` has it.
    machine
        Where they were measured; without, here.

    Raises
    ------
    FormatError
        A line is no record.
    """
    path = Path(folder) / RECORDS
    refused: list[str] = []
    best: dict[int, tuple[float, Trace]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        trace_json, seconds, arguments = _parsed(path, number, line)
        if not seconds < FAILED:
            continue
        fitting = [i for i, func in enumerate(programs) if arguments_of(func) == arguments]
        if not fitting:
            refused.append(f"line {number}: no program has the arguments {json.dumps(arguments)}")
        for place in fitting:
            if place in best and best[place][0] <= seconds:
                continue
            try:
                sch = Schedule(programs[place])
                _core.Trace.apply_json_to_schedule(trace_json, sch)
            except UserError as error:
                refused.append(f"line {number}: {error}".partition("\n")[0])
                continue
            best[place] = seconds, sch.trace
    for place, (seconds, trace) in best.items():
        func = programs[place]
        records.add(
            Record(
                program_key(func), func.name, to_json(named_main(func)), target, _core.version,
                json.dumps(trace.as_json()), seconds, math.inf, "imported; not compared",
                machine or _core.machine_name(),
            )
        )  # fmt: skip
    return refused


def arguments_of(func: PrimFunc) -> list[Any]:
    """Return the arguments of a function as both sides write them."""
    buffers = func.buffer_map
    return [
        ["TENSOR", str(buffers[param].dtype), [_size(extent) for extent in buffers[param].shape]]
        if buffers.get(param) is not None
        else ["SCALAR", str(param.dtype)]
        for param in func.params
    ]


def _size(extent: Any) -> int | str:
    try:
        return int(extent)
    except TypeError:
        return str(extent)


def _parsed(path: Path, number: int, line: str) -> tuple[Any, float, Any]:
    """Return the trace, the seconds and the arguments of a line."""
    try:
        _, (trace, seconds, _, arguments) = json.loads(line)
        return trace, statistics.mean(map(float, seconds)), arguments
    except (ValueError, TypeError) as error:
        return _core.fail(
            "FormatError",
            "line_is_a_record",
            f"{path}, line {number}: no record: {error}",
            hint="each line is [workload, [trace, seconds, target, arguments]]",
        )
