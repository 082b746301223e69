# SPDX-License-Identifier: Apache-2.0
"""The reference interpreter, against NumPy and against compiled code."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopsmith as ls
from loopsmith import te, tir

FLOATS = ["float16", "float32", "float64"]
INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def random(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.uniform(-1, 1, shape).astype(dtype)
    return generator.integers(0, 100, shape).astype(dtype)


def loop(name: str, extent: object, body: object, kind: str = "serial") -> object:
    i = tir.Var(name, "int32")
    return tir.For(loop_var=i, min=0, extent=extent, kind=kind, body=body(i))


def scale(dtype: str = "float32", kind: str = "serial", at: object = lambda i: i) -> tir.PrimFunc:
    """Return B[at(i)] = A[i] * 2 for four elements."""
    a, b = tir.decl_buffer((4,), dtype, "A"), tir.decl_buffer((4,), dtype, "B")
    body = loop("i", 4, lambda i: tir.BufferStore(buffer=b, value=a[i] * 2, indices=[at(i)]), kind)
    params = [tir.Var("a", "handle"), tir.Var("b", "handle")]
    return tir.PrimFunc(params=params, buffer_map=[a, b], body=body)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_runs_in_each_type_as_numpy_does(dtype: str):
    a = te.placeholder((7,), dtype, name="A")
    b = te.placeholder((7,), dtype, name="B")
    c = te.compute((7,), lambda i: a[i] * b[i] + a[i], name="C")
    x, y, out = random(7, dtype=dtype), random(7, dtype=dtype, seed=1), np.zeros(7, dtype)
    ls.interp.run(te.create_prim_func([a, b, c]), x, y, out, overflow="wrap")
    np.testing.assert_array_equal(out, x * y + x)


def test_takes_arrays_of_our_own_and_strided_ones():
    x, out = ls.array([1.0, 2, 3, 4], "float32"), ls.zeros((4,), "float32")
    ls.interp.run(scale(), x, out)
    assert out.numpy().tolist() == [2, 4, 6, 8]
    with pytest.raises(ls.CallError, match="A has stride 2 in dimension 0, not 1"):
        ls.interp.run(scale(), np.zeros(8, "float32")[::2], out)
    with pytest.raises(ls.CallError, match="A is an array of float64, not float32"):
        ls.interp.run(scale(), np.zeros(4), out)


def test_reports_an_index_out_of_bounds():
    x, out = np.zeros(4, "float32"), np.zeros(4, "float32")
    with pytest.raises(
        ls.InterpError, match=r"index 4 of dimension 0 is outside \[0, 4\)"
    ) as error:
        ls.interp.run(scale(at=lambda i: i + 1), x, out)
    assert error.value.to_dict()["code"] == "index_in_bounds"


def test_reports_a_race():
    x, out = np.zeros(4, "float32"), np.zeros(4, "float32")
    func = scale(kind="parallel", at=lambda i: tir.floordiv(i, 2))
    with pytest.raises(ls.InterpError, match=r"race on B\[0\]: i = 0 writes it, i = 1 writes it"):
        ls.interp.run(func, x, out)
    ls.interp.run(func, x, out, check_races=False)


def test_reports_an_overflow_unless_it_may_wrap():
    x, out = np.full(4, 2**31 - 1, "int32"), np.zeros(4, "int32")
    with pytest.raises(ls.InterpError, match=r"2147483647 \* 2 overflows int32"):
        ls.interp.run(scale("int32"), x, out)
    ls.interp.run(scale("int32"), x, out, overflow="wrap")
    assert out.tolist() == [-2] * 4


def test_stops_at_the_limit_of_statements():
    x, out = np.zeros(4, "float32"), np.zeros(4, "float32")
    with pytest.raises(ls.InterpError, match="runs more than 3 statements"):
        ls.interp.run(scale(), x, out, max_statements=3)


def test_ring_mode_computes_in_the_field():
    out = np.zeros(4, "uint64")
    ls.interp.run(scale(), ls.interp.to_ring([1, -1, 0.5, 3]), out, mode="ring")
    np.testing.assert_array_equal(out, ls.interp.to_ring([2, -2, 1, 6]))


def test_options_are_checked():
    with pytest.raises(ls.UserError, match="mode is 'exact'"):
        ls.interp.run(scale(), mode="exact")
    with pytest.raises(ls.TypeMismatch, match="run: a int is no program"):
        ls.interp.run(3)
    with pytest.raises(ls.TypeMismatch, match="assert_same: a PrimFunc and a IRModule"):
        ls.assert_same(scale(), tir.IRModule(names=[], functions=[]))


def test_assert_same_passes_over_the_order_of_a_sum():
    n = te.size_var("n")
    a = te.placeholder((n,), name="A")
    k = te.reduce_axis((0, n), name="k")
    forwards = te.compute((1,), lambda i: te.sum(a[k], axis=k), name="S")
    backwards = te.compute((1,), lambda i: te.sum(a[n - 1 - k], axis=k), name="S")
    shifted = te.compute((1,), lambda i: te.sum(a[n - 1 - k] + 1e-30, axis=k), name="S")
    first = te.create_prim_func([a, forwards])
    ls.assert_same(first, te.create_prim_func([a, backwards]))
    with pytest.raises(AssertionError, match=r"the programs differ: S\[0\] is .* where n = "):
        ls.assert_same(first, te.create_prim_func([a, shifted]))


def test_assert_same_does_not_say_yes_to_what_it_did_not_run():
    a = te.placeholder((300,), name="A")
    k = te.reduce_axis((0, 300), name="k")
    b = te.compute((1,), lambda i: te.sum(a[k] + 1, axis=k), name="B")
    c = te.compute((1,), lambda i: te.sum(1 + a[k], axis=k), name="B")
    before, after = te.create_prim_func([a, b]), te.create_prim_func([a, c])
    ls.assert_same(before, after)
    with pytest.raises(ls.InterpError, match="undecided: before: main runs more than 100 state"):
        ls.assert_same(before, after, max_statements=100)


# ---- Random programs: the interpreter as they are, lowered, and compiled ----

BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "min": tir.min,
    "max": tir.max,
}
NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def elementwise(name: str, x: te.Tensor, y: te.Tensor):
    return lambda *i: BINARY[name](x[i], y[i])


@st.composite
def programs(draw: st.DrawFn):
    """A chain of stages on two inputs; each is a function of tensors, and of arrays."""
    dtype = draw(st.sampled_from(["float32", "float64", "int32", "int8", "uint16"]))
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    stages = draw(
        st.lists(
            st.tuples(st.sampled_from(sorted(BINARY)), st.integers(0, 9), st.integers(0, 9)),
            min_size=1,
            max_size=4,
        )
    )
    return dtype, shape, stages, draw(st.integers(0, 2**16)), draw(st.booleans())


@given(programs())
def test_random_programs_compute_what_numpy_does(program):
    dtype, shape, stages, seed, reduces = program
    tensors = [te.placeholder(shape, dtype, name="A"), te.placeholder(shape, dtype, name="B")]
    arrays = [random(*shape, dtype=dtype, seed=seed), random(*shape, dtype=dtype, seed=seed + 1)]
    for step, (name, first, second) in enumerate(stages):
        x, y = tensors[first % len(tensors)], tensors[second % len(tensors)]
        stage = te.compute(shape, elementwise(name, x, y), name=f"T{step}")
        values = arrays[first % len(arrays)], arrays[second % len(arrays)]
        tensors.append(stage)
        arrays.append(NUMPY[name](*values))
    expected, last = arrays[-1], tensors[-1]
    if reduces:
        k = te.reduce_axis((0, shape[-1]), name="k")
        last = te.compute(shape[:-1], lambda *i: te.max(tensors[-1][(*i, k)], axis=k), name="R")
        expected = expected.max(axis=-1)
    func = te.create_prim_func([*tensors[:2], last])
    results = [np.zeros(expected.shape, dtype) for _ in range(3)]
    ls.interp.run(func, *arrays[:2], results[0], overflow="wrap")
    ls.interp.run(ls.lower(func), *arrays[:2], results[1], overflow="wrap")
    ls.build(func, contract=False)(*arrays[:2], results[2])
    for result in results:
        np.testing.assert_array_equal(result, expected)
    ls.assert_same(func, ls.lower(func))


def test_large_programs_are_compared_by_samples():
    n = 1024
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, factors=[None, 14])
    jo, ji = sch.split(j, factors=[None, 32])
    sch.reorder(io, jo, k, ii, ji)
    sch.cache_read(block, 1, "global")
    sch.parallel(io)
    sch.vectorize(ji)
    before = time.process_time()
    verdict = sch.verify()
    assert time.process_time() - before < 10  # It takes a tenth of that on an idle machine.
    assert verdict.answer == "same"
    assert verdict.reason == "30 elements were sampled"
    r = te.reduce_axis((0, n), name="r")
    wrong = te.compute((n, n), lambda i, j: te.sum(a[i, r] * b[j, r], axis=r), name="C")
    with pytest.raises(AssertionError, match=r"the programs differ: C\[0, 0\] is "):
        ls.assert_same(sch.func, te.create_prim_func([a, b, wrong]))


CUBE_ROOTS = ls.from_source(
    """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = T.call_pure_extern("float32", "cbrt", A[i]) + A[0]
