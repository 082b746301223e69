# SPDX-License-Identifier: Apache-2.0
"""Sums whose loops are bound to blocks and threads, by schedules of tensor expressions.

The programs are those by which an often copied text explains `bind`. Where the text binds what
blocks cannot do together, the call is refused, and the kernels that do it follow.
"""

from __future__ import annotations

from on_devices import Example, main, numbers

from loopsmith import te


def line(n: int) -> tuple[te.Tensor, te.Tensor]:
    """All numbers of a line, added up."""
    a = te.placeholder((n,), name="A")
    k = te.reduce_axis((0, n), name="k")
    return a, te.compute((1,), lambda i: te.sum(a[k], axis=k), name="B")


def rows(n: int) -> tuple[te.Tensor, te.Tensor]:
    """Each row of a matrix, added up."""
    a = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    return a, te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")


def finished(s: te.Schedule, a: te.Tensor, b: te.Tensor) -> Example:
    """The steps of TensorIR that the decisions amount to, with operands."""
    operand = numbers(*(int(extent) for extent in a.shape))
    return Example(
        s.to_tir([a, b]), [operand], operand.sum(-1, keepdims=operand.ndim == 1), tolerance=1e-3
    )


def parts_in_threads(n: int = 1024) -> Example:
    """A thread adds up each 32nd number, then the threads add up what they have.

    `rfactor` makes the parts a tensor of their own, which is computed in the thread that uses it.
    """
    a, b = line(n)
    s = te.create_schedule(b.op)
    _, inner = s[b].split(b.op.reduce_axis[0], factor=32)
    parts = s.rfactor(b, inner)
    s[b].bind(s[b].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    s[parts].compute_at(s[b], s[b].op.reduce_axis[0])
    return finished(s, a, b)


def parts_first(n: int = 1024) -> Example:
    """The same parts in memory of the device: one kernel makes them, another one adds them up."""
    a, b = line(n)
    s = te.create_schedule(b.op)
    _, inner = s[b].split(b.op.reduce_axis[0], factor=32)
    parts = s.rfactor(b, inner)
    s[parts].compute_root()
    s[parts].bind(s[parts].op.axis[0], te.thread_axis("threadIdx.x"))
    s[b].bind(s[b].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    return finished(s, a, b)


def stored_by_one_thread(n: int = 1024) -> Example:
    """As `parts_in_threads`; a predicate says that the first thread stores the sum.

    Without it, one thread does so as well: `set_store_predicate` may not leave elements out.
    """
    a, b = line(n)
    s = te.create_schedule(b.op)
    _, inner = s[b].split(b.op.reduce_axis[0], factor=32)
    parts = s.rfactor(b, inner)
    thread = te.thread_axis("threadIdx.x")
    s[b].bind(s[b].op.reduce_axis[0], thread)
    s[parts].compute_at(s[b], s[b].op.reduce_axis[0])
    s[b].set_store_predicate(thread.var.equal(0))
    return finished(s, a, b)


def over_blocks(n: int = 1024) -> tuple[te.Schedule, list[te.Tensor]]:
    """A sum over blocks and threads at once, which is refused.

    Blocks do not wait for each other, so that none of them has the sum of all.
    """
    a, b = line(n)
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.reduce_axis[0], factor=32)
    s[b].bind(outer, te.thread_axis("blockIdx.x"))
    s[b].bind(inner, te.thread_axis("threadIdx.x"))
    return s, [a, b]


def blocks_in_two_kernels(n: int = 1024) -> Example:
    """What `over_blocks` wants: the sum of each block, and the sum of these."""
    a, b = line(n)
    s = te.create_schedule(b.op)
    outer, _ = s[b].split(b.op.reduce_axis[0], factor=128)
    parts = s.rfactor(b, outer)
    s[parts].bind(s[parts].op.axis[0], te.thread_axis("blockIdx.x"))
    s[parts].bind(s[parts].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    s[b].bind(s[b].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    return finished(s, a, b)


def rows_in_blocks(n: int = 256) -> Example:
    """A block for each row, which is copied into memory that its threads share."""
    a, b = rows(n)
    s = te.create_schedule(b.op)
    copy = s.cache_read(a, "shared", [b])
    thread = te.thread_axis("threadIdx.x")
    s[b].bind(s[b].op.axis[0], te.thread_axis("blockIdx.x"))
    _, inner = s[b].split(s[b].op.reduce_axis[0], factor=64)
    s[b].bind(inner, thread)
    s[copy].compute_at(s[b], s[b].op.axis[0])
    _, inner = s[copy].split(s[copy].op.axis[1], factor=64)
    s[copy].bind(inner, thread)
    return finished(s, a, b)


def rows_in_threads(n: int = 256) -> Example:
    """A thread for each row, whose sum is memory of the thread until it is whole."""
    a, b = rows(n)
    s = te.create_schedule(b.op)
    total = s.cache_write(b, "local")
    blocks, threads = s[b].split(b.op.axis[0], factor=64)
    s[b].bind(blocks, te.thread_axis("blockIdx.x"))
    s[b].bind(threads, te.thread_axis("threadIdx.x"))
    s[total].compute_at(s[b], threads)
    return finished(s, a, b)


EXAMPLES = [
    parts_in_threads,
    parts_first,
    stored_by_one_thread,
    blocks_in_two_kernels,
    rows_in_blocks,
    rows_in_threads,
]

if __name__ == "__main__":
    main(EXAMPLES)
