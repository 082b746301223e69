# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/long_tail beside NumPy, SciPy, Numba and gcc.

gcc compiles C with OpenMP that is written by hand where it is here, else what our own back end
writes of the program without a schedule (marked with *). Ratios are times of a peer over times of
the scheduled program: above 1, the schedule is faster. "plain" is the program without a schedule,
"default" with the one that it gets when nothing is said; the last column asks of all but that one.
SciPy's column has what it calls that operation: its LU has pivots, its filters and solvers give new
arrays. `NAME=SIZE` measures a program at a size of its own, prefix_sum=100000000 for one.

Each side of a row is a process of its own. They take turns, and all but one are stopped: threads of
libraries go on spinning after a call. Each call gets fresh values, which take no part in its time,
so that programs that work in place do the same work each time, and comes right after one like it on
other arrays, so that processors and threads are awake. What writes into the arrays of the program
is compared with what the plain program writes.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import importlib
import multiprocessing
import os
import runpy
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from measure import print_table, seconds

import loopsmith as ls

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = runpy.run_path(str(ROOT / "examples" / "long_tail" / "programs.py"))
PROGRAMS: dict[str, Any] = EXAMPLES["PROGRAMS"]
SIZES = EXAMPLES["SIZES"] | {
    "mixed_nest": 4000,
    "gauss_seidel": 3000,
    "edit_distance": 3000,
    "game_of_life": 3000,
    "radix_sort": 4_000_000,
}
SIZE = 10_000_000
FLAGS = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
GOAL = 1.0

Run = Callable[..., object]
"""What computes a program of its arrays."""

# What a C programmer writes: the same loops, with OpenMP where they are independent.
C_SOURCES = {
    "in_place": "_Float16 *a = p[0], *b = p[1];\n#pragma omp parallel for simd\n"
    "for (long i = 0; i < n; ++i) b[i] += a[i];",
    "start_at_one": "_Float16 *a = p[0], *b = p[1];\n#pragma omp parallel for simd\n"
    "for (long i = 1; i < n; ++i) b[i] = a[i] + (_Float16)1;",
    "mixed_nest": "_Float16 *a = p[0];\n#pragma omp parallel for\nfor (long i = 0; i < n; ++i)\n"
    "  for (long j = 0; j < n; ++j) a[i * n + j] = i % 2 == 0 ? 1 : 2;",
    "prefix_sum": "double *a = p[0], *b = p[1]; b[0] = 0;\n"
    "for (long i = 0; i < n; ++i) b[i + 1] = b[i] + a[i];",
    "prefix_sum_int64": "long *a = p[0], *b = p[1]; b[0] = 0;\n"
    "for (long i = 0; i < n; ++i) b[i + 1] = b[i] + a[i];",
    "running_maximum": "float *a = p[0], *b = p[1], top = -3e38f;\n"
    "for (long i = 0; i < n; ++i) { top = top > a[i] ? top : a[i]; b[i] = top; }",
    "moving_average": "double *a = p[0], *b = p[1], v = 0;\n"
    "for (long i = 0; i < n; ++i) { v = 0.9 * v + 0.1 * a[i]; b[i] = v; }",
    "segmented_sum": "long *a = p[0], *b = p[2]; int *s = p[1]; b[0] = 0;\n"
    "for (long i = 0; i < n; ++i) b[i + 1] = s[i] > 90 ? a[i] : b[i] + a[i];",
    "gauss_seidel": "double *a = p[0]; long m = n + 2;\nfor (long i = 1; i <= n; ++i)\n"
    "  for (long j = 1; j <= n; ++j) a[i * m + j] = 0.25 * (a[(i - 1) * m + j] + "
    "a[i * m + j - 1] + a[(i + 1) * m + j] + a[i * m + j + 1]);",
    "edit_distance": "int *a = p[0], *b = p[1], *d = p[2]; long m = n + 1;\n"
    "for (long i = 0; i < n; ++i) for (long j = 0; j < n; ++j) {\n"
    "  int x = d[i * m + j] + (a[i] != b[j]), y = d[i * m + j + 1] + 1;\n"
    "  int z = d[(i + 1) * m + j] + 1;\n"
    "  x = x < y ? x : y; d[(i + 1) * m + j + 1] = x < z ? x : z; }",
    "fission": "double *a = p[0], *b = p[1], *c = p[2];\n"
    "for (long i = 0; i < n; ++i) { a[i + 1] = a[i] * 0.5 + b[i]; c[i] = a[i] * 2 + b[i]; }",
    "histogram_256": "int *a = p[0], *h = p[1];\n#pragma omp parallel for reduction(+ : h[:256])\n"
    "for (long i = 0; i < n; ++i) ++h[a[i]];",
    "histogram_65536": "int *a = p[0], *h = p[1];\n"
    "#pragma omp parallel for reduction(+ : h[:65536])\nfor (long i = 0; i < n; ++i) ++h[a[i]];",
    "sparse_product": "int *s = p[0], *c = p[1]; float *v = p[2], *x = p[3], *y = p[4];\n"
    "#pragma omp parallel for schedule(dynamic, 256)\nfor (long i = 0; i < n; ++i) {\n"
    "  float sum = 0; for (long k = s[i]; k < s[i + 1]; ++k) sum += v[k] * x[c[k]]; y[i] = sum; }",
    "game_of_life": "int *a = p[0], *b = p[1];\n#pragma omp parallel for\n"
    "for (long i = 0; i < n; ++i) for (long j = 0; j < n; ++j)\n"
    "  b[i * n + j] = a[(i + n - 1) % n * n + j] + a[(i + 1) % n * n + j] + "
    "a[i * n + (j + n - 1) % n] + a[i * n + (j + 1) % n] == 2;",
}

