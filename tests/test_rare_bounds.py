# SPDX-License-Identifier: Apache-2.0
"""Steps on loops with rare bounds: none, triangular, backwards, of other types."""

from __future__ import annotations

from test_rare_steps import outcome

from loopsmith import tir


def test_a_block_in_a_loop_without_iterations_runs_nowhere():
    code = outcome(
        'A: T.Buffer((7,), "uint32"), C: T.Buffer((3,), "uint32")',
        """
B = T.alloc_buffer((1,), "uint32")
for ax0 in range(1):
    with T.block("B"):
        v0 = T.axis.spatial(1, ax0)
        B[v0] = A[v0]
for i in range(0):
    with T.block("C"):
        vi = T.axis.spatial((2, 3), 2)
        C[vi] = B[vi - 2]
""",
        lambda sch: sch.reverse_compute_at("C", "ax0"),
    )
    assert code == "instances_are_known"


def test_a_block_around_what_never_runs_stays_in_its_domain():
    code = outcome(
        'C: T.Buffer((1,), "float32")',
        """
for i in range(0):
    with T.block("C"):
        vi = T.axis.reduce(1, -1)
        C[0] = T.float32(1)
""",
        lambda sch: sch.blockize("i"),
    )
    assert code == "space_is_divisible"


def test_inspect_split_of_a_reduction_whose_domain_the_loop_changes():
    body = """
for i in range(1):
    for j in range(i):
        with T.block("b"):
            vi = T.axis.reduce(1, i)
            vj = T.axis.reduce((i, 1), j)
            with T.init():
                A[1] = 0
            A[1] = 7
"""

    def split(sch: tir.Schedule) -> None:
        sch.inspect_split(sch.get_loop("i"), parts=64)

    assert outcome("A: T.Buffer((2,), 'int32')", body, split) == "step_keeps_results"


def test_parallel_scan_of_one_iteration_whose_element_the_loop_names():
    body = """
for i in range(2, 4, 2):
    A[i % 2] = A[i % 2] + B[i]
"""

    def scan(sch: tir.Schedule) -> None:
        sch.parallel_scan(sch.get_loop("i"), length=4096)

    parameters = "A: T.Buffer((2,), 'int32'), B: T.Buffer((4,), 'int32')"
    assert outcome(parameters, body, scan) == "same"


def test_cache_index_of_an_axis_that_runs_backwards_to_nothing():
    body = """
with T.block("b"):
    vi = T.axis.reduce((2, 0), 2)
    T.where(T.bool(False))
    A[0] = A[vi // 2]
"""

    def cache(sch: tir.Schedule) -> None:
        sch.cache_index("b", "global")

    assert outcome("A: T.Buffer((4,), 'int32')", body, cache) == "same"


def test_verify_runs_no_iteration_of_an_empty_loop():
    body = """
for i in range(1):
    for j in range(1):
        B[i, i] = 0
    for k in range(0):
        A[k, k] = 0
"""

    def steps(sch: tir.Schedule) -> None:
        sch.skew("i", "j")
        sch.merge_siblings(["j", "k"])
        sch.inspect_split("i", parts=64)

    assert outcome("A: T.Buffer((1, 1), 'int32'), B: T.Buffer((1, 1), 'int32')", body, steps) == (
        "same"
    )


def test_a_consumer_that_never_runs_does_not_run_at_its_producer():
    body = """
T0 = T.alloc_buffer((4, 6), "int32")
for i, j in T.grid(4, 6):
    with T.block("T0"):
        vi, vj = T.axis.remap("SS", [i, j])
        T0[vi, vj] = A[vi, vj]
for i, j, k in T.grid(4, 6, 0):
    with T.block("B"):
        vi = T.axis.spatial(4, i)
        vj = T.axis.spatial(6, j + k)
        B[vi, vj] = T0[vi, vj]
"""
    parameters = 'A: T.Buffer((4, 6), "int32"), B: T.Buffer((4, 6), "int32")'

    def move(sch: tir.Schedule) -> None:
        sch.reverse_compute_at("B", sch.get_loops("T0")[1])

    assert outcome(parameters, body, move) == "step_keeps_results"
    symbolic = body.replace("(4, 6, 0)", "(4, 6, n)")
    assert outcome(parameters + ", n: T.int32", symbolic, move) == "step_keeps_results"


def test_no_part_of_a_loop_without_iterations_is_peeled():
    body = """
for i in range(0):
    with T.block("b"):
        vi = T.axis.reduce(0, i)
        with T.init():
            B[1] = 0
        B[1] = 1
"""
    parameters = 'B: T.Buffer((2,), "int32")'
    assert outcome(parameters, body, lambda sch: sch.peel("i", first=0, align=2)) == (
        "number_is_in_range"
    )


def test_padded_loops_keep_their_type():
    body = """
for i in range(T.int64(1)):
    with T.block("b"):
        vi = T.axis.spatial(1, i)
        C[vi] = 0
for j in range(1):
    with T.block("c"):
        vj = T.axis.spatial(1, j)
        D[vj] = 1
"""
    parameters = 'C: T.Buffer((1,), "int32"), D: T.Buffer((1,), "int32")'

    def pad(sch: tir.Schedule) -> None:
        sch.pad_einsum("b", [2])
        sch.merge_siblings("i", "j")

    assert outcome(parameters, body, pad) == "nests_are_alike"


def test_domains_of_axes_follow_a_layout():
    body = """
for i in range(3):
    for j in range(i):
        A[i] = A[j]
"""

    def steps(sch: tir.Schedule) -> None:
        sch.inspect_split("i", parts=2)
        sch.normalize_nest("i")
        sch.transform_layout("A", ("read", 1), lambda x: [x, 0])

    assert outcome('A: T.Buffer((3,), "uint32")', body, steps) == "same"


def test_divisors_read_the_loops_of_a_split():
    body = """
for i in range(8):
    for j in range(i):
        for k in range(T.max(i, 1) - 1):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(8, j)
                vk = T.axis.spatial(8, k)
                D[vi, vj, vk] = T.float32(1)
"""

    def steps(sch: tir.Schedule) -> None:
        sch.fuse("j", "k")
        sch.split("i", [3, None])

    assert outcome('D: T.Buffer((8, 8, 8), "float32")', body, steps) == "same"


def test_no_axis_is_padded_that_bounds_of_loops_inside_read():
    body = """
B = T.alloc_buffer((2,))
for i in range(2):
    for k in range(i + 1):
        with T.block("b"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(1)
            B[vi] = B[vi] + A[vk]
"""
    parameters = 'A: T.Buffer((2,), "float32")'
    assert outcome(parameters, body, lambda sch: sch.pad_axes("b", [3, 1])) == (
        "axes_can_be_padded"
    )
