# SPDX-License-Identifier: Apache-2.0
"""Searches of C++ and of Python that go on with each other's trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import run
from test_tuning import Clock, matmul, shorter_is_quicker

import loopsmith as ls
from loopsmith import tir

PROGRAM = r"""
#include <loopsmith/loopsmith.h>

#include <cstdio>
#include <string_view>
namespace ls = loopsmith;
using namespace ls::te;

int main(int, char** arguments) {
  Tensor A = placeholder({32, 32}, ls::f32, "A"), B = placeholder({32, 32}, ls::f32, "B");
  IterVar k = reduce_axis(0, 32, "k");
  Tensor C = compute({32, 32}, [&](Expr i, Expr j) { return sum(A(i, k) * B(k, j), k); }, "C");
  ls::tune::SearchOptions options{.trials = 8, .records = arguments[1]};
  options.runner = [](const ls::Ptr<ls::PrimFunc>& func) {
    return std::vector{static_cast<double>(ls::script(func).size())};
  };
  options.on_trial = [](const ls::tune::Trial& trial) { std::puts(trial.trace.c_str()); };
  if (std::string_view(arguments[2]) == "columns") {
    options.space = [](ls::tir::Schedule& sch) {
      auto factor = sch.sample_categorical({2, 4, 8, 16}, {0.25, 0.25, 0.25, 0.25});
      sch.split(sch.get_loops("C")[1], {ls::infer, factor});
    };
    options.space_name = "test_tuning_cpp.columns";
  }
  ls::tune::search(create_prim_func({A, B, C}), options);
}
"""


def columns(sch: tir.Schedule) -> None:
    """Sample the part of the columns that the program samples, too."""
    factor = sch.sample_categorical([2, 4, 8, 16], [0.25] * 4)
    sch.split(sch.get_loops("C")[1], [None, factor])


@pytest.fixture(scope="module")
def program(installed_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    (folder / "search.cc").write_text(PROGRAM)
    library = next(installed_package.rglob("libloopsmith.so")).parent
    linked = [f"-L{library}", f"-Wl,-rpath,{library}", "-lloopsmith", "-o", folder / "search"]
    include = installed_package / "include"
    run("c++", "-std=c++20", f"-I{include}", folder / "search.cc", *linked)
    return folder / "search"


def measured(best: Any) -> list[str]:
    return [json.dumps(trial.trace.as_json()) for trial in best.trials]


def of_lines(text: str) -> list[str]:
    return [json.dumps(json.loads(line)) for line in text.splitlines()]


def test_trials_of_cpp_and_python_continue_each_other(program: Path, tmp_path: Path):
    store = tmp_path / "tuned.db"
    found = [of_lines(run(program, store, "own"))]
    best = ls.tune(matmul(), trials=8, records=store, runner=Clock(shorter_is_quicker))
    found += [measured(best), of_lines(run(program, store, "own"))]
    assert [len(each) for each in found] == [8, 8, 8]
    assert len(set().union(*found)) == 24, "a candidate was measured twice"


def test_spaces_of_ones_own_are_known_by_their_names(program: Path, tmp_path: Path):
    store = tmp_path / "tuned.db"
    best = ls.tune(
        matmul(), space=columns, trials=2, records=store, runner=Clock(shorter_is_quicker)
    )
    found = [*measured(best), *of_lines(run(program, store, "columns"))]
    assert len(set(found)) == len(found) == 4
    rest = ls.tune(matmul(), space=columns, records=store, runner=Clock(shorter_is_quicker))
    assert not rest.trials and rest.is_exhausted and "0 candidates" in str(rest)
