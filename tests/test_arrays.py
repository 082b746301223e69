# SPDX-License-Identifier: Apache-2.0
"""Arrays of our own: made, copied, borrowed and lent."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from lender import Lender

import loopsmith as ls
from loopsmith import te


def refused(function, *arguments) -> ls.UserError:
    with pytest.raises(ls.UserError) as caught:
        function(*arguments)
    return caught.value


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
     "float16", "float32", "float64"],
)  # fmt: skip
def test_arrays_share_their_data_with_numpy(dtype: str):
    made = ls.zeros((2, 3), dtype)
    assert (made.shape, made.strides, made.dtype) == ((2, 3), (3, 1), dtype)
    assert (made.ndim, made.size, made.device) == (2, 6, "cpu")
    view = made.numpy()
    assert (view.dtype, view.shape) == (np.dtype(dtype), (2, 3))
    view[1, 2] = 1
    for other in (np.asarray(made), np.from_dlpack(made), np.array(made)):
        assert other.dtype == np.dtype(dtype)
        assert other[1, 2] == 1
    assert made.numpy().ctypes.data % 64 == 0
    assert ls.empty((1,), np.dtype(dtype)).dtype == dtype


def test_arrays_are_copied_from_numpy_and_borrowed_through_dlpack():
    data = np.arange(6, dtype="int16").reshape(2, 3)
    copy, borrowed = ls.array(data), ls.from_dlpack(data)
    data[0, 0] = 9
    assert copy.numpy()[0, 0] == 0
    assert borrowed.numpy()[0, 0] == 9
    assert ls.array([1.0, 2.0]).dtype == "float64"
    assert ls.array([1, 2], "float32").dtype == "float32"
    assert ls.from_dlpack(Lender(data, versioned=False)).shape == (2, 3)
    assert repr(copy) == "<loopsmith.NDArray (2, 3) int16>"


def test_a_borrowed_array_keeps_its_lender_alive():
    data = np.arange(4.0)
    references = sys.getrefcount(data)
    borrowed = ls.from_dlpack(data)
    assert sys.getrefcount(data) > references
    del borrowed
    assert sys.getrefcount(data) == references


def test_a_view_keeps_its_array_alive():
    view = ls.array([1.0, 2.0]).numpy()
    np.testing.assert_array_equal(view, [1, 2])


def test_read_only_arrays_stay_so():
    made = ls.zeros((2,)).as_read_only()
    assert made.is_read_only and not made.numpy().flags.writeable
    assert not np.from_dlpack(made).flags.writeable
    with pytest.raises(BufferError):
        made.__dlpack__()
    assert memoryview(made).readonly


def test_what_is_no_array_is_refused():
    assert str(refused(ls.from_dlpack, 3)) == (
        "from_dlpack: a int has no __dlpack__\n"
        "  hint: pass an array of NumPy, PyTorch, JAX, ..., or copy the values with array()"
    )
    assert str(refused(ls.empty, (2, -1))) == (
        "array: shape (2, -1) has a negative size\n  hint: pass sizes of 0 or more"
    )
    assert isinstance(refused(ls.empty, (2,), "float33"), TypeError)
    assert str(refused(ls.zeros, (2, 1.5))) == (
        "array: the shape is (2, 1.5), no sequence of sizes\n  hint: pass sizes as ints"
    )
    assert str(refused(ls.zeros, 2, 5)) == (
        "array: the dtype is 5, no type of elements\n"
        "  hint: pass a name, such as float32, or a dtype of NumPy"
    )
    for dtype in ("handle", "void", {}):
        assert "array: its elements cannot be" in str(refused(ls.empty, 2, dtype))
        assert "array: its elements cannot be" in str(refused(ls.array, [1], dtype))
    assert ls.empty(5).shape == ls.zeros([5]).shape == ls.zeros(np.int64(5)).shape == (5,)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_small_floats_travel_through_ml_dtypes(dtype: str):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = getattr(ml_dtypes, dtype)
    data = np.array([0.5, 1.5, -2.0], kind)
    a = te.placeholder((3,), dtype, name="A")
    out = np.zeros(3, kind)
    ls.build([a, te.compute((3,), lambda i: a[i] + a[i], name="B")])(data, out)
    np.testing.assert_array_equal(out.astype("float32"), [1, 3, -4])
    assert ls.array(data).numpy().dtype == kind
    np.testing.assert_array_equal(ls.array([0.5, 1.5, -2.0], dtype).numpy(), data)
