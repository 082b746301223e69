# SPDX-License-Identifier: Apache-2.0
"""Primitives that copy and cut, and the annotations that lowering acts on."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T


@T.prim_func
def product(
    A: T.Buffer((16, 16), "float32"),
    B: T.Buffer((16, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def twice(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi // 2, vj] + A[vi // 2, 7 - vj]


def run_product(sch: tir.Schedule) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (16, 16)).astype("float32") for _ in range(2))
    c = np.zeros((16, 16), "float32")
    ls.build(sch.func)(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def tiled() -> tuple[tir.Schedule, list[tir.LoopRV]]:
    sch = tir.Schedule(product)
    i, j, k = sch.get_loops("C")
    ko, ki = sch.split(k, [None, 4])
    sch.reorder(ko, i, j, ki)
    return sch, [ko, i, j, ki]


def test_a_pipelined_product_is_built_and_right():
    sch, (ko, *_) = tiled()
    for index in range(2):
        sch.compute_at(sch.cache_read("C", index, "shared"), ko)
    sch.annotate(ko, "software_pipeline_stage", [0, 0, 2])
    sch.annotate(ko, "software_pipeline_order", [0, 1, 2])
    sch.annotate(ko, "software_pipeline_async_stages", [0])
    run_product(sch)


def test_a_wrong_pipeline_names_the_statements():
    sch, (ko, *_) = tiled()
    sch.compute_at(sch.cache_read("C", 0, "shared"), ko)
    sch.annotate(ko, "software_pipeline_stage", [1, 0])
    sch.annotate(ko, "software_pipeline_order", [0, 1])
    with pytest.raises(ls.errors.LowerError) as caught:
        ls.build(sch.func)
    assert "statement 0, which writes A_shared, would not be done before statement 1" in str(
        caught.value
    )


def test_virtual_threads_are_built_and_right():
    sch, (_, i, *_) = tiled()
    outer, _ = sch.split(i, [2, None])
    sch.bind(outer, "vthread.x")
    run_product(sch)


def test_threads_of_a_gpu_are_refused_on_a_cpu():
    sch = tir.Schedule(twice)
    i, _ = sch.get_loops("C")
    sch.bind(i, "threadIdx.x")
    with pytest.raises(ls.errors.UserError) as caught:
        ls.build(sch.func)
    assert "loop i is bound to threadIdx.x, which a CPU does not have" in str(caught.value)
    assert "make the loop parallel" in str(caught.value)


def test_pragmas_unroll_and_unknown_ones_are_refused():
    sch, (_, i, _, ki) = tiled()
    sch.annotate(i, "pragma_auto_unroll_max_step", 16)
    run_product(sch)
    sch.annotate(ki, "pragma_wishful", 1)
    with pytest.raises(ls.errors.LowerError, match="pragma_wishful, which is no known pragma"):
        ls.build(sch.func)


@T.prim_func
def pooled(X: T.Buffer((4, 33), "float32"), Y: T.Buffer((4, 16), "float32")):
    R = T.alloc_buffer((4, 33))
    for c, i in T.grid(4, 33):
        with T.block("R"):
            vc, vi = T.axis.remap("SS", [c, i])
            R[vc, vi] = X[vc, vi] * T.float32(2)
    for c, i, k in T.grid(4, 16, 3):
        with T.block("Y"):
            vc, vi, vk = T.axis.remap("SSR", [c, i, k])
            with T.init():
                Y[vc, vi] = T.min_value("float32")
            Y[vc, vi] = T.max(Y[vc, vi], R[vc, vi * 2 + vk])


def test_a_reduction_over_a_rolled_buffer_starts_anew_at_each_place():
    sch = tir.Schedule(pooled)
    sch.compute_at("R", sch.get_loops("Y")[1])
    sch.rolling_buffer("R", 0)
    assert sch.verify()
    x = np.random.default_rng(0).random((4, 33), dtype=np.float32)
    y = np.full((4, 16), 100, np.float32)  # What was there before does not count.
    ls.build(sch.func)(x, y)
    np.testing.assert_array_equal(
        y, 2 * np.maximum(np.maximum(x[:, :-2:2], x[:, 1:-1:2]), x[:, 2::2])
    )


@T.prim_func
def scaled_sum(A: T.Buffer((64,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi * 8 : vi * 8 + 8])
            T.writes(C[vi])
            C[vi] = T.call_extern("float32", "own_sum", T.address_of(A[vi * 8]), 8)


OWN_SUM = """
float own_sum(const float *x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += 2 * x[i];
  return sum;
}
"""

OWN_SUM_AS_LLVM = """
define float @own_sum(ptr %x, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %more, %loop ]
  %p = getelementptr float, ptr %x, i32 %i
  %v = load float, ptr %p, align 4
  %twice = fmul float %v, 2.0
  %more = fadd float %sum, %twice
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret float %more
}
"""


@pytest.mark.parametrize(
    ("pragma", "code", "target"),
    [
        ("pragma_import_c", OWN_SUM, "c"),
        ("pragma_import_c", OWN_SUM, "llvm"),
        ("pragma_import_llvm", OWN_SUM_AS_LLVM, "llvm"),
    ],
)
@pytest.mark.parametrize("from_file", [False, True])
def test_code_in_another_language_is_linked_in(pragma, code, target, from_file, tmp_path):
    has_clang = shutil.which("clang-22") or shutil.which("clang")
    if pragma == "pragma_import_c" and target == "llvm" and not has_clang:
        pytest.skip("clang is not installed")
    if from_file:
        path = tmp_path / ("own.c" if pragma == "pragma_import_c" else "own.ll")
        path.write_text(code)
        code = str(path)
    sch = tir.Schedule(scaled_sum)
    sch.annotate(sch.get_loops("C")[0], pragma, code)
    a = np.arange(64, dtype="float32")
    c = np.zeros(8, "float32")
    ls.build(sch, target)(a, c)
    np.testing.assert_array_equal(c, 2 * a.reshape(8, 8).sum(1))


NOT_LINKED = [
    ("import_llvm", "define float @own_sum(", "llvm", "imported_code_is_right", "line 1: "),
    (
        "import_llvm",
        "define void @own_sum() { ret void }",
        "llvm",
        "imported_code_is_right",
        "function own_sum takes or gives other types than its call says",
    ),
    ("import_c", "int own_sum(", "llvm", "imported_code_is_right", "imported.c:1"),
    ("import_llvm", OWN_SUM_AS_LLVM, "c", "target_takes_code", "target c takes no LLVM IR"),
    ("import_llvm", "none.ll", "llvm", "imported_file_is_read", "the file none.ll that is to be"),
    (
        "import_c",
        3,
        "llvm",
        "pragma_is_a_text",
        "the value of pragma_import_c of loop i is no text",
    ),
    ("tensor_core", 1, "llvm", "pragma_is_known", "pragma_tensor_core, which is no known pragma"),
]


@pytest.mark.parametrize(("pragma", "code", "target", "error", "said"), NOT_LINKED)
def test_code_that_cannot_be_linked_in_is_refused(pragma, code, target, error, said):
    sch = tir.Schedule(scaled_sum)
    sch.annotate(sch.get_loops("C")[0], f"pragma_{pragma}", code)
    with pytest.raises(ls.LowerError) as caught:
        ls.build(sch, target)
    assert said in caught.value.problem
    assert caught.value.code == error


def test_c_is_not_linked_into_llvm_without_clang(monkeypatch):
    sch = tir.Schedule(scaled_sum)
    sch.annotate(sch.get_loops("C")[0], "pragma_import_c", OWN_SUM)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ls.LowerError, match="by clang, which is not there") as caught:
        ls.build(sch)
    assert caught.value.code == "clang_is_found"


def test_copies_at_loops_and_partitions_are_right():
    sch, (ko, i, *_) = tiled()
    copy = sch.read_at(ko, "C", 0, "shared")
    assert "auto_copy" in sch.get(copy).annotations
    sch.write_at(ko, "C", 0, "local")
    first, second = sch.loop_partition(i, [5, None])
    assert [int(sch.get(part).extent) for part in (first, second)] == [5, 11]
    run_product(sch)


def test_indices_are_computed_beforehand():
    sch = tir.Schedule(twice)
    blocks = sch.cache_index("C", "global", 2)
    assert len(blocks) == 1
    ls.assert_same(twice, sch.func)


def test_a_vector_may_be_aligned():
    @T.prim_func
    def twice(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + T.float32(1)
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, 7 - i)
                C[vi] = B[vi] * T.float32(2)

    sch = tir.Schedule(twice)
    sch.storage_align("B", 0, axis=0, factor=4, offset=1)
    given, result = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    ls.build(sch)(given, result)
    np.testing.assert_array_equal(result, (given + 1) * 2)


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_several_dimensions_may_be_aligned(target: str):
    @T.prim_func
    def turned(A: T.Buffer((4, 6, 10), "float32"), C: T.Buffer((4, 6, 10), "float32")):
        B = T.alloc_buffer((4, 6, 10), "float32")
        for i, j, k in T.grid(4, 6, 10):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vi, vj, vk] * T.float32(2)
        for i, j, k in T.grid(4, 6, 10):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = B[3 - vi, 5 - vj, 9 - vk]

    sch = tir.Schedule(turned)
    sch.storage_align("B", 0, axis=0, factor=32, offset=8)
    sch.storage_align("B", 0, axis=-2, factor=16, offset=4)
    assert sch.verify()
    # The strides: 10 is next to 20 = 16 + 4, and 6 * 20 to 136 = 4 * 32 + 8.
    assert "B[i * 136 + j * 20 + k]" in ls.lower(sch).script()
    given, result = (
        np.random.default_rng(1).random((4, 6, 10), "float32"),
        np.zeros((4, 6, 10), "f"),
    )
    ls.build(sch, target)(given, result)
    np.testing.assert_array_equal(result, given[::-1, ::-1, ::-1] * 2)


@T.prim_func
def blurred(A: T.Buffer((40, 33), "float32"), D: T.Buffer((40, 33), "float32")):
    B = T.alloc_buffer((40, 33), "float32")
    C = T.alloc_buffer((40, 33), "float32")
    for i, j in T.grid(40, 33):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(40, 33):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, T.max(vj - 1, 0)] + B[vi, vj] + B[vi, T.min(vj + 1, 32)]
    for i, j in T.grid(40, 33):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[T.max(vi - 1, 0), vj] + C[vi, vj] + C[T.min(vi + 1, 39), vj]


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("factor", [1, 3, 8])
def test_readers_of_neighbours_lag_behind(factor: int, target: str):
    sch = tir.Schedule(blurred)
    outer, _ = sch.split(sch.get_loops("B")[0], [None, factor])
    sch.reverse_compute_at("C", outer)
    sch.reverse_compute_at("D", outer)
    assert int(sch.get(outer).extent) == -(-41 // factor)
    assert sch.verify()
    sch.vectorize(sch.get_loops("D")[-1])
    given = np.random.default_rng(2).integers(-9, 9, (40, 33)).astype("float32")
    result = np.zeros_like(given)
    ls.build(sch, target)(given, result)
    wide = np.pad(given * 2, 1, mode="edge")
    rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    np.testing.assert_array_equal(result, rows[:-2] + rows[1:-1] + rows[2:])


@T.prim_func
def routed(
    A: T.Buffer((16,), "int32"), P: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")
) -> None:
    S = T.alloc_buffer((16,), "int32")
    for i in range(16):
        S[P[i]] = A[i]
        C[i] = S[P[i]] + S[P[i]]
    C[0] += S[5]


def test_a_promise_of_a_schedule_reaches_lowering() -> None:
    """That P is a permutation, the caller alone knows."""
    sch = tir.Schedule(routed)
    assert not sch.can_apply("parallel", "i")
    sch.parallel("i", assume_independent=True)
    p = np.random.default_rng(3).permutation(16).astype("int32")
    a, c = np.arange(16, dtype="int32"), np.zeros(16, "int32")
    ls.build(sch)(a, p, c)
    c[0] -= a[p == 5][0]
    np.testing.assert_array_equal(c, 2 * a)


def test_who_writes_a_parallel_loop_is_believed_where_nothing_is_known() -> None:
    text = routed.script().replace("range(16)", "T.parallel(16)")
    p = np.random.default_rng(4).permutation(16).astype("int32")
    a, c = np.arange(16, dtype="int32"), np.zeros(16, "int32")
    ls.build(ls.from_source(text))(a, p, c)
    c[0] -= a[p == 5][0]
    np.testing.assert_array_equal(c, 2 * a)


def test_updates_are_atomic_where_other_memory_is_not_known() -> None:
    func = ls.from_source("""@T.prim_func