"""
)
TILES = ls.from_source(
    """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i in range(2):
        T.evaluate(T.call_extern("int32", "twice", A.access_ptr("r", offset=i * 16, extent=16),
                                 C.access_ptr("w", offset=i * 16, extent=16), 16))
"""
)
DOUBLED = ls.from_source(
    """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        C[i, j] = A[i, j] * T.float32(2)
"""
)


def test_functions_of_the_host_are_given_by_name():
    x, y = np.array([1, 8, 27, 64], "float32"), np.zeros(4, "float32")
    ls.interp.run(CUBE_ROOTS, x, y, functions={"cbrt": np.cbrt})
    np.testing.assert_allclose(y, [2, 3, 4, 5])
    with pytest.raises(ls.InterpError, match="main calls 'twice', a function of the host") as error:
        ls.interp.run(TILES, random(8, 4), random(8, 4))
    assert 'give it, as functions={"twice": twice}' in str(error.value)


def test_functions_of_the_host_get_arrays():
    kept = []

    def twice(source: np.ndarray, target: np.ndarray, count: int) -> None:
        kept.append(source)
        assert source.shape == (count,)
        assert not source.flags.writeable
        target[:] = source * 2

    x, y = random(8, 4), np.zeros((8, 4), "float32")
    ls.interp.run(TILES, x, y, functions={"twice": twice})
    np.testing.assert_array_equal(y, x * 2)
    np.testing.assert_array_equal(kept[1], x[4:].ravel())


def test_programs_are_compared_by_what_functions_of_the_host_do():
    def scale(factor: float) -> object:
        return {"twice": lambda source, target, _: np.multiply(source, factor, target)}

    with pytest.raises(ls.InterpError, match="calls 'twice'"):
        ls.assert_same(TILES, DOUBLED)
    ls.assert_same(TILES, DOUBLED, functions=scale(2))
    with pytest.raises(AssertionError, match=r"the programs differ: C\[0, 0\] is "):
        ls.assert_same(TILES, DOUBLED, functions=scale(3))
    with pytest.raises(TypeError, match="cbrt returned a str, the program takes its result as"):
        ls.interp.run(CUBE_ROOTS, random(4), random(4), functions={"cbrt": lambda x: "1"})
    sch = tir.Schedule(CUBE_ROOTS)
    sch.split(sch.get_loop("i"), factors=[None, 2])
    assert sch.verify()
    assert sch.verify(functions={"cbrt": np.cbrt})
    with pytest.raises(TypeError, match="functions has 3 under 'cbrt'"):
        sch.verify(functions={"cbrt": 3})
    with pytest.raises(ZeroDivisionError):
        ls.interp.run(CUBE_ROOTS, random(4), random(4), functions={"cbrt": lambda x: x / 0})


def test_an_assumption_about_unwritten_elements_makes_no_difference():
    func = ls.from_source(
        """
