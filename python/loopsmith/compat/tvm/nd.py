# SPDX-License-Identifier: Apache-2.0
"""``tvm.nd``: devices and arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import loopsmith as ls

from ..missing import other_names

__all__ = [
    "Device",
    "NDArray",
    "array",
    "context",
    "cpu",
    "cuda",
    "device",
    "empty",
    "from_dlpack",
    "gpu",
    "opencl",
]

_names = {1: "cpu", 2: "cuda", 4: "opencl"}


@dataclass(frozen=True)
class Device:
    """A device: its kind as DLPack numbers it, and its number among those of its kind."""

    device_type: int
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Whether programs of this process can use it."""
        return (self.device_type, self.device_id) == (1, 0)

    def sync(self, stream: Any = None) -> None:
        """Wait until the device is done: a processor is, when a call returns."""
        _require_processor(self)

    def __str__(self) -> str:
        """Return the name of its kind, and its number."""
        return f"{_names.get(self.device_type, self.device_type)}({self.device_id})"

    def __repr__(self) -> str:
        """Return the name of its kind, and its number."""
        return str(self)


def cpu(dev_id: int = 0) -> Device:
    """Return the processor."""
    return Device(1, dev_id)


def cuda(dev_id: int = 0) -> Device:
    """Return a GPU of NVIDIA, which may be asked whether it `exist`s."""
    return Device(2, dev_id)


def opencl(dev_id: int = 0) -> Device:
    """Return a device of OpenCL, which may be asked whether it `exist`s."""
    return Device(4, dev_id)


gpu = cuda


def device(dev_type: Any, dev_id: int = 0) -> Device:
    """Return a device by its name, ``"cpu"`` or ``"llvm"``, or by DLPack's number."""
    if isinstance(dev_type, int):
        return Device(dev_type, dev_id)
    kinds = {"llvm": 1, "c": 1, "cpu": 1, "gpu": 2, "cuda": 2, "nvptx": 2, "opencl": 4, "cl": 4}
    kind = str(dev_type).partition(" ")[0]
    if kind not in kinds:
        raise ValueError(f"there is no device {kind!r}: the devices are {', '.join(kinds)}")
    return Device(kinds[kind], dev_id)


context = device


def _require_processor(dev: Device) -> None:
    if dev.device_type != 1:
        raise ls.UserError(f"there is no {dev} here: arrays lie in the processor's memory, cpu(0)")


class NDArray:
    """An array in the processor's memory."""

    def __init__(self, data: ls.NDArray) -> None:
        self._data = data

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return tuple(self._data.shape)

    @property
    def dtype(self) -> str:
        """The type of its elements."""
        return str(self._data.dtype)

    @property
    def device(self) -> Device:
        """Where it lies."""
        return cpu(0)

    ctx = device

    def numpy(self) -> Any:
        """Return its elements as an array of NumPy, a copy."""
        return np.array(self._data.numpy())

    asnumpy = numpy

    def copyfrom(self, source_array: Any) -> NDArray:
        """Take the elements of another array of this shape, converted to the type of this one.

        Raises
        ------
        ValueError
            The shapes differ.
        """
        source = source_array.numpy() if isinstance(source_array, NDArray) else source_array
        values = np.asarray(source)
        if values.dtype == object:
            raise TypeError(f"array: a {type(source_array).__name__} has no elements to copy")
        if values.shape != self.shape:
            raise ValueError(
                f"array shape does not match: {values.shape} is copied to {self.shape}"
            )
        np.copyto(self._data.numpy(), values, casting="unsafe")
        return self

    def copyto(self, target: Any, mem_scope: str | None = None) -> NDArray:
        """Copy the elements to another array, or to a new one on a device."""
        if isinstance(target, Device):
            return array(self.numpy(), target)
        result: NDArray = target.copyfrom(self)
        return result

    def __setitem__(self, index: Any, value: Any) -> None:
        """Replace all elements: ``x[:] = value``."""
        if not (isinstance(index, slice) and index == slice(None)):
            raise ValueError("array: only x[:] = value is possible; use numpy() for parts of it")
        self.copyfrom(np.broadcast_to(np.asarray(value), self.shape))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return its elements as an array of NumPy."""
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        """Lend the memory to whoever speaks DLPack."""
        return self._data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return where it lies, as DLPack says it."""
        return self._data.__dlpack_device__()

    def to_dlpack(self) -> NDArray:
        """Return what `from_dlpack` takes, here and in other libraries."""
        return self

    def same_as(self, other: Any) -> bool:
        """Return whether it is the same array."""
        return self is other

    def __len__(self) -> int:
        """Return the extent of the first dimension."""
        return self.shape[0]

    def __repr__(self) -> str:
        """Return the elements, and what they are."""
        return f"<tvm.nd.NDArray shape={self.shape}, {self.device}>\n{self.numpy()!r}"


class _Lent(np.ndarray):
    """The memory of an array that a function of the host is called with."""

    ctx: Any = cpu(0)
    device: Any = cpu(0)

    def numpy(self) -> Any:
        """Return its elements as an array of NumPy, a copy."""
        return np.array(self)

    asnumpy = numpy

    def copyfrom(self, source_array: Any) -> _Lent:
        """Take the elements of another array of this shape."""
        NDArray(ls.from_dlpack(np.asarray(self))).copyfrom(source_array)
        return self

    def copyto(self, target: Any) -> Any:
        """Copy the elements to another array, or to a new one on a device."""
        return array(self, target) if isinstance(target, Device) else target.copyfrom(self)


def lent(value: Any) -> Any:
    """Return an array with the methods of this module's arrays; all else as it is."""
    if isinstance(value, ls.NDArray):  # Of elements that NumPy has not.
        return NDArray(value)
    return value.view(_Lent) if isinstance(value, np.ndarray) else value


def empty(
    shape: Any, dtype: Any = "float32", device: Device = cpu(0), mem_scope: str | None = None
) -> NDArray:
    """Return an array with any elements."""
    _require_processor(device)
    return NDArray(ls.empty(shape if isinstance(shape, int) else tuple(map(int, shape)), dtype))


def array(arr: Any, device: Device = cpu(0), mem_scope: str | None = None) -> NDArray:
    """Return a copy of an array of NumPy, or of this module."""
    _require_processor(device)
    values = arr.numpy() if isinstance(arr, NDArray) else np.asarray(arr)
    return empty(values.shape, values.dtype, device).copyfrom(values)


def tensor(
    arr: Any, dtype: Any = None, device: Device = cpu(0), mem_scope: str | None = None
) -> NDArray:
    """Return a copy of an array, or of numbers of a type, as later generations call `array`."""
    device, dtype = (dtype, None) if isinstance(dtype, Device) else (device, dtype)
    return array(arr if dtype is None else np.asarray(arr, dtype), device, mem_scope)


def from_dlpack(dltensor: Any) -> NDArray:
    """Return an array that shares the memory of another one that speaks DLPack."""
    return NDArray(ls.from_dlpack(dltensor))


__getattr__ = other_names("tvm.nd")