def main(P: T.Buffer((16,), "int32"), H: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    for i in T.parallel(16):
        H[P[i]] += 1
        C[P[i]] = 7
""")
    assert "atomic_add" in ls.lower(func).script()


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_parallel_loops_know_where_elements_of_two_dimensions_are(target: str):
    func = ls.from_source("""
@T.prim_func
def main(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 7))
    B = T.match_buffer(b, (n, 7))
    C = T.alloc_buffer((7, n), axis_separators=[1])
    for i, j in T.grid(n, 7):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj, vi] = A[vi, vj] + T.float32(1)
    for i in T.parallel(n):
        for j in range(7):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vj, vi] * T.float32(2)
""")
    a = np.random.default_rng(0).random((6, 7), "float32")
    b = np.zeros_like(a)
    ls.build(func, target=target, default_schedule=False)(a, b, 6)
    np.testing.assert_array_equal(b, (a + 1) * 2)


def test_what_memory_says_later_is_not_asked_where_a_block_moves_to():
    """The index is found in the loop, after the place to which the block moves."""
    sch = tir.Schedule(
        ls.from_source("""
@T.prim_func
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    D = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = A[vi] * 3
    for i in range(16):
        x = T.decl_buffer((), "int32", scope="local")
        x[()] = (A[i] % 16 + 16) % 16
        with T.block("B"):
            v = T.axis.opaque(16, x[()])
            B[v] = B[v] + D[v]
