# SPDX-License-Identifier: Apache-2.0
"""How fast the compiler itself is: builds, lowering, large functions, calls, the import."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import programs
from measure import clean_environment, interleaved, print_table, seconds, verdict

import loopsmith as ls
from loopsmith import te, tir

ROOT = Path(__file__).resolve().parent.parent
BINARIES = ROOT / "build" / "release" / "bench"


def builds(rounds: int = 21) -> None:
    """From a function of TensorIR to one that can be called; time of this thread's processor."""
    goals = {"add": 4.0, "softmax 4096x4096": 8.0, "matmul 1024": 10.0, "conv2d 56x56x64": 15.0}
    makers = [programs.add, programs.softmax, programs.matmul, programs.conv2d]
    functions = {name: te.create_prim_func(maker()) for name, maker in zip(goals, makers)}
    timings: dict[str, list[float]] = {name: [] for name in goals}

    def lower(name: str) -> None:
        passes: dict[str, float] = {}
        ls.build(functions[name], timings=passes)
        timings[name].append(sum(passes.values()))

    totals = interleaved(
        {name: lambda f=func: ls.build(f) for name, func in functions.items()},
        rounds,
        warmup=3,
        clock=time.thread_time,
    )
    interleaved({name: lambda n=name: lower(n) for name in goals}, rounds)
    rows = []
    for name, goal in goals.items():
        build, lowering = totals[name] * 1e3, statistics.median(timings[name]) * 1e3
        rows.append(
            [name, f"{build:.2f}", goal, verdict(build, goal),
             f"{lowering:.2f}", 1.0, verdict(lowering, 1.0)]
        )  # fmt: skip
    print_table(
        f"Build latency of unscheduled programs, ms (median of {rounds})",
        ["program", "build", "goal", "", "lowering alone", "goal", ""],
        rows,
    )


def large_function(statements: int = 20_000) -> None:
    """Lower a function with many statements, in this process, which does nothing else before."""
    buffer = tir.decl_buffer((statements,), "float32", name="A")
    stores = [
        tir.BufferStore(buffer=buffer, value=buffer[i] * 2.0 + 1.0, indices=[i])
        for i in range(statements)
    ]
    func = tir.PrimFunc(
        params=[tir.Var("a", "handle")], buffer_map=[buffer], body=tir.SeqStmt(seq=stores)
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = seconds(lambda: ls.lower(func))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{taken} {before / 1024} {after / 1024}")


def large_functions() -> None:
    """The same, in a process of its own."""
    printed = subprocess.run(
        [sys.executable, __file__, "large"], check=True, capture_output=True, text=True
    )
    taken, before, after = map(float, printed.stdout.split())
    print_table(
        "Lowering a function of 20,000 statements",
        ["", "value", "goal", ""],
        [
            ["seconds", f"{taken:.2f}", 1.0, verdict(taken, 1.0)],
            ["MB, whole process", f"{after:.0f}", 500, verdict(after, 500)],
            ["MB, before lowering", f"{before:.0f}", "", ""],
        ],
    )


def binaries() -> None:
    """What is measured in C++; built with -DLOOPSMITH_BUILD_BENCH=ON."""
    for name, what in [
        ("bench_call", "A call from C++; the goal is 50 ns"),
        ("bench_simplify", "The simplifier; the goal is 200,000 expressions a second"),
        ("bench_compiler", "Stages of a build, from C++"),
    ]:
        print(f"\n{what}", flush=True)
        if (BINARIES / name).exists():
            subprocess.run([BINARIES / name], check=True)
        else:
            print(f"{name} is not built")


def lender(data: np.ndarray) -> object:
    """Return an object that is reached through DLPack alone, without a frame of Python between."""
    return type("Lender", (), {"__dlpack__": staticmethod(data.__dlpack__)})()


def per_call(call: Callable[[], object], number: int = 20_000) -> float:
    """Return the seconds of one call, the best of a few loops; what an empty call takes is off."""

    def loop(body: Callable[[], object]) -> float:
        start = time.perf_counter()
        for _ in range(number):
            body()
        return (time.perf_counter() - start) / number

    empty = min(loop(lambda: None) for _ in range(7))
    return min(loop(call) for _ in range(7)) - empty


def calls() -> None:
    """What a call from Python costs, three arrays of 8 x 8, all checks, by kind of array."""
    a = te.placeholder((8, 8), "float32", name="A")
    b = te.placeholder((8, 8), "float32", name="B")
    f = ls.build([a, b, te.compute((8, 8), lambda i, j: a[i, j] + b[i, j], name="C")])
    x = [np.ones((8, 8), "float32") for _ in range(3)]
    own = [ls.array(array) for array in x]
    views = [memoryview(array) for array in x]
    lent = [lender(array) for array in x]
    u, v, w = x
    kinds: list[tuple[str, Callable[[], object], float | None]] = [
        ("NumPy arrays", lambda a=x[0], b=x[1], c=x[2]: f(a, b, c), 200),
        ("own arrays", lambda a=own[0], b=own[1], c=own[2]: f(a, b, c), 200),
        ("buffers", lambda a=views[0], b=views[1], c=views[2]: f(a, b, c), None),
        ("DLPack", lambda a=lent[0], b=lent[1], c=lent[2]: f(a, b, c), 1000),
        ("numpy.add, for scale", lambda a=u, b=v, c=w, add=np.add: add(a, b, c), None),
    ]
    rows = []
    for name, call, goal in kinds:
        taken = per_call(call) * 1e9
        rows.append([name, f"{taken:.0f}", goal or "", verdict(taken, goal) if goal else ""])
    print_table(
        "A call from Python with three arrays and all checks, ns (best of 7 loops)",
        ["arrays", "ns", "goal", ""],
        rows,
    )


def imports(rounds: int = 11) -> None:
    """What `import loopsmith` takes beyond NumPy."""

    def importing(program: str) -> Callable[[], object]:
        return lambda: subprocess.run(
            [sys.executable, "-c", program], check=True, env=clean_environment()
        )

    medians = interleaved(
        {
            "import numpy": importing("import numpy"),
            "import numpy, loopsmith": importing("import numpy, loopsmith"),
            "import loopsmith": importing("import loopsmith"),
        },
        rounds,
    )
    rows = [[name, f"{taken * 1e3:.0f}", "", ""] for name, taken in medians.items()]
    beyond = (medians["import numpy, loopsmith"] - medians["import numpy"]) * 1e3
    rows.append(["beyond NumPy", f"{beyond:.0f}", "40", verdict(beyond, 40)])
    print_table(
        f"Processes that import, ms (median of {rounds})", ["program", "ms", "goal", ""], rows
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["large"]:
        large_function()
    else:
        builds()
        large_functions()
        binaries()
        calls()
        imports()
