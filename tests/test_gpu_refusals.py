# SPDX-License-Identifier: Apache-2.0
"""Programs that no device can run are refused before one is asked."""

from __future__ import annotations

import pytest
from gpu_programs import bound_matmul, refused, script

import loopsmith as ls


def test_too_many_threads_are_refused() -> None:
    error = refused(bound_matmul(tile=64), "cuda")
    assert error.code == "threads_fit_block"
    assert "a block has 4096 threads, target cuda runs 1024 at most" in str(error)
    assert "split the loops over threads" in str(error)
    assert "runs 32 at most" in str(refused(bound_matmul(), "opencl -max_threads_per_block=32"))


def test_too_much_shared_memory_is_refused() -> None:
    sch = bound_matmul()
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, sch.get_loops("C")[1])
    error = refused(sch, "cuda -max_shared_memory_per_block=1024")
    assert error.code == "shared_memory_fits_block"
    assert "share 2048 bytes, 2048 of them for A_shared" in str(error)


def test_a_grid_beyond_the_limits_is_refused() -> None:
    sch = script("""
@T.prim_func
def main(A: T.Buffer((70000,), "float32")):
    for i in range(70000):
        with T.block("A"):
            vi = T.axis.spatial(70000, i)
            A[vi] = T.float32(1)
""")
    sch.bind(sch.get_loops("A")[0], "blockIdx.y")
    error = refused(sch, "cuda")
    assert error.code == "launch_axis_fits_device"
    assert "loop i over blockIdx.y has 70000 iterations, target cuda has at most 65535" in str(
        error
    )


def test_two_extents_of_one_axis_inside_each_other_are_refused() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    S = T.alloc_buffer((64,), scope="shared")
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for j in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                vj = T.axis.spatial(64, j)
                S[vj] = A[vj // 2]
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            B[vi] = S[vi]
""")
    error = refused(func, "opencl")
    assert error.code == "thread_extents_agree"
    assert "loop j over threadIdx.x has another extent than the loop over threadIdx.x" in str(error)


def test_a_nest_that_is_not_bound_is_refused() -> None:
    sch = bound_matmul()
    sch.cache_read("C", 0, "global")
    error = refused(sch, "opencl")
    assert error.code == "stores_are_in_kernels"
    assert "A_global is written outside of all loops that are bound to threads" in str(error)


def test_shared_memory_without_a_constant_size_is_refused() -> None:
    func = ls.from_source("""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (8, n))
    B = T.match_buffer(b, (8, n))
    for i in T.thread_binding(8, thread="blockIdx.x"):
        S = T.decl_buffer((n,), scope="shared")
        for j in range(n):
            S[j] = A[i, j]
        for j in range(n):
            B[i, j] = S[n - 1 - j]
""")
    error = refused(func, "opencl")
    assert error.code == "shared_memory_is_constant"
    assert "S is memory that the threads of a block share" in str(error)


def test_shared_memory_that_leaves_its_block_is_refused() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    S = T.alloc_buffer((64,), scope="shared")
    for i in T.thread_binding(2, thread="blockIdx.x"):
        for j in T.thread_binding(32, thread="threadIdx.x"):
            S[i * 32 + j] = A[i * 32 + j]
    for i in T.thread_binding(2, thread="blockIdx.x"):
        for j in T.thread_binding(32, thread="threadIdx.x"):
            B[i * 32 + j] = S[i * 32 + 31 - j]
""")
    with pytest.raises(ls.ScheduleError) as caught:
        ls.build(func, target="cuda")
    assert caught.value.code == "thread_memory_stays_inside"
    assert (
        "of buffer S, which is shared memory, each iteration of loop i has its own as a thread, "
        "and it is used outside of the loop, too"
    ) in str(caught.value)


def test_barriers_in_a_loop_of_each_thread_are_refused() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(i):
            S[i] = A[i]
            B[i] = S[31 - i]
""")
    error = refused(func, "opencl")
    assert error.code == "barrier_is_reached"
    assert "threads have to wait for each other in loop k" in str(error)


REFUSED = {
    "block_axis_is_around": (
        "a statement stands beside the loop over blockIdx.y",
        """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="blockIdx.y"):
            A[i, j] = T.float32(1)
        B[i] = T.float32(2)
""",
    ),
    "launch_extent_is_known_outside": (
        "loop j over threadIdx.x has an extent that depends on i, a variable of the kernel",
        """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(i + 1, thread="threadIdx.x"):
            A[i, j] = T.float32(1)
""",
    ),
    "loads_are_in_kernels": (
        "N is read outside of all loops that are bound to threads: the host gets numbers of whole "
        "bytes from the device, not int4",
        """
@T.prim_func
def main(N: T.Buffer((1,), "int4"), A: T.Buffer((8,), "float32")):
    for t in range(T.Cast("int32", N[0])):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            A[j] = A[j] + T.float32(1)
""",
    ),
    "kernel_memory_is_known": (
        "p is a pointer that the host cannot pass to a kernel",
        """
@T.prim_func
def main(p: T.handle("float32")):
    A = T.decl_buffer((8,), data=p)
    for j in T.thread_binding(8, thread="threadIdx.x"):
        A[j] = T.float32(1)
""",
    ),
    "kernel_can_do_it": (
        "target opencl: elements of int4 cannot stand in a kernel (main_kernel)",
        """
@T.prim_func
def main(A: T.Buffer((8,), "int4")):
    for j in T.thread_binding(8, thread="threadIdx.x"):
        A[j] = T.int4(1)
""",
    ),
}


@pytest.mark.parametrize("code", list(REFUSED))
def test_what_no_kernel_can_do_is_refused(code: str) -> None:
    text, source = REFUSED[code]
    error = refused(ls.from_source(source).with_attr("tir.is_scheduled", 1), "opencl")
    assert error.code == code
    assert text in str(error)


def test_a_return_from_a_thread_is_refused() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for j in T.thread_binding(8, thread="threadIdx.x"):
        if j > 3:
            return
        A[j] = T.float32(1)
""")
    error = refused(func, "opencl")
    assert error.code == "kernel_can_do_it"
    assert "target opencl: a return cannot stand in a kernel (main_kernel)" in str(error)


def test_functions_that_call_each_other_are_refused() -> None:
    module = ls.from_source("""
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            A[j] = T.float32(1)
        Module.other(A)

    @T.prim_func
    def other(A: T.Buffer((8,), "float32")):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            A[j] = A[j] + T.float32(1)
""")
    error = refused(module, "opencl")
    assert error.code == "functions_are_apart"
    assert "build: function other is called by another one, which target opencl has no code" in str(
        error
    )


def test_memory_is_not_passed_to_functions_of_the_host() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((32,), "float32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        A[i] = T.float32(1)
    T.call_packed("sort", A)
""")
    error = refused(func, "opencl")
    assert error.code == "host_calls_take_numbers"
    assert "does not see that of the device" in str(error)


def test_shuffles_of_threads_that_are_not_counted_are_refused() -> None:
    """OpenCL has no warps: values go through memory that has a place for each thread."""
    func = ls.from_source("""
@T.prim_func
def main(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    for t in T.thread_binding(n, thread="threadIdx.x"):
        A[t] = T.tvm_warp_shuffle(T.uint32(4294967295), A[t], 0, 32, 32)
""")
    with pytest.raises(ls.LowerError) as caught:
        ls.lower(func.with_attr("tir.is_scheduled", 1), target="opencl")
    assert caught.value.code == "lanes_are_counted"
    assert "how many there are is not a constant" in str(caught.value)