@T.prim_func
def main(A: T.Buffer((7,), "float32"), C: T.Buffer((7,), "float32")):
    B = T.alloc_buffer((7,))
    for i in range(7):
        B[i] = A[i] + T.float32(1)
    for i in range(7):
        with T.block("C"):
            vi = T.axis.spatial(7, i)
            C[vi] = B[vi]
"""
    )
    sch = tir.Schedule(func)
    sch.transform_layout("C", ("read", 0), lambda i: [i // 2, i % 2], pad_value=0.0)
    assert sch.verify()
    x, y = random(7), np.zeros(7, "float32")
    ls.build(sch)(x, y)
    np.testing.assert_array_equal(y, x + 1)


@pytest.mark.parametrize("rows, columns", [(3, 0), (0, 3), (3, 4)])
def test_an_empty_reduction_gives_the_identity_in_both(rows: int, columns: int):
    n, m = te.size_var("n"), te.size_var("m")
    a = te.placeholder((n, m), "float32", name="A")
    k = te.reduce_axis((0, m), name="k")
    c = te.compute((n,), lambda i: te.max(a[i, k], axis=k), name="C")
    func = te.create_prim_func([a, c])
    x, expected, found = random(rows, columns), np.ones(rows, "float32"), np.ones(rows, "float32")
    ls.interp.run(func, x, expected)
    ls.build(func)(x, found)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, x.max(axis=1, initial=np.finfo("float32").min))


@pytest.mark.parametrize("name", ["matmul", "softmax"])
def test_a_large_program_is_compared_with_what_lowering_makes_of_it(name: str):
    if name == "matmul":
        a = te.placeholder((1024, 1024), name="A")
        b = te.placeholder((1024, 1024), name="B")
        k = te.reduce_axis((0, 1024), name="k")
        c = te.compute((1024, 1024), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
        func = te.create_prim_func([a, b, c])
    else:
        func = softmax(4096, 4096, lambda x: x)
    begin = time.process_time()
    ls.assert_same(func, ls.lower(func))
    assert time.process_time() - begin < 10  # 0.1 s and 1.3 s on a machine that does nothing else.


def softmax(n: int, m: int, shifted: object) -> tir.PrimFunc:
    """Return exp(x) / sum(exp(x)) of each row; `shifted` may change the numerator."""
    x = te.placeholder((n, m), name="X")
    r = te.reduce_axis((0, m), name="r")
    e = te.compute((n, m), lambda i, j: te.exp(x[i, j]), name="e")
    total = te.compute((n,), lambda i: te.sum(e[i, r], axis=r), name="total")
    y = te.compute((n, m), lambda i, j: shifted(e[i, j]) / total[i], name="Y")
    return te.create_prim_func([x, y])


def test_functions_that_lowering_expands_are_compared_up_to_rounding():
    func = softmax(5, 7, lambda x: x)
    ls.assert_same(func, ls.lower(func))
    with pytest.raises(AssertionError, match=r"Y\[0, 0\] is "):
        ls.assert_same(func, ls.lower(softmax(5, 7, lambda x: x * 1.001)))


def test_a_view_of_a_size_that_is_known_keeps_it():
    func = ls.from_source("""@T.prim_func
