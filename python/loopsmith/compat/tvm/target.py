# SPDX-License-Identifier: Apache-2.0
"""``tvm.target``: what code is generated for."""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import loopsmith as ls

from ..missing import other_names
from .target_functions import (
    GenericFunc,
    generic_func,
    get_native_generic_func,
    override_native_generic_func,
)

__all__ = [
    "GenericFunc",
    "Target",
    "arm_cpu",
    "create",
    "cuda",
    "generic_func",
    "get_native_generic_func",
    "intel_graphics",
    "llvm",
    "mali",
    "override_native_generic_func",
]

_entered = threading.local()

_KINDS = ("c", "cuda", "llvm", "opencl")
_LISTS = ("keys", "libs", "mattr")

_NOTES = ("device", "from_device", "keys", "libs", "model", "tag")
"""Options that say which schedules and libraries to choose from, of which code does not depend.

Operators of `tvm.topi` have one schedule here, and call no libraries.
"""

_GPU = {
    "max_threads_per_block": 1024,
    "max_shared_memory_per_block": 49152,
    "registers_per_block": 65536,
    "thread_warp_size": 32,
}
_TAGS: dict[str, dict[str, Any]] = {
    f"nvidia/{name}": {"kind": "cuda", "arch": arch, **_GPU}
    for arch, names in {
        "sm_53": "jetson-nano",
        "sm_61": "geforce-gtx-1070 geforce-gtx-1080 geforce-gtx-1080-ti",
        "sm_70": "nvidia-v100 tesla-v100",
        "sm_72": "jetson-agx-xavier",
        "sm_75": "nvidia-t4 geforce-rtx-2060 geforce-rtx-2070 geforce-rtx-2080 geforce-rtx-2080-ti",
        "sm_80": "nvidia-a100 nvidia-a30",
        "sm_86": "geforce-rtx-3060 geforce-rtx-3070 geforce-rtx-3080 geforce-rtx-3090 nvidia-a10g",
        "sm_87": "jetson-agx-orin-32gb jetson-agx-orin-64gb",
        "sm_89": "geforce-rtx-4090 nvidia-l40 nvidia-l4",
        "sm_90a": "nvidia-h100",
    }.items()
    for name in names.split()
}


class BadTarget(ls.UserError, ValueError):
    """A target that there is none of, by any class that programs catch."""


class TargetKind(str):
    """The kind of a target: its name."""

    @property
    def name(self) -> str:
        """The name, as a text."""
        return str(self)


