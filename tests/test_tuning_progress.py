# SPDX-License-Identifier: Apache-2.0
"""How a search tells how far it is."""

from __future__ import annotations

import io
import math
import re
import sys

import pytest
from test_tuning import Clock, matmul, shorter_is_quicker

import loopsmith as ls


def test_lines_tell_of_trials_the_best_failures_and_the_time(capsys: pytest.CaptureFixture[str]):
    times = iter([0.5, math.nan, 0.25, 0.125])
    clock = Clock(lambda _: next(times, 0.125))
    ls.tune(matmul(), trials=4, seconds=1000, progress=True, runner=clock)
    first, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith("1 of 4 trials, ") and "/s; main: best 500 ms, default 1 s; " in first
    assert second.startswith("3 of 4 trials, ") and "best 250 ms" in second
    assert "; 1 no time; " in third and third.endswith("; 0 s left")


def test_nothing_is_told_where_nobody_looks(capsys: pytest.CaptureFixture[str]):
    ls.tune(matmul(), trials=2, runner=Clock(shorter_is_quicker))
    ls.tune(matmul(), trials=2, progress=False, runner=Clock(shorter_is_quicker))
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("has_rich", [True, False])
def test_a_terminal_has_one_line_that_lives(monkeypatch: pytest.MonkeyPatch, has_rich: bool):
    if has_rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setitem(sys.modules, "rich.live", None)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    ls.tune(matmul(), trials=3, runner=Clock(shorter_is_quicker))
    shown = terminal.getvalue()
    assert ("\x1b[" in shown) == has_rich
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "3 of 3 trials" in plain and "main: best" in plain
