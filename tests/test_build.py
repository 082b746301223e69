# SPDX-License-Identifier: Apache-2.0
"""Whole programs against NumPy: from tensor expressions to what the compiled code computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T  # noqa: N812

FLOATS = ["float16", "float32", "float64"]
INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def random(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.uniform(-1, 1, shape).astype(dtype)
    return generator.integers(0, 100, shape).astype(dtype)


def run(tensors, *inputs: np.ndarray, shape, dtype: str = "float32", **options) -> np.ndarray:
    out = np.zeros(shape, dtype)
    ls.build(tensors, **options)(*inputs, out)
    return out


# ---- Numerics ----


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_elementwise_in_each_type(dtype: str):
    a = te.placeholder((37,), dtype, name="A")
    b = te.placeholder((37,), dtype, name="B")
    c = te.compute((37,), lambda i: a[i] * b[i] + a[i], name="C")
    x, y = random(37, dtype=dtype), random(37, dtype=dtype, seed=1)
    out = run([a, b, c], x, y, shape=37, dtype=dtype, contract=False)
    np.testing.assert_array_equal(out, x * y + x)


def test_truth_values():
    a = te.placeholder((19,), "float32", name="A")
    b = te.compute((19,), lambda i: a[i] > 0, name="B")
    c = te.compute((19,), lambda i: te.select(b[i], a[i], 0.0), name="C")
    x, positive, out = random(19), np.zeros(19, bool), np.zeros(19, "float32")
    ls.build([a, b, c])(x, positive, out)
    np.testing.assert_array_equal(positive, x > 0)
    np.testing.assert_array_equal(out, np.where(x > 0, x, 0))


@pytest.mark.parametrize("n", [1, 7, 16, 100, 4099])
def test_one_build_serves_all_sizes(n: int):
    size = te.size_var("n")
    a = te.placeholder((size,), "float32", name="A")
    b = te.compute((size,), lambda i: a[i] * 2 - 1, name="B")
    x = random(n)
    np.testing.assert_allclose(run([a, b], x, shape=n), x * 2 - 1, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_reductions_of_rows(name: str, dtype: str):
    a = te.placeholder((23, 51), dtype, name="A")
    k = te.reduce_axis((0, 51), name="k")
    b = te.compute((23,), lambda i: getattr(te, name)(a[i, k], axis=k), name="B")
    x = random(23, 51, dtype=dtype)
    expected = getattr(np, name)(x.astype("float64" if dtype == "float32" else dtype), axis=1)
    out = run([a, b], x, shape=23, dtype=dtype)
    np.testing.assert_allclose(out, expected.astype(dtype), rtol=1e-4, atol=1e-5)


def test_a_matmul():
    a = te.placeholder((65, 130), "float32", name="A")
    b = te.placeholder((130, 33), "float32", name="B")
    k = te.reduce_axis((0, 130), name="k")
    c = te.compute((65, 33), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    x, y = random(65, 130), random(130, 33, seed=1)
    np.testing.assert_allclose(
        run([a, b, c], x, y, shape=(65, 33)), x.astype("d") @ y, rtol=1e-4, atol=1e-5
    )


def test_a_matmul_of_symbolic_sizes():
    n, m, p = te.size_var("n"), te.size_var("m"), te.size_var("p")
    a = te.placeholder((n, p), "float64", name="A")
    b = te.placeholder((p, m), "float64", name="B")
    k = te.reduce_axis((0, p), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    module = ls.build([a, b, c])
    for sizes in [(1, 1, 1), (5, 17, 3), (64, 64, 64), (31, 100, 257)]:
        x = random(sizes[0], sizes[2], dtype="float64")
        y = random(sizes[2], sizes[1], dtype="float64", seed=1)
        out = np.zeros((sizes[0], sizes[1]))
        module(x, y, out)
        np.testing.assert_allclose(out, x @ y, rtol=1e-10, atol=1e-12)


def softmax(rows, columns):
    a = te.placeholder((rows, columns), "float32", name="A")
    k = te.reduce_axis((0, columns), name="k")
    top = te.compute((rows,), lambda i: te.max(a[i, k], axis=k), name="top")
    e = te.compute((rows, columns), lambda i, j: te.exp(a[i, j] - top[i]), name="e")
    k2 = te.reduce_axis((0, columns), name="k2")
    total = te.compute((rows,), lambda i: te.sum(e[i, k2], axis=k2), name="total")
    return [a, te.compute((rows, columns), lambda i, j: e[i, j] / total[i], name="B")]


def test_softmax():
    x = random(33, 101) * 10
    e = np.exp(x.astype("d") - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        run(softmax(33, 101), x, shape=x.shape), e / e.sum(axis=1, keepdims=True), rtol=1e-5
    )


def test_a_convolution():
    n, c, h, w, o, f = 2, 3, 12, 13, 5, 3
    a = te.placeholder((n, c, h, w), "float32", name="A")
    b = te.placeholder((o, c, f, f), "float32", name="W")
    padded = te.compute(
        (n, c, h + 2, w + 2),
        lambda b, c, y, x: te.if_then_else(
            te.all(y >= 1, y < h + 1, x >= 1, x < w + 1), a[b, c, y - 1, x - 1], 0.0
        ),
        name="padded",
    )
    rc, ry, rx = te.reduce_axis((0, c)), te.reduce_axis((0, f)), te.reduce_axis((0, f))
    out = te.compute(
        (n, o, h, w),
        lambda i, k, y, x: te.sum(padded[i, rc, y + ry, x + rx] * b[k, rc, ry, rx],
                                  axis=[rc, ry, rx]),
        name="B",
    )  # fmt: skip
    x, weights = random(n, c, h, w), random(o, c, f, f, seed=1)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x.astype("d"), ((0, 0), (0, 0), (1, 1), (1, 1))), (f, f), axis=(2, 3)
    )
    expected = np.einsum("ncyxuv,ocuv->noyx", windows, weights)
    np.testing.assert_allclose(
        run([a, b, out], x, weights, shape=(n, o, h, w)), expected, rtol=1e-4, atol=1e-5
    )


def test_argmax_by_a_reducer_of_tuples():
    def combine(x, y):
        is_first = te.any(x[1] > y[1], te.all(x[1] == y[1], x[0] <= y[0]))
        return te.select(is_first, x[0], y[0]), te.select(is_first, x[1], y[1])

    argmax = te.comm_reducer(
        combine, lambda i, v: (te.const(2**31 - 1, i), te.min_value(v)), name="argmax"
    )
    a = te.placeholder((9, 40), "float32", name="A")
    k = te.reduce_axis((0, 40), name="k")
    where, top = te.compute((9,), lambda i: argmax((k.var, a[i, k]), axis=k), name="B")
    x, positions, values = random(9, 40), np.zeros(9, "int32"), np.zeros(9, "float32")
    ls.build([a, where, top])(x, positions, values)
    np.testing.assert_array_equal(positions, x.argmax(axis=1))
    np.testing.assert_array_equal(values, x.max(axis=1))


def test_a_scan():
    m, n = 20, 7
    a = te.placeholder((m, n), "float32", name="A")
    state = te.placeholder((m, n), "float32", name="state")
    init = te.compute((1, n), lambda _, i: a[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + a[t, i], name="update")
    b = te.scan(init, update, state, inputs=[a], name="B")
    x = random(m, n)
    np.testing.assert_allclose(
        run([a, b], x, shape=(m, n)), np.cumsum(x, axis=0), rtol=1e-5, atol=1e-6
    )


def test_an_extern_that_reverses():
    n = 13
    a = te.placeholder((n,), "float32", name="A")

    def reverse(inputs, outputs):
        i = tir.Var("i", "int32")
        store = tir.BufferStore(buffer=outputs[0], value=inputs[0][n - 1 - i], indices=[i])
        return tir.For(loop_var=i, min=0, extent=n, kind="serial", body=store)

    b = te.extern((n,), [a], reverse, name="B")
    c = te.compute((n,), lambda i: b[i] * 2, name="C")
    x = random(n)
    np.testing.assert_array_equal(run([a, c], x, shape=n), 2 * x[::-1])


def test_rows_that_depend_on_a_reduction_over_columns():
    a = te.placeholder((30, 20), "float32", name="A")
    k = te.reduce_axis((0, 30), name="k")
    mean = te.compute((20,), lambda j: te.sum(a[k, j], axis=k), name="sums")
    b = te.compute((30, 20), lambda i, j: a[i, j] - mean[j] / 30, name="B")
    x = random(30, 20)
    np.testing.assert_allclose(run([a, b], x, shape=x.shape), x - x.mean(axis=0), atol=1e-6)


def test_a_window_that_reaches_over_the_edge_reads_what_the_program_says():
    n = te.size_var("n")
    a = te.placeholder((n,), "float32", name="A")

    def neighbours(i):
        before = te.if_then_else(i > 0, a[i - 1], 0.0)
        return before + te.if_then_else(i < n - 1, a[i + 1], 0.0)

    b = te.compute((n,), neighbours, name="B")
    x = random(101)
    out = run([a, b], x, shape=101)
    padded = np.pad(x, 1)
    np.testing.assert_array_equal(out, padded[:-2] + padded[2:])


def test_gather_through_an_index_array():
    a = te.placeholder((50,), "float32", name="A")
    indices = te.placeholder((33,), "int32", name="I")
    b = te.compute((33,), lambda i: a[indices[i]], name="B")
    x, where = random(50), np.random.default_rng(0).integers(0, 50, 33).astype("int32")
    np.testing.assert_array_equal(run([a, indices, b], x, where, shape=33), x[where])


# ---- Options ----


def test_the_default_schedule_can_be_left_out():
    x = random(33, 101)
    plain = run(softmax(33, 101), x, shape=x.shape, default_schedule=False)
    np.testing.assert_allclose(run(softmax(33, 101), x, shape=x.shape), plain, rtol=1e-5)


def test_contraction_is_a_choice():
    a = te.placeholder((64,), "float32", name="A")
    b = te.compute((64,), lambda i: a[i] * a[i] - 1, name="B")
    assert "vfm" in ls.build([a, b]).inspect().asm
    assert "vfm" not in ls.build([a, b], contract=False).inspect().asm


def test_fast_math_is_off_and_a_choice_by_name():
    a = te.placeholder((64,), "float32", name="A")
    k = te.reduce_axis((0, 64), name="k")
    b = te.compute((1,), lambda i: te.sum(a[k], axis=k), name="B")
    assert " reassoc " not in ls.build([a, b]).inspect().llvm
    assert " reassoc " in ls.build([a, b], fast_math=["reassociate"]).inspect().llvm
    assert " fast " in ls.build([a, b], fast_math=True).inspect().llvm
    assert " fast " in ls.build([a, b], fast_math="all").inspect().llvm
    with pytest.raises(ls.UserError) as caught:
        ls.build([a, b], fast_math="sloppy")
    assert str(caught.value).startswith("fast_math: there is no 'sloppy'")


def test_threads_belong_to_the_module():
    module = ls.build(softmax(33, 101), num_threads=2)
    assert module.num_threads == 2
    with pytest.raises(ls.CallError, match="num_threads is -3, negative"):
        ls.build(softmax(33, 101), num_threads=-3)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"num_threads": 2.5}, "build: num_threads is 2.5, not an integer of 32 bits"),
        ({"num_threads": 2**40}, "build: num_threads is 1099511627776, not an integer of 32 bits"),
        ({"affinity": "01"}, "build: affinity is '01', not a list"),
        ({"affinity": 1}, "build: affinity is 1, not a list"),
        ({"affinity": [0.5]}, "build: affinity is 0.5, not an integer of 32 bits"),
        ({"fast_math": 3}, "build: fast_math is 3, not a list"),
        ({"fast_math": ["no_nans", 1]}, "build: fast_math has 1, not a name"),
        ({"dump": 5}, "build: dump is 5, not a list"),
    ],
)
def test_options_of_other_types_are_named(options: dict[str, Any], problem: str):
    with pytest.raises(TypeError) as error:
        ls.build(softmax(4, 4), **options)
    assert error.value.problem == problem


def test_a_function_is_named_by_the_call():
    module = ls.build(softmax(4, 4), name="softmax")
    assert module.names == ["softmax"]
    with pytest.raises(ls.CallError) as caught:
        module["soft"]
    assert str(caught.value) == (
        "module: has no function soft, only softmax\n  hint: use one of its functions' names"
    )


def test_a_target_says_what_its_processor_can_do():
    zen = ls.Target("llvm -mcpu=znver4")
    assert zen.has_features("+avx512f,+avx512vnni") and zen.vector_bits == 512
    haswell = ls.Target("llvm -mcpu=haswell")
    assert not haswell.has_features("+avx512f") and haswell.has_features("+avx2,+fma")
    assert haswell.vector_bits == 256
    assert ls.Target("llvm -mcpu=haswell -vector-width=128").vector_bits == 128


def test_targets_are_values():
    target = ls.Target("llvm -mcpu=native")
    assert target == ls.Target("llvm  -mcpu=native") and hash(target) == hash(
        ls.Target(str(target))
    )
    assert target != ls.Target("llvm -mcpu=skylake")
    assert (target.kind, target.options) == ("llvm", {"mcpu": "native"})
    assert repr(target) == "loopsmith.Target('llvm -mcpu=native')"
    x = random(4, 4)
    np.testing.assert_allclose(
        run(softmax(4, 4), x, shape=(4, 4), target=target).sum(), 4, rtol=1e-5
    )


def test_what_is_no_program_is_refused():
    with pytest.raises(ls.TypeMismatch) as caught:
        ls.build("matmul")
    assert str(caught.value) == (
        "build: a str is no program\n"
        "  hint: pass a PrimFunc, an IRModule, a Schedule or a list of tensors"
    )


# ---- Looking inside ----


def test_a_module_shows_what_it_was_made_from():
    sources = ls.build(softmax(33, 101)).inspect()
    assert "def main(" in sources.ir
    assert "define" in sources.llvm
    assert "ret" in sources.asm
    assert sources.assembly == sources.asm
    assert repr(sources) == "<loopsmith.Sources of main>"


def test_lower_gives_a_function_that_prints():
    func = te.create_prim_func(softmax(33, 101))
    lowered = ls.lower(func)
    assert isinstance(lowered, type(func))
    assert "block" not in lowered.script()
    assert ls.lower(func, name="softmax").script() != lowered.script()


def test_passes_are_dumped_and_timed(capsys: pytest.CaptureFixture[str]):
    timings: dict[str, float] = {}
    ls.lower(softmax(4, 4), dump="simplify", timings=timings)
    printed = capsys.readouterr().err
    assert "# simplify, " in printed and "def main(" in printed
    assert "# flatten_buffers" not in printed
    assert "flatten_buffers" in timings and all(seconds >= 0 for seconds in timings.values())

    ls.lower(softmax(4, 4), dump=["flatten_buffers", "simplify"])
    printed = capsys.readouterr().err
    assert "# simplify, " in printed and "# flatten_buffers, " in printed

    records: list[ls.PassRecord] = []
    ls.build(softmax(4, 4), dump=records.append)
    assert [record.name for record in records][:1] == [next(iter(timings))]
    assert all(record.seconds >= 0 for record in records)
    assert capsys.readouterr().err == ""

    with pytest.raises(ls.UserError) as caught:
        ls.lower(softmax(4, 4), dump="simplfy")
    assert str(caught.value).startswith("dump: there is no pass 'simplfy'\n  hint: the passes are ")


def test_an_error_in_an_observer_reaches_the_caller():
    def fail(record: ls.PassRecord) -> None:
        raise KeyError(record.name)

    with pytest.raises(KeyError):
        ls.build(softmax(4, 4), dump=fail)


@pytest.mark.parametrize("make", [ls.lower, ls.build])
def test_programs_that_mean_nothing_are_refused(make: Callable[..., object]):
    alone = ls.from_source("""@T.prim_func