def main(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (2, n))
    B = T.match_buffer(b, (2, n))
    for i in range(2):
        with T.block("B"):
            v = T.axis.spatial(2, i)
            T.reads(A[v, 0:n])
            T.writes(B[v, 0:n])
            x = T.match_buffer(A[v, 0:n], (n,), offset_factor=1)
            y = T.match_buffer(B[v, 0:n], (n,), offset_factor=1)
            for j in range(n):
                y[j] = x[j] + T.Cast("float32", n)
""")
    sch = tir.Schedule(func)
    sch.parallel("i")
    assert sch.verify()
    a, b = np.ones((2, 3), "float32"), np.zeros((2, 3), "float32")
    ls.interp.run(func, a, b, 3)
    np.testing.assert_array_equal(b, np.full((2, 3), 4.0))


@pytest.mark.parametrize(
    "bound",
    [
        {"i": "threadIdx.y", "j": "threadIdx.x"},
        {"j": "threadIdx.x", "i": "threadIdx.y"},
        {"i": "threadIdx.y", "j": "threadIdx.x", "m": "threadIdx.x"},
        {"i": "threadIdx.z", "j": "threadIdx.x", "m": "threadIdx.y"},
        {"i": "blockIdx.x", "j": "threadIdx.x"},
    ],
)
def test_what_stands_beside_loops_over_threads_runs_once(bound: dict[str, str]):
    """Each step of a schedule keeps the result, also where one of two nests is bound so far."""
    func = ls.from_source("""@T.prim_func
