# SPDX-License-Identifier: Apache-2.0
"""Calls of compiled functions: what they take."""

from __future__ import annotations

import array
import ctypes
import sys
import threading

import numpy as np
import pytest
from called import pair, read_only, refused
from lender import Lender

import loopsmith as ls
from loopsmith import te

# ---- What is taken ----


def test_numpy_arrays_are_read_and_written_in_place(add: ls.Module):
    a, b = pair()
    assert add(a, b) is None
    np.testing.assert_array_equal(b, a + 1)


def test_own_arrays_are_taken(add: ls.Module):
    a, _ = pair()
    x, y = ls.array(a), ls.empty((3, 4))
    add(x, y)
    np.testing.assert_array_equal(y.numpy(), a + 1)


def test_views_of_numpy_arrays_are_taken_while_they_are_compact(add: ls.Module):
    a, b = pair(6)
    add(a[2:5], b[:3])
    np.testing.assert_array_equal(b[:3], a[2:5] + 1)
    assert not b[3:].any()


def test_subclasses_of_numpy_arrays_are_taken(add: ls.Module, tmp_path):
    a, b = pair()
    mapped = np.memmap(tmp_path / "a", "float32", "w+", shape=(3, 4))
    mapped[:] = a
    add(mapped, b)
    np.testing.assert_array_equal(b, a + 1)


def test_buffers_are_taken(add: ls.Module):
    a, _ = pair()
    out = (ctypes.c_float * 4 * 3)()
    add(memoryview(a), out)
    np.testing.assert_array_equal(np.ctypeslib.as_array(out), a + 1)


def test_arrays_of_the_standard_library_are_taken():
    a = te.placeholder((3,), "int32", name="A")
    b = te.compute((3,), lambda i: a[i] * 2, name="B")
    out = array.array("i", [0, 0, 0])
    ls.build([a, b])(array.array("i", [1, 2, 3]), out)
    assert list(out) == [2, 4, 6]


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_is_taken_in_both_forms(add: ls.Module, versioned: bool):
    a, b = pair()
    lender = Lender(a, versioned=versioned)
    before = sys.getrefcount(a)
    add(lender, Lender(b, versioned=versioned))
    np.testing.assert_array_equal(b, a + 1)
    assert lender.calls == (1 if versioned else 2)
    assert sys.getrefcount(a) == before


class CTensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def test_the_exchange_table_of_dlpack_is_used_where_a_class_has_one(add: ls.Module):
    python = ctypes.pythonapi
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
    python.PyCapsule_New.restype = ctypes.py_object
    python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    used_name = b"used_dltensor_versioned"
    shape = (ctypes.c_int64 * 2)(3, 4)
    uses = []

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
    def lend(tensor, lent):
        uses.append("lend")
        capsule = tensor.data.__dlpack__(max_version=(1, 0))
        lent[0] = python.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        python.PyCapsule_SetName(capsule, used_name)
        return 0

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(CTensor))
    def view(tensor, out):
        uses.append("view")
        address = tensor.data.ctypes.data
        out[0] = CTensor(address, (1, 0), 2, 2, 32, 1, shape, None, 0)
        return 0

    def pointer(function) -> int | None:
        return ctypes.cast(function, ctypes.c_void_p).value

    # Version 1.3, no older table, then the functions; and a newer table that refers to it.
    table = (ctypes.c_void_p * 7)(1 | 3 << 32, None, None, pointer(lend), None, pointer(view), None)
    newer = (ctypes.c_void_p * 7)(2, ctypes.addressof(table))

    class Tensor:
        __dlpack_c_exchange_api__ = python.PyCapsule_New(
            ctypes.addressof(newer), b"dlpack_exchange_api", None
        )

        requires_grad = False

        def __init__(self, data):
            self.data = data

    class Parameter(Tensor):
        requires_grad = True

    a, b = pair()
    add(Tensor(a), Tensor(b))
    np.testing.assert_array_equal(b, a + 1)
    assert uses == ["view", "lend"]
    assert str(refused(add, Tensor(a), Tensor(read_only(3)))) == (
        "add: B is written by the function, but the array is read-only\n"
        "  hint: pass a writable array"
    )
    add(Parameter(a), Tensor(b))
    assert str(refused(add, Tensor(a), Parameter(b))) == (
        "add: B is written by the function, which its gradient would not know of\n"
        "  hint: pass its detach()"
    )


