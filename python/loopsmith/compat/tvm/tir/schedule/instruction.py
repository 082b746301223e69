# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.schedule.instruction``: steps of a trace, made by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from loopsmith import _core, tir

from ....missing import other_names

__all__ = ["BlockRV", "ExprRV", "Instruction", "InstructionKind", "LoopRV", "Trace"]


class _Handles(type):
    """The class of handles that are made by hand: also those of a schedule are of it."""

    _of_schedule: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, cls._of_schedule)


class _Handle(metaclass=_Handles):
    letter = "v"
    _of_schedule: type = tir.ExprRV

    def same_as(self, other: Any) -> bool:
        """Return whether both are one handle."""
        return self is other


class BlockRV(_Handle):
    """A handle of a block that no schedule has given."""

    letter = "b"
    _of_schedule = tir.BlockRV


class LoopRV(_Handle):
    """A handle of a loop that no schedule has given."""

    letter = "l"
    _of_schedule = tir.LoopRV


class ExprRV(_Handle):
    """A handle of a number that no schedule has given."""


class InstructionKind:
    """What a step does."""

    _known: ClassVar[dict[str, InstructionKind]] = {}

    def __init__(self, name: str) -> None:
        self.name = name

    @staticmethod
    def get(name: str) -> InstructionKind:
        """Return the kind of that name; raise a ValueError where there is none."""
        method = _method_name(name)
        if not hasattr(tir.Schedule, method):
            raise ValueError(f"there is no kind of steps {name!r}")
        return InstructionKind._known.setdefault(name, InstructionKind(name))

    @property
    def method(self) -> str:
        """The method of schedules that does it."""
        return _method_name(self.name)

    @property
    def is_pure(self) -> bool:
        """Whether it changes nothing."""
        return self.method.startswith(("get_", "sample_"))

    def same_as(self, other: Any) -> bool:
        """Return whether both are one kind."""
        return self is other


def _method_name(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


# The order in which the steps of old traces have their parts: inputs, then attributes.
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "GetBlock": ("name", "func_name"),
    "Split": ("loop", "*factors", "preserve_unit_iters", "disable_predication"),
    "Fuse": ("*loops", "preserve_unit_iters"),
    "Reorder": ("*loops",),
    "Annotate": ("block_or_loop", "ann_val", "ann_key"),
    "Unannotate": ("block_or_loop", "ann_key"),
    "SampleCategorical": ("candidates", "probs"),
}


def _parameters_of(method: str) -> tuple[str, ...]:
    for primitive in _core.primitives():
        if primitive["name"] == method:
            return tuple(parameter["name"] for parameter in primitive["parameters"])
    return ()