def main(A: T.Buffer((3, 8), "int32"), B: T.Buffer((3, 8), "int32"), C: T.Buffer((3,), "int32")):
    S = T.alloc_buffer((3, 8), "int32", scope="shared")
    for i in range(3):
        for j in range(8):
            with T.block("S"):
                vi, vj = T.axis.remap("SS", [i, j])
                S[vi, vj] = A[vi, vj] * 2
        for k in range(8):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + S[vi, vk]
        for m in range(8):
            with T.block("B"):
                vi, vm = T.axis.remap("SS", [i, m])
                B[vi, vm] = B[vi, vm] + S[vi, 7 - vm] + C[vi]
""")
    sch = tir.Schedule(func)
    for loop, axis in bound.items():
        sch.bind(loop, axis)
        assert sch.verify()


def test_threads_that_repeat_a_loop_their_own_times_do_not_wait_in_it():
    func = ls.from_source("""@T.prim_func
def main(A: T.Buffer((4, 4), "float32")):
    for i in range(4):
        for j in range(i):
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                A[vi, vi] = A[vi, vi] * T.float32(2)
""")
    sch = tir.Schedule(func)
    sch.bind("i", "threadIdx.x")
    sch.cache_inplace("A", "A", "shared")
    assert sch.verify()
    a = np.ones((4, 4), "float32")
    ls.interp.run(sch.mod["main"], a)
    np.testing.assert_array_equal(np.diag(a), [1, 2, 4, 8])


def test_padding_with_zeros_stays_zero_through_integers_in_ring_mode():
    source = """@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = {}
"""
    cast = ls.from_source(source.format('T.Cast("int32", A[i] * T.float32(0)) * 7'))
    zero = ls.from_source(source.format("0"))
    ls.interp.assert_same(cast, zero)


def test_threads_combine_pairs_in_shared_memory_one_after_another():
    func = ls.from_source("""@T.prim_func
def main(A: T.Buffer((8, 12), "int16"), M: T.Buffer((8,), "int16"), Q: T.Buffer((8,), "int32")):
    P = T.alloc_buffer((8,), "int32")
    for i, k in T.grid(8, 12):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = -1
                M[vi] = T.min_value("int16")
            kept = M[vi] > A[vi, vk] or (M[vi] == A[vi, vk] and P[vi] < vk)
            place: T.int32 = T.Select(kept, P[vi], vk)
            value: T.int16 = T.Select(kept, M[vi], A[vi, vk])
            P[vi] = place
            M[vi] = value
    for i in range(8):
        with T.block("Q"):
            vi = T.axis.spatial(8, i)
            Q[vi] = P[vi]
""")
    sch = tir.Schedule(func)
    sch.bind("k", "threadIdx.x")
    assert sch.verify()
    sch.set_scope("M", 0, "shared")
    assert sch.verify()
