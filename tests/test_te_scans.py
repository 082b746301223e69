# SPDX-License-Identifier: Apache-2.0
"""Scans in schedules: a loop around steps that are placed, inlined, cached and bound."""

from __future__ import annotations

import pytest
from te_outline import same_results

import loopsmith as ls
from loopsmith import te


def test_a_scan_is_a_loop_around_its_scheduled_steps() -> None:
    X = te.placeholder((9, 8), name="X")
    state = te.placeholder((9, 8), name="state")
    init = te.compute((1, 8), lambda _, i: X[0, i], name="init")
    update = te.compute((9, 8), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    sums = te.scan(init, update, state, inputs=[X], name="sums")
    s = te.create_schedule(sums.op)
    _, inner = s[update].split(update.op.axis[1], factor=4)
    s[update].vectorize(inner)
    same_results(s, [X, sums])


def recurrence() -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """Return X, two steps of a scan over it, and its result."""
    X = te.placeholder((9, 8), name="X")
    state = te.placeholder((9, 8), name="state")
    init = te.compute((1, 8), lambda _, i: X[0, i], name="init")
    twice = te.compute((9, 8), lambda t, i: state[t - 1, i] * 2, name="twice")
    update = te.compute((9, 8), lambda t, i: twice[t, i] + X[t, i], name="update")
    return X, twice, update, te.scan(init, update, state, inputs=[X], name="scan")


def test_steps_of_a_scan_are_placed_in_each_other() -> None:
    X, twice, update, scan = recurrence()
    for axis in update.op.axis:
        s = te.create_schedule(scan.op)
        s[twice].compute_at(s[update], axis)
        same_results(s, [X, scan])
    s = te.create_schedule(scan.op)
    s.cache_read(X, "local", [update])
    s.cache_write(twice, "local")
    same_results(s, [X, scan])


def test_the_time_of_a_scan_is_no_loop_of_a_step() -> None:
    X, twice, _, scan = recurrence()
    s = te.create_schedule(scan.op)
    s[twice].split(twice.op.axis[0], factor=4)
    with pytest.raises(ls.ScheduleError) as error:
        s.to_tir([X, scan])
    assert (
        "split: axis t of stage twice is the time of a scan, whose loop all its steps share"
    ) in str(error.value)
    assert "schedule its other axes" in str(error.value)


def test_threads_of_a_scan_are_those_of_its_steps() -> None:
    X, twice, update, scan = recurrence()
    s = te.create_schedule(scan.op)
    tx = te.thread_axis((0, 8), "threadIdx.x")
    s[scan].env_threads(tx)
    for step in (twice, update):
        s[step].bind(step.op.axis[1], tx)
    same_results(s, [X, scan], compiles=False)
    assert s.to_tir([X, scan]).func.script().count('thread="threadIdx.x"') == 2


def test_a_step_of_a_scan_is_computed_where_it_is_read() -> None:
    X, twice, _update, scan = recurrence()
    s = te.create_schedule(scan.op)
    s[twice].compute_inline()
    func = s.to_tir([X, scan]).func
    assert "alloc_buffer" not in func.script()
    same_results(s, [X, scan])


def test_a_chain_of_steps_is_inlined_and_the_rest_scheduled() -> None:
    X = te.placeholder((9, 8), name="X")
    state = te.placeholder((9, 8), name="state")
    init = te.compute((1, 8), lambda _, i: X[0, i], name="init")
    twice = te.compute((9, 8), lambda t, i: state[t - 1, i] * 2, name="twice")
    turned = te.compute((9, 8), lambda t, i: twice[t, 7 - i] + twice[t, i], name="turned")
    update = te.compute((9, 8), lambda t, i: turned[t, i] + X[t, i], name="update")
    scan = te.scan(init, update, state, inputs=[X], name="scan")
    result = te.compute((9, 8), lambda t, i: scan[t, i] + 1, name="result")
    s = te.create_schedule(result.op)
    s[twice].compute_inline()
    s[turned].compute_inline()
    _, inner = s[update].split(update.op.axis[1], factor=4)
    s[update].unroll(inner)
    s[result].parallel(result.op.axis[0])
    same_results(s, [X, result])
    same_results(s, [X, scan, result])


def test_rows_of_a_scan_are_stored_and_not_inlined() -> None:
    X, _twice, update, scan = recurrence()
    for stage in (update, scan.op.init[0]):
        s = te.create_schedule(scan.op)
        s[stage].compute_inline()
        with pytest.raises(ls.ScheduleError) as error:
            s.to_tir([X, scan])
        assert f"stage {stage.name} makes rows of scan scan, which are stored" in str(error.value)
        assert "say it of what it reads" in str(error.value)


def test_cache_read_of_a_state_copies_the_row_that_a_step_reads() -> None:
    X, twice, update, scan = recurrence()
    (state,) = scan.op.state_placeholder
    s = te.create_schedule(scan.op)
    row = s.cache_read(state, "local", [twice])
    assert row.name == "state.local"
    same_results(s, [X, scan])
    s[row].compute_at(s[twice], twice.op.axis[1])
    s[twice].compute_at(s[update], update.op.axis[1])
    same_results(s, [X, scan])
    assert 'scope="local"' in s.to_tir([X, scan]).func.script()


def test_cache_read_of_a_state_is_of_rows_at_one_distance() -> None:
    state = te.placeholder((9, 8), name="state")
    init = te.compute((2, 8), lambda t, i: te.const(1.0), name="init")
    update = te.compute((9, 8), lambda t, i: state[t - 1, i] + state[t - 2, i], name="update")
    scan = te.scan(init, update, state, name="scan")
    s = te.create_schedule(scan.op)
    with pytest.raises(ls.ScheduleError) as error:
        s.cache_read(state, "local", [update])
    assert "update reads the state state at rows of several distances before its own" in str(
        error.value
    )
    assert "call cache_read for each reader" in str(error.value)


def test_cache_read_of_a_state_is_for_steps_with_a_time() -> None:
    _X, _twice, _update, scan = recurrence()
    (state,) = scan.op.state_placeholder
    total = te.compute((), lambda: state[0, 0], name="total")
    s = te.create_schedule([scan.op, total.op])
    with pytest.raises(ls.ScheduleError) as error:
        s.cache_read(state, "local", [total])
    assert "reads the state state, but is no compute with a time axis" in str(error.value)
    assert "name computes of the scan's steps" in str(error.value)


def test_a_factored_axis_is_fused_with_no_other_reduction() -> None:
    A = te.placeholder((4, 8, 8), name="A")
    k, m = te.reduce_axis((0, 8), name="k"), te.reduce_axis((0, 8), name="m")
    B = te.compute((4,), lambda i: te.sum(A[i, k, m], axis=[k, m]), name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(k, factor=2)
    s[B].fuse(inner, m)
    with pytest.raises(ls.ScheduleError) as error:
        s.rfactor(B, outer)
    assert "axes k.inner and m of stage B, of which one is of the reduction" in str(error.value)
    assert "call rfactor before the axes are fused" in str(error.value)


def test_threads_of_a_scan_that_no_step_uses_are_refused() -> None:
    X, twice, _update, scan = recurrence()
    s = te.create_schedule(scan.op)
    tx, ty = (te.thread_axis((0, 8), f"threadIdx.{name}") for name in "xy")
    s[scan].env_threads([tx, ty])
    s[twice].bind(twice.op.axis[1], tx)
    with pytest.raises(ls.ScheduleError) as error:
        s.to_tir([X, scan])
    assert "no step of scan scan has an axis that is bound to threadIdx.y" in str(error.value)
    assert "bind an axis of each step to it" in str(error.value)


def test_the_steps_of_a_scan_are_a_group() -> None:
    X, twice, update, scan = recurrence()
    s = te.create_schedule(scan.op)
    assert s[twice].group is not None and s[twice].group == s[update].group
    assert s[X].group is None and s[scan].group is None
    assert s[update].group.num_child_stages == 2
    doubled = te.compute((4, 8), lambda i, j: scan[i, j] * 2, name="doubled")
    s = te.create_schedule(doubled.op)
    with pytest.raises(ls.ScheduleError) as error:
        s[twice].compute_at(s[doubled], doubled.op.axis[0])
    assert "stage twice is in a group of which stage doubled is no part" in str(error.value)
    assert "name a stage of its group, or say it of the group" in str(error.value)
