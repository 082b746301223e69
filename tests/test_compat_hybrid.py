# SPDX-License-Identifier: Apache-2.0
"""Functions of loops under tvm.te.hybrid."""

# mypy: ignore-errors
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls

SCALE = 3


def test_an_outer_product_is_loops(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def outer_product(a, b):
        c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
        for i in range(a.shape[0]):
            for j in parallel(b.shape[0]):
                c[i, j] = a[i] * b[j] * SCALE
        return c

    a, b = tvm.te.placeholder((5,), name="a"), tvm.te.placeholder((7,), name="b")
    c = outer_product(a, b)
    assert c.shape == (5, 7) and c.op.name == "outer_product"
    x, y = np.arange(5, dtype="float32"), np.arange(7, dtype="float32")
    np.testing.assert_allclose(ls.build([a, b, c])(x, y), np.outer(x, y) * 3)
    # Without tensors it is a function of Python.
    np.testing.assert_allclose(outer_product(x, y), np.outer(x, y) * 3)


def test_memory_conditions_and_numbers_may_be_used(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def running(a, window):
        total = output_tensor(a.shape, "float32")
        largest = output_tensor((1,), "float32")
        parts = allocate((a.shape[0],), "float32", "local")
        for i in serial(a.shape[0]):
            parts[i] = 0.0
            for k in const_range(window):
                if i - k >= 0:
                    parts[i] = parts[i] + a[i - k]
        largest[0] = parts[0]
        for i in range(len(a)):
            total[i] = sqrt(max(parts[i], float32(0)))
            if parts[i] > largest[0]:
                largest[0] = parts[i]
            else:
                pass
        return total, largest

    a = tvm.te.placeholder((6,), name="a")
    total, largest = running(a, 2)
    x = np.array([1, 4, -2, 3, 0, 5], "float32")
    outputs = [np.zeros(6, "float32"), np.zeros(1, "float32")]
    ls.build([a, total, largest])(x, *outputs)
    sums = x + np.insert(x, 0, 0)[:-1]
    np.testing.assert_allclose(outputs[0], np.sqrt(sums.clip(0)), rtol=1e-6)
    assert outputs[1][0] == sums.max()


def test_sizes_may_be_variables(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def doubled(a):
        b = output_tensor((a.shape[0], 2), "float32")
        for i in range(a.shape[0]):
            for j in unroll(2):
                b[i, j] = a[i] * (j + 1)
        return b

    n = tvm.te.size_var("n")
    a = tvm.te.placeholder((n,), name="a")
    f = ls.build([a, doubled(a)])
    for count in (1, 5):
        x = np.arange(count, dtype="float32")
        np.testing.assert_allclose(f(x), np.stack([x, x * 2], -1))


def test_wrong_calls_are_refused(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def nothing(a):
        for i in range(a.shape[0]):
            a[i] = 0.0

    @tvm.te.hybrid.script
    def kept(a):
        b = output_tensor((3,), "float32")
        b[0] = 0.0

    a = tvm.te.placeholder((3,), name="a")
    with pytest.raises(ValueError, match="nothing: a is an input, which is only read: store into"):
        nothing(a)
    with pytest.raises(ValueError, match="kept: a function returns all output tensors that it"):
        kept(a)
    with pytest.raises(ValueError, match="nothing: 2 arguments are given, 1 are taken"):
        nothing(a, a)
    with pytest.raises(
        AttributeError, match=r"tvm\.te\.hybrid\.parse_python is not provided: script reads"
    ):
        tvm.te.hybrid.parse_python
    with pytest.raises(ValueError, match="HybridModule: there is no script"):
        tvm.te.hybrid.HybridModule()(a)

    @tvm.te.hybrid.script
    def open_range(a):
        b = output_tensor((3,), "float32")
        for i in range(3):
            for k in const_range(i):
                b[i] = a[k]
        return b

    with pytest.raises(ValueError, match="open_range: the ends of const_range are constants"):
        open_range(a)

    @tvm.te.hybrid.script
    def open_place(a, numbers):
        b = output_tensor((3,), "float32")
        for i in range(3):
            b[i] = a[i] * numbers[i]
        return b

    with pytest.raises(ValueError, match="is read at a place that is not known: loop over a list"):
        open_place(a, [1, 2, 3])


def test_lists_are_known_while_a_function_is_read(tvm: Any) -> None:
    offsets = [[1, 2], [3, SCALE]]

    @tvm.te.hybrid.script
    def weighted(inputs, weights):
        out = output_tensor((4,), inputs[0].dtype)
        count = len(inputs)
        for i in range(4):
            total = 0.0
            for j in const_range(count):
                total += inputs[j][i] * weights[j, 1] + offsets[1][j]
            out[i] = total
        return out

    weights = [[0, 2], [0, 5]]
    inputs = [tvm.te.placeholder((4,), name=f"t{i}") for i in range(2)]
    out = weighted(inputs, tvm.runtime.convert(weights))
    assert len(out.op.inputs) == 2
    x, y = np.arange(4, dtype="float32"), np.ones(4, "float32")
    np.testing.assert_allclose(ls.build([*inputs, out])(x, y), x * 2 + 3 + y * 5 + SCALE)
    np.testing.assert_allclose(
        weighted(np.stack([x, y]), np.array(weights)), x * 2 + 3 + y * 5 + SCALE
    )


def test_a_branch_that_is_known_is_taken_while_a_function_is_read(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def added(a, numbers):
        b = output_tensor((2,), a.dtype)
        count = len(numbers)
        for i in const_range(count * 2):
            if i < count and -count < 0:
                b[i] = a[i] + numbers[i]
            else:
                b[i - count] = b[i - count] * numbers[i - count]
        return b

    a = tvm.te.placeholder((2,), "int32", name="a")
    b = added(a, [4, 5])
    assert "if " not in ls.te.create_prim_func([a, b]).script()
    x = np.array([1, 2], "int32")
    np.testing.assert_array_equal(ls.build([a, b])(x), [20, 35])


def test_the_target_says_how_many_threads_a_block_has(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def doubled(a):
        b = output_tensor(a.shape, a.dtype)
        n = a.shape[0]
        m = max_num_threads(False)
        for i in bind("blockIdx.x", ceil_div(n, m)):
            for j in bind("threadIdx.x", m):
                if i * m + j < n:
                    b[i * m + j] = a[i * m + j] + a[i * m + j]
        return b

    a = tvm.te.placeholder((10000,), name="a")
    with pytest.raises(ValueError, match="there is no current target: write"):
        doubled(a)
    with tvm.target.Target("cuda"):
        b = doubled(a)
    assert "T.thread_binding(1024" in ls.te.create_prim_func([a, b]).script()


def test_a_scheduled_function_is_a_script(tvm: Any, tmp_path: Any) -> None:
    @tvm.te.hybrid.script
    def shifted(a):
        b = output_tensor((a.shape[0] - 1,), a.dtype)
        for i in range(a.shape[0] - 1):
            b[i] = a[i + 1]
        return b

    a = tvm.te.placeholder((tvm.te.size_var("n"),), name="a")
    b = shifted(a)
    made = tvm.te.hybrid.build(tvm.te.create_schedule(b.op), [a], [b], "moved")
    made.save(str(tmp_path / "moved.py"))
    known = tvm.te.hybrid.HybridModule()
    known.load(str(tmp_path / "moved.py"))
    assert known.name == "moved" and known.get_source() == made.get_source()
    x = np.arange(5, dtype="float32")
    np.testing.assert_array_equal(known(x), x[1:])
    out = np.zeros(4, "float32")
    ls.build([a, known(a)])(x, out)
    np.testing.assert_array_equal(out, x[1:])


def test_a_function_of_loops_runs_on_arrays(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def scaled(a, n):
        b = output_tensor((4,), "float32")
        kept = allocate((4,), "float32")
        for i in parallel(4):
            kept[i] = sqrt(a[i])
        for i in range(ceil_div(n, 2)):
            b[i] = kept[i] * SCALE if likely(i < n) else sigmoid(a[i])
        b[3] = popcount(np.int32(-1)) + div(-7, 2)
        return b

    given = np.array([1, 4, 9, 16], "float32")
    np.testing.assert_allclose(scaled(given, 6), [3, 6, 9, 29])


def test_loops_of_a_function_are_scheduled(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def outer_product(a, b):
        c = output_tensor((16, 8), a.dtype)
        for i in range(16):
            for j in range(8):
                c[i, j] = a[i] * b[j]
        return c

    a, b = tvm.te.placeholder((16,), name="a"), tvm.te.placeholder((8,), name="b")
    c = outer_product(a, b)
    s = tvm.te.create_schedule(c.op)
    i, j = c.op.axis
    outer, inner = s[c].split(i, 4)
    s[c].reorder(j, outer, inner)
    s[c].parallel(j)
    body = tvm.lower(s, [a, b, c])["main"].body
    while not isinstance(body, tvm.tir.For):
        body = body.body
    assert [body.loop_var.name, body.body.loop_var.name] == ["j", "i.outer"]
    x, y = np.arange(16, dtype="float32"), np.arange(8, dtype="float32")
    out = tvm.nd.array(np.zeros((16, 8), "float32"))
    tvm.build(s, [a, b, c], "llvm")(tvm.nd.array(x), tvm.nd.array(y), out)
    np.testing.assert_array_equal(out.numpy(), np.outer(x, y))


def test_a_function_may_call_another_one(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def scaled(x, factor):
        y = output_tensor(x.shape, x.dtype)
        total = allocate((1,), x.dtype)
        total[0] = 0.0
        for i in range(x.shape[0]):
            y[i] = x[i] * factor
            total[0] = total[0] + x[i]
        z = output_tensor((1,), x.dtype)
        z[0] = total[0]
        return y, z

    @tvm.te.hybrid.script
    def sums(a):
        total = allocate(a.shape, a.dtype)
        for i in range(a.shape[0]):
            total[i] = a[i] + 1.0
        b, c = scaled(total, 3)
        more, d = scaled(b, 2)
        out = output_tensor(a.shape, a.dtype)
        for i in range(more.shape[0]):
            out[i] = more[i] + c[0]
        return out, d

    n = tvm.te.size_var("n")
    for size in (4, n):
        a = tvm.te.placeholder((size,), name="a")
        out, d = sums(a)
        assert out.shape[0] is size or int(out.shape[0]) == 4
        x, first, second = (
            np.arange(4, dtype="float32"),
            np.zeros(4, "float32"),
            np.zeros(1, "float32"),
        )
        ls.build([a, out, d])(x, first, second)
        np.testing.assert_allclose(first, (x + 1) * 6 + (x + 1).sum())
        np.testing.assert_allclose(second, [3 * (x + 1).sum()])
        np.testing.assert_allclose(sums(x)[0], first)

    @tvm.te.hybrid.script
    def one(a):
        b = scaled(a, 2)
        return b  # noqa: RET504

    with pytest.raises(ValueError, match="scaled: 2 tensors are returned, 1 are taken"):
        one(a)