""")
    )
    sch.compute_at("D", sch.get_loops("B")[0])
    assert sch.verify()
    a = np.random.default_rng(0).integers(-50, 50, 16, "int32")
    actual = np.zeros(16, "int32")
    ls.build(sch)(a, actual)
    expected = np.zeros(16, "int32")
    np.add.at(expected, a % 16, a[a % 16] * 3)
    np.testing.assert_array_equal(actual, expected)


@T.prim_func
def subtracted(a: T.handle) -> None:
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float64")
    for i in range(16, n):
        for j in range(16, n):
            for k in range(16):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]


def test_vectors_that_a_loop_updates_stay_in_registers():
    sch = tir.Schedule(subtracted)
    vectors, lanes = sch.split("j", [None, 8])
    sch.reorder(vectors, "k", lanes)
    sch.vectorize(lanes)
    # Rows and columns below 16 are others than those that are updated, whatever n is.
    assert "A_kept[0:8] = A_kept[0:8] - " in ls.lower(sch).script()
    for n in (15, 16, 17, 24, 37):
        a = np.random.default_rng(n).integers(-3, 4, (n, n)).astype("float64")
        expected = a.copy()
        expected[16:, 16:] -= a[16:, :16] @ a[:16, 16:]
        ls.build(sch)(a)
        np.testing.assert_array_equal(a, expected)
