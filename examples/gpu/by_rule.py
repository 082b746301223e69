# SPDX-License-Identifier: Apache-2.0
"""Programs without a schedule on a GPU: what the rules make of them."""

from __future__ import annotations

import numpy as np
from on_devices import Example, main, numbers, soft

import loopsmith as ls
from loopsmith import te


def softmax(rows: int = 64, columns: int = 256) -> Example:
    """One kernel: the maximum, the exponentials and their sum stay in the block of a row."""
    x = te.placeholder((rows, columns), name="X")
    operand = numbers(rows, columns)
    return Example(te.create_prim_func([x, te.nn.softmax(x)]), [operand], soft(operand))


def attention(tokens: int = 64, width: int = 32) -> Example:
    """One kernel: tiles of scores, whose softmax is rescaled as maxima grow (online)."""
    q, k, v = (te.placeholder((tokens, width), name=name) for name in "QKV")
    r = te.reduce_axis((0, width), name="r")
    scores = te.compute(
        (tokens, tokens),
        lambda i, j: te.sum(q[i, r] * k[j, r], axis=r),
        name="scores",
    )
    weights = te.nn.softmax(scores)
    t = te.reduce_axis((0, tokens), name="t")
    out = te.compute(
        (tokens, width), lambda i, d: te.sum(weights[i, t] * v[t, d], axis=t), name="out"
    )
    a, b, c = (numbers(tokens, width, seed=seed) for seed in range(3))
    return Example(te.create_prim_func([q, k, v, out]), [a, b, c], soft(a @ b.T) @ c)


def prefix_sum(count: int = 5000) -> Example:
    """Sums of parts, what each part begins with, and the parts: a scan written as a loop."""
    func = ls.from_source(f"""
@T.prim_func
def prefix_sum(A: T.Buffer(({count},), "int32"), S: T.Buffer(({count + 1},), "int32")):
    S[0] = 0
    for i in range({count}):
        with T.block("S"):
            vi = T.axis.reduce({count}, i)
            S[vi + 1] = S[vi] + A[vi]
""")
    operand = np.arange(count, dtype="int32") % 7
    return Example(func, [operand], np.concatenate([[0], operand.cumsum()]).astype("int32"))


def box_blur(size: int = 64) -> Example:
    """One kernel: sums of neighbours are computed where they are used."""
    x = te.placeholder((size + 2, size + 2), name="X")
    dy, dx = te.reduce_axis((0, 3), name="dy"), te.reduce_axis((0, 3), name="dx")
    total = te.compute(
        (size, size), lambda i, j: te.sum(x[i + dy, j + dx], axis=[dy, dx]), name="total"
    )
    blur = te.compute((size, size), lambda i, j: total[i, j] / 9.0, name="blur")

    a = numbers(size + 2, size + 2)
    parts = [a[i : i + size, j : j + size] for i in range(3) for j in range(3)]
    return Example(te.create_prim_func([x, blur]), [a], np.mean(parts, axis=0))


EXAMPLES = [softmax, attention, prefix_sum, box_blur]

if __name__ == "__main__":
    main(EXAMPLES)
