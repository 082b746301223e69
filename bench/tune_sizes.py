# SPDX-License-Identifier: Apache-2.0
"""One search over a range of sizes, beside a search for each of the sizes that were drawn.

``python bench/tune_sizes.py [seconds] [names]`` chooses: the search over the range takes so many
seconds for each size, as each of the others does. Ratios are times of the function with variants
over times of the schedule that was found for one size alone; the goal is 5 % more at most.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from loopsmith._core import drawn_sizes
from loopsmith.arguments import random_arguments
from measure import interleaved, print_table, verdict

import loopsmith as ls
from loopsmith import te, tuning

SECONDS = 10.0
GOAL = 1.05


def product() -> Any:
    """Return a product of some rows with a matrix of 512 x 512."""
    rows = te.size_var("rows")
    a, b = te.placeholder((rows, 512), name="A"), te.placeholder((512, 512), name="B")
    k = te.reduce_axis((0, 512), "k")
    return te.create_prim_func(
        [a, b, te.compute((rows, 512), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]
    )


def softmax() -> Any:
    """Return the softmax of 256 rows of some length."""
    n = te.size_var("columns")
    a = te.placeholder((256, n), name="A")
    k, m = te.reduce_axis((0, n), "k"), te.reduce_axis((0, n), "m")
    top = te.compute((256,), lambda i: te.max(a[i, k], axis=k), name="top")
    power = te.compute((256, n), lambda i, j: te.exp(a[i, j] - top[i]), name="power")
    total = te.compute((256,), lambda i: te.sum(power[i, m], axis=m), name="total")
    return te.create_prim_func(
        [a, te.compute((256, n), lambda i, j: power[i, j] / total[i], name="B")]
    )


def column_sums() -> Any:
    """Return the sums of 1024 columns of some rows."""
    rows = te.size_var("rows")
    a, k = te.placeholder((rows, 1024), name="A"), te.reduce_axis((0, rows), "k")
    return te.create_prim_func(
        [a, te.compute((1024,), lambda j: te.sum(a[k, j], axis=k), name="B")]
    )


PROGRAMS: dict[str, tuple[Callable[[], Any], str, tuple[int, int]]] = {
    "product": (product, "rows", (1, 512)),
    "softmax": (softmax, "columns", (16, 4096)),
    "column sums": (column_sums, "rows", (16, 4096)),
}


def called(module: Any, arguments: list[Any], times: int) -> None:
    """Call a function some times, so that the clock is fine enough."""
    for _ in range(times):
        module(*arguments)


def compared(name: str, seconds: float) -> list[tuple[object, ...]]:
    """Search both ways; a row for each size."""
    make, size, (first, last) = PROGRAMS[name]
    func = make()
    drawn = len(drawn_sizes(func, {size: tuning.SizeRange(first, last)}, 0))
    found: Any = ls.tune(
        func,
        sizes={size: tuning.SizeRange(first, last)},
        trials=1_000_000,
        seconds=seconds * drawn,
    )
    whole = found.build()
    rows: list[tuple[object, ...]] = []
    for row in found.rows:
        alone: Any = ls.tune(func, sizes=row.sizes, trials=1_000_000, seconds=seconds)
        arguments = random_arguments(func, dict(row.sizes), 0)
        by_default = ls.build(func)
        own = alone.build() if alone.is_quicker else by_default
        programs = {"range": whole, "alone": own, "default": by_default}
        number = max(int(2e-3 / max(row.seconds, 1e-7)), 1)

        calls = {
            each: partial(called, module, arguments, number) for each, module in programs.items()
        }
        medians = interleaved(calls, 31)
        ratio = medians["range"] / medians["alone"]
        microseconds = {each: f"{taken / number * 1e6:.1f}" for each, taken in medians.items()}
        rows.append(
            (
                f"{name} {row.sizes[size]}",
                *(microseconds[each] for each in ("default", "alone", "range")),
                row.variant,
                f"{ratio:.3f}",
                verdict(ratio, GOAL),
            )
        )
        print(*rows[-1], flush=True)
    return rows


def main() -> None:
    """Print the ratios."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    rows = [row for name in sys.argv[2:] or PROGRAMS for row in compared(name, seconds)]
    print_table(
        f"Searches of {seconds:g} s a size [us]; goal: {GOAL} times the search alone",
        ("program", "default", "alone", "range", "variant", "ratio", "goal"),
        rows,
    )
    mean = math.exp(sum(math.log(float(str(row[5]))) for row in rows) / len(rows))
    print(f"geometric mean {mean:.3f}")


if __name__ == "__main__":
    main()