class Target(ls.Target):
    """A target, also as a scope: what is built inside is built for it.

    Parameters
    ----------
    tag_or_str_or_dict
        A text, ``"llvm -mcpu=native"``, also of JSON; a dict with its ``kind`` and options; or the
        name of a GPU, ``"nvidia/nvidia-a100"``.
    host
        What calls it. Code for a processor is its own host.
    """

    def __init__(self, tag_or_str_or_dict: Any, host: Any = None) -> None:
        given = _options(tag_or_str_or_dict)
        kind, inner = given.pop("kind"), given.pop("host", None)
        self._notes = {name: given.pop(name) for name in _NOTES if name in given}
        parts = [f"-{name}={_listed(value)}" for name, value in given.items()]
        try:
            super().__init__(" ".join([str(kind), *parts]))
        except ls.UserError as error:
            raise BadTarget(str(error)) from error
        host = inner if host is None else host
        self.host = host if host is None or isinstance(host, Target) else Target(host)

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the target of the innermost scope; None outside of all.

        Raises
        ------
        ValueError
            Outside of all, unless `allow_none`.
        """
        stack = getattr(_entered, "stack", [])
        if not stack and not allow_none:
            raise ValueError("there is no current target: write `with tvm.target.Target(...):`")
        return stack[-1] if stack else None

    @staticmethod
    def list_kinds() -> list[str]:
        """Return the kinds that there are."""
        return list(_KINDS)

    @staticmethod
    def canon_target(target: Any) -> Target | None:
        """Return a target, which may be given as a text or a dict; None as it is."""
        return target if target is None or isinstance(target, Target) else Target(target)

    @staticmethod
    def canon_target_and_host(target: Any, host: Any = None, *_: Any) -> tuple[Any, Any]:
        """Return a target with its host, and the host."""
        known = Target.canon_target(target)
        if known is not None and host is not None:
            known = known.with_host(host)
        return known, known.host if known is not None else Target.canon_target(host)

    @staticmethod
    def from_device(device: Any) -> Target:
        """Return the target of a device, which may be given by its name: ``"cpu"``, ``"cuda"``."""
        name = str(device).partition("(")[0].partition(":")[0]
        return Target({"cpu": "llvm -mcpu=native", "gpu": "cuda"}.get(name, name))

    def with_host(self, host: Any) -> Target:
        """Return the target with another host."""
        return Target(self.export(), host)

    @property
    def kind(self) -> TargetKind:
        """What generates its code: ``llvm``, ``c``, ``cuda`` or ``opencl``."""
        return TargetKind(super().kind)

    @property
    def keys(self) -> list[str]:
        """The families that it belongs to."""
        own = ["cpu"] if str(self.kind) in ("llvm", "c") else [str(self.kind), "gpu"]
        given = _parts(self._notes.get("keys"))
        device = [self.device_name] if self.device_name else []
        return list(dict.fromkeys([*given, *device, *own]))

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Its options."""
        found: dict[str, Any] = {**self.options, **self._notes}
        found.pop("keys", None)
        for name, value in found.items():
            if name in _LISTS:
                found[name] = _parts(value)
            elif str(value).lstrip("-").isdigit():
                found[name] = int(value)
        return found

    @property
    def tag(self) -> str:
        """The name that it was given by; empty: none."""
        return str(self._notes.get("tag", ""))

    @property
    def libs(self) -> list[str]:
        """Libraries that operators may call elsewhere."""
        return _parts(self._notes.get("libs"))

    @property
    def model(self) -> str:
        """The model of the device."""
        return str(self._notes.get("model", "unknown"))

    @property
    def device_name(self) -> str:
        """The family whose schedules are meant."""
        return str(self._notes.get("device", ""))

    @property
    def mcpu(self) -> str:
        """The processor; empty: any."""
        return str(self.attrs.get("mcpu", ""))

    @property
    def mattr(self) -> list[str]:
        """What the processor has beside what is named after it."""
        return list(self.attrs.get("mattr", []))

    @property
    def arch(self) -> str:
        """The generation of a GPU; empty: that of the one that is there."""
        return str(self.attrs.get("arch", ""))

    @property
    def thread_warp_size(self) -> int:
        """How many threads of a GPU go in step."""
        return int(self.attrs.get("thread_warp_size", 1 if "cpu" in self.keys else 32))

    @property
    def max_num_threads(self) -> int:
        """How many threads a block of a GPU has at most."""
        most = self.attrs.get("max_num_threads", self.attrs.get("max_threads_per_block", 1024))
        return int(most)

    max_threads_per_block = max_num_threads

    def export(self) -> dict[str, Any]:
        """Return the target as a dict, from which it can be made."""
        host = {"host": self.host.export()} if self.host is not None else {}
        made = {"kind": str(self.kind), "keys": self.keys, **self.attrs, **host}
        return {"tag": "", **made}

    def __enter__(self) -> Target:
        """Make it the current target."""
        if not hasattr(_entered, "stack"):
            _entered.stack = []
        _entered.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Make current what was before."""
        _entered.stack.pop()


def _parts(value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [str(part) for part in value]
    return [part for part in str(value or "").split(",") if part]


def _listed(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _options(given: Any) -> dict[str, Any]:
    """Return the kind and the options of a target as a dict."""
    if isinstance(given, Target):
        return given.export()
    if isinstance(given, Mapping):
        made = {name: value for name, value in given.items() if value != ""}
        return made if "kind" in made else {**_options(str(given.get("tag"))), **made}
    text = str(given).strip()
    if text.startswith("{"):
        return _options(json.loads(text))
    kind, *words = shlex.split(text) or [""]
    found: dict[str, Any] = {**_TAGS[kind], "tag": kind} if kind in _TAGS else {"kind": kind}
    while words:
        name, equals, value = words.pop(0).partition("=")
        if not equals and words and not words[0].startswith("-"):
            value = words.pop(0)
        found[name.lstrip("-")] = value
    return found


def create(text: Any) -> Target:
    """Return the target that a text says."""
    return Target(text)


def llvm(options: str = "") -> Target:
    """Return the target of processors that LLVM generates code for."""
    return Target(f"llvm {options}".strip())


def _of(text: str, notes: Mapping[str, Any], options: str | Sequence[str] | None) -> Target:
    more = options if isinstance(options, str) else " ".join(options or ())
    return Target({**_options(f"{text} {more}"), **{k: v for k, v in notes.items() if v}})


def cuda(
    model: str = "unknown", arch: str | None = None, options: str | Sequence[str] | None = None
) -> Target:
    """Return the target of GPUs that CUDA programs."""
    return _of("cuda", {"model": model, "arch": arch}, options)


def arm_cpu(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """Return the target of processors of this family; say which by ``-mtriple`` and ``-mcpu``."""
    return _of("llvm", {"device": "arm_cpu", "model": model}, options)


def mali(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """Return the target of this family of GPUs, by OpenCL."""
    return _of("opencl", {"device": "mali", "model": model}, options)


def intel_graphics(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """Return the target of this family of GPUs, by OpenCL."""
    return _of("opencl", {"device": "intel_graphics", "model": model}, options)


__getattr__ = other_names("tvm.target")
