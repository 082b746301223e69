# SPDX-License-Identifier: Apache-2.0
"""Devices with memory of their own: GPUs, and what else speaks OpenCL."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from . import _core


class Device(NamedTuple):
    """A device by its kind, ``opencl`` or ``cuda``, and its number; ``cpu`` is the processor."""

    kind: str
    number: int = 0

    @property
    def exists(self) -> bool:
        """Whether there is a driver that has this device."""
        return self.kind == "cpu" or 0 <= self.number < _core.device_count(self.kind)

    @property
    def name(self) -> str:
        """What its driver calls it."""
        return "cpu" if self.kind == "cpu" else _core.describe_device(*self)[0]

    @property
    def max_threads_per_block(self) -> int:
        """How many threads a block may have."""
        return _core.describe_device(*self)[1]

    @property
    def max_shared_memory_per_block(self) -> int:
        """How many bytes the threads of a block may share."""
        return _core.describe_device(*self)[2]

    @property
    def arch(self) -> str:
        """What code for it is compiled for: ``sm_90a`` of CUDA, as a target's ``-arch`` takes it.

        Empty for devices whose drivers do not say.
        """
        return "" if self.kind == "cpu" else _core.describe_device(*self)[3]

    def sync(self) -> None:
        """Wait for all that was started on it."""
        if self.kind != "cpu":
            _core.wait_for_device(*self)

    @contextmanager
    def stream(self, handle: int) -> Iterator[None]:
        """Start kernels and copies of this thread on a stream of CUDA.

        Parameters
        ----------
        handle
            The driver's handle of the stream, as ``torch.cuda.current_stream().cuda_stream``; 0 is
            the default stream.

        Raises
        ------
        CallError
            The device has no streams.
        """
        if self.kind != "cuda":
            _core.fail(
                "CallError",
                "device_has_streams",
                f"stream: device {self} has no streams that are chosen",
                hint="leave it out: calls run in the order in which they are made",
            )
        before = _core.choose_stream(handle)
        try:
            yield
        finally:
            _core.choose_stream(before)

    def __str__(self) -> str:
        """Return the name that `array` takes: ``opencl:0``."""
        return f"{self.kind}:{self.number}"


def device(kind: str, number: int = 0) -> Device:
    """Name a device.

    Parameters
    ----------
    kind
        ``opencl``, ``cuda`` or ``cpu``.
    number
        Which of its kind, from 0.

    Returns
    -------
    Device
        Nothing is opened before it is used; `Device.exists` tells whether it is there.

    Raises
    ------
    CallError
        The kind is unknown.
    """
    _core.device_count(kind)
    return Device(kind, number)


def find_nvrtc() -> None:
    """Name CUDA's compiler in ``LOOPSMITH_NVRTC``, where a package of Python has brought it."""
    spec = None if "LOOPSMITH_NVRTC" in os.environ else importlib.util.find_spec("nvidia")
    for folder in (spec and spec.submodule_search_locations) or ():
        found = sorted(Path(folder).glob("*/lib*/libnvrtc.so.*"))
        if found:
            os.environ["LOOPSMITH_NVRTC"] = str(found[-1])
            return