class Instruction:
    """One step: its kind, what it takes and the handles that it gives."""

    def __init__(
        self,
        kind: InstructionKind,
        inputs: Sequence[Any],
        attrs: Sequence[Any],
        outputs: Sequence[Any],
    ) -> None:
        self.kind = kind
        self.inputs, self.attrs, self.outputs = list(inputs), list(attrs), list(outputs)

    def same_as(self, other: Any) -> bool:
        """Return whether both are one step."""
        return self is other

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of the method, by place and by name."""
        names = _PARAMETERS.get(self.kind.name)
        if names is None:
            names = _parameters_of(self.kind.method)
        given = [*self.inputs, *self.attrs]
        placed: list[Any] = []
        named: dict[str, Any] = {}
        for name in names:
            if name.startswith("*"):
                many = self.inputs[len(named) :]
                given = list(self.attrs)
                if name == "*loops":
                    placed = many
                else:
                    named[name[1:]] = many
            elif given:
                named[name] = given.pop(0)
        return placed, named

    def as_python(self, names: Mapping[int, str]) -> str:
        """Return the line of Python that does it, with handles by their names."""
        placed, named = self.arguments()
        parts = [_text(each, names) for each in placed]
        parts += [f"{name}={_text(value, names)}" for name, value in named.items()]
        call = f"sch.{self.kind.method}({', '.join(parts)})"
        if not self.outputs:
            return call
        made = [names.get(id(each), "_") for each in self.outputs]
        listed = (
            f"{made[0]}," if len(made) == 1 and self.kind.name == "GetLoops" else ", ".join(made)
        )
        return f"{listed} = {call}"

    def __str__(self) -> str:
        """Return the line of Python that does it."""
        return self.as_python({})


def _text(value: Any, names: Mapping[int, str]) -> str:
    if isinstance(value, (_Handle, tir.BlockRV, tir.LoopRV, tir.ExprRV, tir.Var)):
        return names.get(id(value), "_")
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (tir.IntImm, tir.FloatImm)):
        return repr(bool(value.value) if str(value.dtype) == "bool" else value.value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_text(each, names) for each in value) + "]"
    return repr(value)


def _is_of_schedule(steps: Sequence[Any]) -> bool:
    """Return whether steps are as a schedule's trace writes them: attributes as Python's text."""
    attributes = [attr for _, _, attrs, _ in steps for attr in attrs if isinstance(attr, str)]
    handles = {handle for *_, outputs in steps for handle in outputs}
    return all(attr == "None" or attr in handles or attr.startswith('"') for attr in attributes)


class Trace:
    """Steps in their order, with what those that choose have chosen."""

    def __new__(cls, insts: Sequence[Any] = (), decisions: Mapping[Any, Any] | None = None) -> Any:
        """Return a trace; of the steps of a schedule, one as schedules give it."""
        if insts and all(isinstance(inst, _core.Instruction) for inst in insts):
            return tir.Trace(list(insts), dict(decisions or {}))
        return super().__new__(cls)

    def __init__(self, insts: Sequence[Instruction], decisions: Mapping[Any, Any]) -> None:
        self.insts = list(insts)
        self.decisions = dict(decisions)

    def get_decision(self, inst: Instruction) -> Any:
        """Return what a step decided; None if it decides nothing."""
        return self.decisions.get(inst)

    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Add a step."""
        self.insts.append(inst)
        if decision is not None:
            self.decisions[inst] = decision

    def pop(self) -> Instruction | None:
        """Take the last step away and return it; None where there is none."""
        if not self.insts:
            return None
        last = self.insts.pop()
        self.decisions.pop(last, None)
        return last

    def _names(self) -> dict[int, str]:
        names: dict[int, str] = {}
        for inst in self.insts:
            for made in inst.outputs:
                names[id(made)] = f"{getattr(made, 'letter', 'v')}{len(names)}"
        return names

    def _kept(self, remove_postproc: bool) -> list[Instruction]:
        kept: list[Instruction] = []
        for inst in self.insts:
            if remove_postproc and inst.kind.name == "EnterPostproc":
                break
            kept.append(inst)
        return kept

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """Return the lines of Python that do the steps."""
        names = self._names()
        return [inst.as_python(names) for inst in self._kept(remove_postproc)]

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """Return the steps and decisions as lists, ready for JSON."""
        names = self._names()

        def plain(value: Any) -> Any:
            if isinstance(value, str):
                return value
            text = _text(value, names)
            if isinstance(value, (_Handle, tir.Var)):
                return text
            return eval(text)

        steps = [
            [
                inst.kind.name,
                [f'"{x}"' if isinstance(x, str) else plain(x) for x in inst.inputs],
                [plain(each) for each in inst.attrs],
                [names[id(each)] for each in inst.outputs],
            ]
            for inst in self._kept(remove_postproc)
        ]
        decided = [[i, self.decisions[inst]] for i, inst in enumerate(self.insts)
                   if inst in self.decisions]  # fmt: skip
        return [steps, decided]

    def apply_to_schedule(
        self,
        sch: Any,
        remove_postproc: bool = False,
        decision_provider: Callable[..., Any] | None = None,
    ) -> None:
        """Do the steps on a schedule."""
        made: dict[int, Any] = {}

        def real(value: Any) -> Any:
            if isinstance(value, list):
                return [real(each) for each in value]
            if isinstance(value, (tir.IntImm, tir.FloatImm)):
                return value.value
            return made.get(id(value), value)

        for inst in self._kept(remove_postproc):
            placed, named = inst.arguments()
            decision = self.decisions.get(inst)
            if decision_provider is not None and inst.kind.method.startswith("sample_"):
                decision = decision_provider(inst, inst.inputs, inst.attrs, decision)
            if decision is not None:
                named["decision"] = decision
            result = getattr(sch, inst.kind.method)(
                *(real(each) for each in placed), **{k: real(v) for k, v in named.items()}
            )
            results = result if isinstance(result, (list, tuple)) else [result]
            made.update((id(out), each) for out, each in zip(inst.outputs, results))

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Any) -> None:
        """Do the steps that `as_json` gave, of this class or of a schedule's trace."""
        steps, decisions = json_obj
        if _is_of_schedule(steps):
            tir.Trace.apply_json_to_schedule(json_obj, sch)
            return
        handles: dict[str, Any] = {}

        def handle(name: Any) -> Any:
            if not isinstance(name, str):
                return name
            if name.startswith('"'):
                return name[1:-1]
            kinds = {"b": BlockRV, "l": LoopRV}
            return handles.setdefault(name, kinds.get(name[0], ExprRV)())

        insts = [
            Instruction(
                InstructionKind.get(str(kind)),
                [handle(each) for each in inputs],
                list(attrs),
                [handle(each) for each in outputs],
            )
            for kind, inputs, attrs, outputs in steps
        ]
        Trace(insts, {insts[i]: decision for i, decision in decisions}).apply_to_schedule(sch)

    def simplified(self, remove_postproc: bool = False) -> Trace:
        """Return the trace without queries whose results are not used."""
        used: set[int] = set()
        kept: list[Instruction] = []
        for inst in reversed(self._kept(remove_postproc)):
            is_needed = not inst.kind.is_pure or any(id(each) in used for each in inst.outputs)
            if is_needed:
                kept.insert(0, inst)
                used.update(id(each) for each in inst.inputs)
        return Trace(kept, {key: value for key, value in self.decisions.items() if key in kept})

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.insts)

    def __str__(self) -> str:
        """Return the function that does the steps."""
        lines = self.as_python() or ["pass"]
        head = ["# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:"]
        return "\n".join(head + [f"  {line}" for line in lines])


__getattr__ = other_names("tvm.tir.schedule.instruction")