def f(A: T.Buffer((8,))):
    with T.block("b", no_realize=True):
        A[0] = 1.0
""")
    with pytest.raises(ls.LowerError, match="block b stands alone: nothing says for which values"):
        make(alone)
    i = tir.var("i")
    loop = tir.For(loop_var=i, min=i, extent=8, body=tir.Evaluate(0))
    with pytest.raises(ls.UserError, match="undefined variable i"):
        make(tir.PrimFunc(params=[], body=loop))


def test_blocks_of_thousands_of_instructions_compile():
    @T.prim_func
    def func(
        A: T.Buffer((700,), "int32"),
        K: T.Buffer((700,), "int32"),
        B: T.Buffer((8,), "int32"),
        C: T.Buffer((8,), "int32"),
    ):
        for r in range(8):
            for i in T.unroll(700):
                B[K[i]] = B[K[i]] + A[i]
                C[K[i]] = C[K[i]] + A[i] * B[r]

    rng = np.random.default_rng(1)
    a, k = (rng.integers(0, 8, 700, "int32") for _ in range(2))
    b, c = np.zeros(8, "int32"), np.zeros(8, "int32")
    ls.build(func)(a, k, b, c)
    expected_b, expected_c = np.zeros(8, "int32"), np.zeros(8, "int32")
    with np.errstate(over="ignore"):
        for r in range(8):
            for value, place in zip(a, k, strict=True):
                expected_b[place] += value
                expected_c[place] += value * expected_b[r]
    np.testing.assert_array_equal(b, expected_b)
    np.testing.assert_array_equal(c, expected_c)
