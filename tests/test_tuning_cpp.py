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
from loopsmith import te, tir, tuning

PROGRAM = r"""
#include <loopsmith/loopsmith.h>

#include <cstdio>
#include <cstdlib>
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
  if (std::string_view(arguments[2]) != "own") {
    options.space = [](ls::tir::Schedule& sch) {
      auto factor = sch.sample_categorical({2, 4, 8, 16}, {0.25, 0.25, 0.25, 0.25});
      sch.split(sch.get_loops("C")[1], {ls::infer, factor});
    };
    options.space_name = "test_tuning_cpp.columns";
  }
  if (std::string_view(arguments[2]) == "sizes") {
    Expr rows = size_var("rows");
    Tensor X = placeholder({rows, 64}, ls::f32, "X");
    Tensor Y = compute({rows, 64}, [&](Expr i, Expr j) { return X(i, j) * 2; }, "C");
    options.trials = std::atoi(arguments[3]);
    options.seed = 7;
    options.runner = [](const ls::Ptr<ls::PrimFunc>& func) {
      const std::string text = ls::script(func);
      const char* quick = text.find("T.grid(1000, ") != text.npos ? ", 4, 16)" : ", 8, 8)";
      return std::vector{text.find(quick) != text.npos ? 1.0 : 2.0};
    };
    const auto best = ls::tune::search_sizes(
        create_prim_func({X, Y}), {{"rows", ls::tune::SizeWeights{{1, 1}, {1000, 1}}}}, options);
    std::printf("%s\n%g\n", best.tree.as_json().c_str(), best.speedup());
    return 0;
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


def decisions(traces: list[str]) -> list[Any]:
    """What samples decided; C++ tells steps in other words, as it names no function."""
    return [json.loads(trace)[1] for trace in traces]


def doubled_rows() -> Any:
    """Y = 2 * X with a symbolic number of rows, as the program has it."""
    rows = te.size_var("rows")
    x = te.placeholder((rows, 64), name="X")
    return te.create_prim_func([x, te.compute((rows, 64), lambda i, j: x[i, j] * 2.0, name="C")])


class RowsClock:
    """To which parts of 16 columns are quick for 1000 rows, of 8 for one; as in the program."""

    def run(self, request: Any) -> tuning.Outcome:
        if isinstance(request, tuning.Check):
            return tuning.Outcome()
        script = "" if request.scheduled is None else request.scheduled.script()
        quick = ", 4, 16)" if request.point else ", 8, 8)"
        return tuning.Outcome([1.0 if quick in script else 2.0], [2.0])


def test_searches_over_sizes_of_cpp_and_python_are_one(program: Path, tmp_path: Path):
    options: Any = {
        "space": columns,
        "sizes": {"rows": {1: 1.0, 1000: 1.0}},
        "seed": 7,
        "runner": RowsClock(),
    }
    *traces, tree, speedup = run(program, tmp_path / "cpp.db", "sizes", "40").splitlines()
    best = ls.tune(doubled_rows(), records=tmp_path / "python.db", **options)
    assert len(traces) == 4 and decisions(measured(best)) == decisions(traces)
    assert json.loads(best.tree.as_json()) == json.loads(tree)
    assert best.speedup == float(speedup) == 2.0
    # Begun in Python, it goes on in C++; and the other way around.
    both = tmp_path / "both.db"
    first = ls.tune(doubled_rows(), records=both, trials=1, **options)
    *traces, _, _ = run(program, both, "sizes", "2").splitlines()
    rest = ls.tune(doubled_rows(), records=both, **options)
    found = decisions([*measured(first), *traces, *measured(rest)])
    assert [len(first.trials), len(traces), len(rest.trials)] == [1, 2, 1]
    assert len({*map(str, found)}) == 4, "a candidate was measured twice"
    assert rest.speedup == 2.0
