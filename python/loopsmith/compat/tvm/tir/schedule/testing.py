# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.schedule.testing``: what tests of schedules use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import loopsmith.arith
from loopsmith import tir

from ....missing import other_names

__all__ = [
    "assert_structural_equal_gs",
    "assert_structural_equal_ignore_global_symbol",
    "verify_trace_roundtrip",
]


def assert_structural_equal_ignore_global_symbol(
    s1: Any, s2: Any, map_free_vars: bool = False
) -> None:
    """Raise a ValueError unless two functions or modules are equal but for their names."""
    from ...ir import assert_structural_equal

    assert_structural_equal(_with_name(s1), _with_name(s2), map_free_vars)


def _with_name(program: Any) -> Any:
    if isinstance(program, tir.PrimFunc):
        return program.with_attr("global_symbol", "main")
    functions = [func.without_attr("global_symbol") for func in program.functions]
    return tir.IRModule(names=list(program.names), functions=functions, attrs=program.attrs)


def verify_trace_roundtrip(
    sch: tir.Schedule,
    mod: Any,
    *,
    debug_mask: Any = "all",
    text_format: str | Sequence[str] = ("python", "json"),
) -> tir.Schedule:
    """Replay the steps of a schedule on its program, from its trace and from the trace's JSON.

    Returns
    -------
    Schedule
        The last replay.

    Raises
    ------
    ValueError
        A replay gives another program.
    """
    formats = [text_format] if isinstance(text_format, str) else list(text_format)
    replayed = sch
    for form in formats:
        from . import Schedule

        replayed = Schedule.make(mod, debug_mask=debug_mask)
        if form == "json":
            steps = json.loads(json.dumps(sch.trace.as_json()))
            tir.Trace.apply_json_to_schedule(steps, replayed)
        elif form == "python":
            names: dict[str, Any] = {"sch": replayed, "ls": loopsmith, "tir": tir}
            exec("\n".join(sch.trace.as_python()), names)
        else:
            raise ValueError(f"verify_trace_roundtrip: there is no form {form!r} of a trace")
        assert_structural_equal_ignore_global_symbol(replayed.mod, sch.mod)
    return replayed


assert_structural_equal_gs = assert_structural_equal_ignore_global_symbol

__getattr__ = other_names("tvm.tir.schedule.testing")