NUMPY: dict[str, Run] = {
    "in_place": lambda a, b: np.add(a, b, out=b),
    "start_at_one": lambda a, b: np.add(a[1:], np.float16(1), out=b[1:]),
    "prefix_sum": lambda a, b: np.cumsum(a, out=b[1:]),
    "prefix_sum_int64": lambda a, b: np.cumsum(a, out=b[1:]),
    "prefix_sum_float16": lambda a, b: np.cumsum(a, out=b[1:]),
    "running_maximum": lambda a, b: np.maximum.accumulate(a, out=b),
    "histogram_256": lambda a, h: np.bincount(a, minlength=256),
    "histogram_65536": lambda a, h: np.bincount(a, minlength=65536),
    "radix_sort": lambda a, b: np.sort(a, kind="stable"),
    "bitonic_sort": lambda a: np.sort(a),
    "top_8": lambda a, b: np.partition(a, 55, axis=1)[:, 56:],
    "welford": lambda a, m, v: np.var(a, axis=1, out=v),
    "cholesky": np.linalg.cholesky,
}


def gcc_library(name: str, folder: Path) -> Path:
    """Compile a program by gcc, from C of people or, where there is none, from our own."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    if name in C_SOURCES:
        source.write_text(f"void {name}(void **p, long n) {{\n{C_SOURCES[name]}\n}}\n")
    else:
        ls.build(PROGRAMS[name].func, "c", default_schedule=False).export(str(source))
    options = [*FLAGS, "-std=gnu11", "-lm", "-lpthread"]
    subprocess.run(["gcc", source, "-o", library, *options], check=True)
    return library


def in_c(name: str, size: int, folder: Path) -> Run:
    """Return what gcc makes of a program, as a function of its arrays."""
    library = gcc_library(name, folder)
    if name not in C_SOURCES:
        return ls.load_module(str(library))
    function = getattr(ctypes.CDLL(str(library)), name)

    def run(*arrays: Any) -> None:
        pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        function(pointers, ctypes.c_long(size))

    return run


def in_numba() -> dict[str, Run]:
    """Return programs as functions that Numba has compiled; none where it is not installed."""
    try:
        numba = importlib.import_module("numba")
    except ImportError:
        return {}
    parallel = numba.njit(parallel=True, fastmath=False)

    def prefix_sum(a: Any, b: Any) -> None:
        b[0] = 0
        for i in range(len(a)):
            b[i + 1] = b[i] + a[i]

    def moving_average(a: Any, b: Any) -> None:
        value = 0.0
        for i in range(len(a)):
            value = 0.9 * value + 0.1 * a[i]
            b[i] = value

    def gauss_seidel(a: Any) -> None:
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i, j - 1] + a[i + 1, j] + a[i, j + 1])

    def sparse_product(starts: Any, columns: Any, values: Any, x: Any, y: Any) -> None:
        for i in numba.prange(len(y)):
            total = np.float32(0)
            for k in range(starts[i], starts[i + 1]):
                total += values[k] * x[columns[k]]
            y[i] = total

    return {
        "prefix_sum": numba.njit(prefix_sum),
        "prefix_sum_int64": numba.njit(prefix_sum),
        "moving_average": numba.njit(moving_average),
        "gauss_seidel": numba.njit(gauss_seidel),
        "sparse_product": parallel(sparse_product),
    }


def in_scipy() -> dict[str, Run]:
    """Return programs as calls of SciPy; none where it is not installed."""
    try:
        linalg, ndimage, signal, sparse, csgraph, special = (
            importlib.import_module(f"scipy.{part}")
            for part in ("linalg", "ndimage", "signal", "sparse", "sparse.csgraph", "special")
        )
    except ImportError:
        return {}

    def recursive_blur(a: Any, b: Any) -> Any:
        there = signal.lfilter([0.4], [1, -0.6], a, axis=1)
        return signal.lfilter([0.4], [1, -0.6], there[:, ::-1], axis=1)[:, ::-1]

    def components(starts: Any, neighbours: Any, labels: Any, new: Any) -> Any:
        edges = np.ones(len(neighbours), "int8")
        graph = sparse.csr_matrix((edges, neighbours, starts), (len(labels), len(labels)))
        return csgraph.connected_components(graph, directed=False)

    cross = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    return {
        "moving_average": lambda a, b: signal.lfilter([0.1], [1, -0.9], a),
        "recursive_blur": recursive_blur,
        "sparse_product": lambda s, c, v, x, y: sparse.csr_matrix((v, c, s), (len(y), len(x))) @ x,
        "connected_components": components,
        "hooked_components": components,
        "floyd_warshall": csgraph.floyd_warshall,
        "game_of_life": lambda a, b: ndimage.convolve(a, cross, mode="wrap") == 2,
        "lu": linalg.lu_factor,
        "cholesky": lambda a: linalg.cholesky(a, lower=True),
        "triangular_solve": lambda a, x: linalg.solve_triangular(a, x, lower=True),
        "online_softmax": lambda a, b: special.softmax(a, axis=1),
    }


PEERS: dict[str, Callable[[], dict[str, Run]]] = {
    "NumPy": lambda: NUMPY,
    "SciPy": in_scipy,
    "Numba": in_numba,
}
"""Libraries, and what each has of the programs."""


def made(side: str, name: str, size: int, folder: Path) -> Run:
    """Return a program as one of the sides computes it."""
    program = PROGRAMS[name]
    if side == "scheduled":
        return ls.build(program.schedule())
    if side in ("plain", "default"):
        return ls.build(program.func, default_schedule=side == "default")
    return in_c(name, size, folder) if side == "gcc" else PEERS[side]()[name]


def is_next(turns: Connection) -> bool:
    """Wait for a turn; return whether there is one."""
    try:
        return bool(turns.recv())
    except EOFError:
        return False


def serve(turns: Connection, side: str, name: str, size: int, folder: Path) -> None:
    """Be one side of a row: compute the program at each turn, and send how long it took."""
    program = PROGRAMS[name]
    run = made(side, name, size, folder)
    inputs = program.arguments(size)
    places = [[array.copy() for array in inputs] for _ in range(2)]
    if side not in ("NumPy", "SciPy"):  # These give arrays of their own.
        expected, found = places
        ls.build(program.func, default_schedule=False)(*expected)
        run(*found)
        for mine, plain in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, plain, program.rtol, program.rtol, err_msg=side)
    first, second = (functools.partial(run, *arrays) for arrays in places)
    turns.send(0.0)
    while is_next(turns):
        for arrays in places:
            for array, fresh in zip(arrays, inputs):
                np.copyto(array, fresh)
        first()
        turns.send(seconds(second))


def in_turns(sides: list[str], name: str, size: int, folder: Path, calls: int) -> list[list[float]]:
    """Return the seconds of so many calls of each side, after two that do not count."""
    context = multiprocessing.get_context("spawn")
    turns: list[tuple[Connection, int]] = []
    samples: list[list[float]] = [[] for _ in sides]
    try:
        for side in sides:
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(there, side, name, size, folder))
            process.start()
            assert process.pid is not None
            turns.append((here, process.pid))
            there.close()
            here.recv()
            os.kill(process.pid, signal.SIGSTOP)
        for _ in range(2 + calls):
            for (turn, process_id), taken in zip(turns, samples):
                os.kill(process_id, signal.SIGCONT)
                turn.send(True)
                taken.append(turn.recv())
                os.kill(process_id, signal.SIGSTOP)
    finally:
        for turn, process_id in turns:
            os.kill(process_id, signal.SIGCONT)
            turn.close()
    return [taken[2:] for taken in samples]


def row_of(name: str, size: int, sides: list[str], given: argparse.Namespace) -> list[str]:
    """Measure a program beside its peers; return its row."""
    with tempfile.TemporaryDirectory() as folder:
        samples = in_turns(sides, name, size, Path(folder), given.calls)
    middle = min if given.least else statistics.median
    times = {side: middle(taken) for side, taken in zip(sides, samples)}
    ratios = {side: taken / times["scheduled"] for side, taken in times.items()}
    best = min(ratios[side] for side in ratios.keys() - {"scheduled", "default"})
    others = ("plain", "default", *PEERS)
    return [
        name,
        f"{size:,}",
        f"{times['scheduled'] * 1e3:.2f}",
        *(f"{ratios[side]:.2f}" if side in ratios else "-" for side in others),
        (f"{ratios['gcc']:.2f}" if "gcc" in ratios else "-") + "*" * (name not in C_SOURCES),
        "yes" if best >= GOAL else "no",
    ]


def main(arguments: list[str]) -> None:
    """Measure the programs that are named, or all, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), metavar="NAME[=SIZE]")
    parser.add_argument("--scale", type=float, default=1, help="of the sizes")
    parser.add_argument("--calls", type=int, default=7, help="of each side")
    parser.add_argument("--least", action="store_true", help="take the least time, not the median")
    given = parser.parse_args(arguments)
    known = {peer: set(programs()) for peer, programs in PEERS.items()}
    if shutil.which("gcc"):
        known["gcc"] = set(PROGRAMS)
    rows = []
    for named in given.programs:
        name, _, own_size = named.partition("=")
        size = int(own_size or SIZES.get(name, SIZE) * given.scale)
        sides = ["scheduled", "plain", "default"]
        sides += [peer for peer, programs in known.items() if name in programs]
        rows.append(row_of(name, size, sides, given))
    head = ["program", "size", "ms", "plain", "default", *PEERS, "gcc -O3 -fopenmp", f">= {GOAL}"]
    print_table("Times of others over those of the schedule", head, rows)
    missing = [peer for peer in (*PEERS, "gcc") if not known.get(peer)]
    if missing:
        print("not installed: " + ", ".join(missing))


if __name__ == "__main__":
    main(sys.argv[1:])
