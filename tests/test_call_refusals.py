# SPDX-License-Identifier: Apache-2.0
"""What calls of compiled functions say of arguments that they do not take."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from called import misaligned, pair, read_only, refused
from lender import Lender

import loopsmith as ls
from loopsmith import te

REFUSED = {
    "argument_count": (
        lambda: (*pair(), 1), TypeError,
        "add: takes 2 arguments (A, B), not 3\n  hint: pass one for each parameter, outputs too",
    ),
    "dtype": (
        lambda: (pair()[0].astype("float64"), pair()[1]), TypeError,
        "add: A has dtype float64, not float32\n"
        "  hint: convert the array, or build the function for float64",
    ),
    "no_such_dtype": (
        lambda: (pair()[0].astype(object), pair()[1]), TypeError,
        "add: A has dtype object, which no compiled function takes\n"
        "  hint: convert the array with astype()",
    ),
    "byte_order": (
        lambda: (pair()[0].astype(">f4"), pair()[1]), TypeError,
        "add: A has dtype >f4, which no compiled function takes\n"
        "  hint: convert the array with astype()",
    ),
    "complex": (
        lambda: (pair()[0].astype("complex64"), pair()[1]), TypeError,
        "add: A has dtype complex64, not float32\n"
        "  hint: convert the array, or build the function for complex64",
    ),
    "not_an_array": (
        lambda: ([[1.0] * 4], pair()[1]), TypeError,
        "add: A is a list, not a tensor\n"
        "  hint: pass an array: of NumPy, or any that speaks DLPack",
    ),
    "expression_for_data": (
        lambda: (te.placeholder((3, 4)), pair()[1]), TypeError,
        "add: A is a node of the IR, a Tensor, not a tensor\n"
        "  hint: pass an array: of NumPy, or any that speaks DLPack",
    ),
    "scalar_for_tensor": (
        lambda: (pair()[0], 1.5), TypeError,
        "add: B is a floating-point number, not a tensor\n  hint: pass an array",
    ),
    "none": (
        lambda: (None, pair()[1]), ValueError,
        "add: A is a null pointer\n  hint: pass a tensor",
    ),
    "rank": (
        lambda: (np.zeros(4, "float32"), pair()[1]), ValueError,
        "add: A has 1 dimensions, not 2\n"
        "  hint: reshape the array to the dimensions of the parameter",
    ),
    "shape": (
        lambda: (np.zeros((3, 5), "float32"), pair()[1]), ValueError,
        "add: A.shape[1] is 5, not 4\n  hint: pass arguments whose sizes agree",
    ),
    "symbolic_shape": (
        lambda: (pair(3)[0], pair(2)[1]), ValueError,
        "add: B.shape[0] is 2, not n = 3, which A.shape[0] gave\n"
        "  hint: pass arguments whose sizes agree",
    ),
    "strides": (
        lambda: (np.zeros((3, 8), "float32")[:, ::2], pair()[1]), ValueError,
        "add: A.strides[1] is 2, not 1: the array is not compact (row-major without gaps)\n"
        "  hint: pass a contiguous copy",
    ),
    "fortran_order": (
        lambda: (np.zeros((3, 4), "float32", order="F"), pair()[1]), ValueError,
        "add: A.strides[1] is 3, not 1: the array is not compact (row-major without gaps)\n"
        "  hint: pass a contiguous copy",
    ),
    "odd_strides": (
        lambda: (np.zeros((3, 4), [("x", "float32"), ("y", "uint8")])["x"], pair()[1]), ValueError,
        "add: A.strides[0] is 20 bytes",
    ),
    "read_only": (
        lambda: (pair()[0], read_only(3)), ValueError,
        "add: B is written by the function, but the array is read-only\n"
        "  hint: pass a writable array",
    ),
    "read_only_bytes": (
        lambda: (pair()[0], memoryview(pair()[1]).toreadonly()), ValueError,
        "add: B is written by the function, but the array is read-only\n"
        "  hint: pass a writable array",
    ),
    "read_only_own": (
        lambda: (pair()[0], ls.zeros((3, 4)).as_read_only()), ValueError,
        "add: B is written by the function, but the array is read-only\n"
        "  hint: pass a writable array",
    ),
    "read_only_dlpack": (
        lambda: (pair()[0], Lender(read_only(3))), ValueError,
        "add: B is written by the function, but the array is read-only\n"
        "  hint: pass a writable array",
    ),
    "buffer_format": (
        lambda: (memoryview(b"abc").cast("c"), pair()[1]), TypeError,
        "add: A has elements of format 'c', which no compiled function takes\n"
        "  hint: convert it to a NumPy array",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_argument_is_named_with_what_was_expected_and_what_came(add: ls.Module, case: str):
    arguments, builtin, text = REFUSED[case]
    error = refused(add, *arguments())
    assert isinstance(error, builtin)
    assert isinstance(error, ls.TypeMismatch if builtin is TypeError else ls.CallError)
    if case == "odd_strides":
        text = "add: A.strides[1] is 5 bytes, no multiple of its elements' 4\n"
        text += "  hint: pass a contiguous copy"
        assert str(error).startswith("add: A.strides[")
        assert str(error).endswith("no multiple of its elements' 4\n  hint: pass a contiguous copy")
        return
    assert str(error) == text


def test_misaligned_data_is_refused(add: ls.Module):
    made = misaligned(3)
    error = refused(add, made, pair()[1])
    address = made.__array_interface__["data"][0]
    assert str(error) == (
        f"add: the data of A starts at {address:#x}, not at a multiple of 4 bytes\n"
        "  hint: allocate it aligned, as NDArray does, or build the function for a lower alignment"
    )


def test_what_is_written_must_not_overlap(add: ls.Module):
    a, _ = pair(6)
    assert str(refused(add, a[:3], a[1:4])) == (
        "add: B is written and overlaps A in memory\n"
        "  hint: pass a copy of one of them, or build the function with noalias off"
    )
    add(a[:3], a[3:])


def test_an_array_on_another_device_is_refused(add: ls.Module):
    class Far:
        def __init__(self, data):
            self.data = data

        def __dlpack__(self, **options):
            capsule = self.data.__dlpack__(**options)
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            # DLManagedTensorVersioned: version, context, deleter, flags, data, then the device.
            device = pointer(capsule, b"dltensor_versioned") + 40
            ctypes.c_int32.from_address(device).value = 2
            return capsule

    a, b = pair()
    assert str(refused(add, Far(a), b)) == "add: A is on cuda:0, not on cpu\n  hint: copy it to cpu"


def test_bad_scalars_are_refused(scale: ls.Module):
    a, b = np.zeros(4, "float32"), np.zeros(4, "float32")
    assert str(refused(scale, a, 1.0, 200, b)) == (
        "scale: k is 200, which int8 cannot hold\n"
        "  hint: pass a value of that type, or build the function for a wider one"
    )
    assert str(refused(scale, a, 1.0, 2**70, b)) == (
        f"scale: k is {2**70}, which 64 bits cannot hold\n  hint: pass a smaller number"
    )
    assert str(refused(scale, a, 1.0, 10**5000, b)) == (
        "scale: k is an integer of 16610 bits, which 64 bits cannot hold\n"
        "  hint: pass a smaller number"
    )
    assert str(refused(scale, a, 10**5000, 1, b)) == (
        "scale: x is an integer of 16610 bits, which no floating-point number can hold\n"
        "  hint: pass a smaller number"
    )
    assert str(refused(scale, a, 1.0, 1.5, b)) == (
        "scale: k is a floating-point number, not an integer\n  hint: pass an integer"
    )
    assert str(refused(scale, a, "1", 1, b)) == (
        "scale: x is a str, not a floating-point number\n  hint: pass a number"
    )
    assert str(refused(scale, a, np.complex64(1), 1, b)) == (
        "scale: x is a numpy.complex64, not a floating-point number\n  hint: pass a number"
    )
    assert str(refused(scale, a, a, 1, b)) == (
        "scale: x is a tensor, not a floating-point number\n  hint: pass a floating-point number"
    )