def test_an_error_while_lending_reaches_the_caller(add: ls.Module):
    class Broken:
        def __dlpack__(self, **options):
            raise BufferError("requires grad")

    with pytest.raises(BufferError, match="requires grad"):
        add(Broken(), pair()[1])


@pytest.mark.parametrize(
    ("x", "k"),
    [(2.5, 3), (2, True), (np.float32(2.5), np.int8(3)), (np.float64(2.5), np.int64(-128))],
)
def test_scalars_of_python_and_numpy_are_taken(scale: ls.Module, x, k):
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    scale(a, x, k, b)
    np.testing.assert_array_equal(b, a * np.float32(x) + np.float32(int(k)))


def test_unsigned_numbers_beyond_int64_are_taken():
    n = te.var("n", "uint64")
    b = te.compute((1,), lambda i: n, name="B")
    out = np.zeros(1, "uint64")
    module = ls.build([n, b])
    module(2**64 - 1, out)
    assert out[0] == 2**64 - 1
    for negative in (-1, np.int64(-1)):
        assert str(refused(module, negative, out)) == (
            "main: n is -1, which uint64 cannot hold\n"
            "  hint: pass a value of that type, or build the function for a signed one"
        )


def test_empty_arrays_are_taken(add: ls.Module):
    add(np.empty((0, 4), "float32"), np.empty((0, 4), "float32"))


def test_many_arguments_are_taken():
    inputs = [te.placeholder((2,), "float32", name=f"A{i}") for i in range(20)]
    b = te.compute((2,), lambda i: sum((a[i] for a in inputs[1:]), inputs[0][i]), name="B")
    arrays = [np.full(2, i, "float32") for i in range(20)]
    out = np.zeros(2, "float32")
    ls.build([*inputs, b])(*arrays, out)
    np.testing.assert_array_equal(out, [190, 190])


def test_functions_and_modules_are_looked_at(add: ls.Module):
    assert add.names == ["add"] and "add" in add and len(add) == 1
    assert add["add"].name == "add"
    assert add["add"].parameters == ["A: float32[n, 4]", "B: float32[n, 4]"]
    assert repr(add) == "<loopsmith.Module add(A: float32[n, 4], B: float32[n, 4])>"
    assert repr(add["add"]) == "<loopsmith.Function add(A: float32[n, 4], B: float32[n, 4])>"
    a, b = pair()
    add["add"](a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_time_measures_a_call(add: ls.Module):
    timing = add.time(*pair(), warmup=0, repeat=3, number=2)
    assert len(timing.samples) == 3
    assert 0 < timing.min <= timing.median <= max(timing.samples)
    assert timing.min <= timing.mean
    assert repr(timing).startswith("<loopsmith.Timing median ")
    assert add["add"].time(*pair(), repeat=1, cold=True).median > 0
    with pytest.raises(ls.TypeMismatch):
        add.time(1)


# ---- Threads ----


def test_threads_call_at_once(add: ls.Module):
    failures = []

    def work(seed: int) -> None:
        a = np.random.default_rng(seed).random((1000 + seed, 4), "float32")
        for _ in range(50):
            b = np.zeros_like(a)
            add(a, b)
            if not np.array_equal(b, a + 1):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_other_threads_run_while_a_kernel_runs():
    a = te.placeholder((1 << 20,), "float32", name="A")
    b = te.compute((1 << 20,), lambda i: te.exp(te.exp(te.exp(a[i]))), name="B")
    module = ls.build([a, b], num_threads=1)
    x, y = np.zeros(1 << 20, "float32"), np.zeros(1 << 20, "float32")
    done = threading.Event()

    def call() -> None:
        for _ in range(20):
            module(x, y)
        done.set()

    thread = threading.Thread(target=call)
    thread.start()
    steps = 0
    while not done.is_set():
        steps += 1
    thread.join()
    assert steps > 100


def test_with_threads_gives_a_module_its_own(add: ls.Module):
    two = add.with_threads(2)
    assert two.num_threads == 2
    a, b = pair(1000)
    two(a, b)
    np.testing.assert_array_equal(b, a + 1)
    assert str(refused(add.with_threads, -1)) == (
        "threads: num_threads is -1, negative\n  hint: pass 1 or more, or 0 for all processors"
    )
    assert str(refused(add.with_threads, 1, [100000])) == (
        "threads: affinity names processor 100000, which this process may not use\n"
        "  hint: pass processors that this process may run on"
    )
