# SPDX-License-Identifier: Apache-2.0
"""From a program to code that runs: `lower` and `build`."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from . import _core
from ._core import IRModule, Module, PrimFunc, Schedule, Target, TeSchedule
from .argument_errors import explained
from .device import find_nvrtc

if TYPE_CHECKING:
    from ._core import Buffer, Tensor, Var
    from .tuning import Records

    Program = Union[PrimFunc, IRModule, Schedule, TeSchedule, Sequence[Tensor]]
    Arguments = Sequence[Union[Tensor, Var]]

DEFAULT_TARGET = "llvm -mcpu=native"
OUTPUTS = "tir.outputs"


class PassRecord(NamedTuple):
    """One pass that was run on one function."""

    name: str
    before: PrimFunc
    after: PrimFunc
    seconds: float

    def __str__(self) -> str:
        """Return the function before and after the pass, in the script language."""
        header = f"# {self.name}, {self.seconds * 1e3:.3f} ms"
        if self.before is self.after:
            return f"{header}, changed nothing\n{self.after.script()}"
        return f"{header}, before\n{self.before.script()}\n{header}, after\n{self.after.script()}"


Dump = Union[str, Sequence[str], Callable[[PassRecord], None], None]
"""Names of passes, ``"all"``, or who is told of each pass."""


@explained
def lower(
    x: Program,
    args: Arguments | Target | str | None = None,
    name: str | None = None,
    binds: Mapping[Tensor, Buffer] | None = None,
    *,
    target: Target | str | None = None,
    simple_mode: bool = False,
    passes: Mapping[str, Any] | None = None,
    dump: Dump = None,
    timings: dict[str, float] | None = None,
) -> Any:
    """Bring a program into the form that a code generator takes, as it is scheduled.

    Parameters
    ----------
    x
        A function, a module, a schedule, or the tensors that are to be a function's parameters.
    args
        For a schedule of tensor expressions: the parameters of the function, tensors and scalar
        variables. A target in this place is the target.
    name
        What the function is to be called.
    binds
        Of a schedule of tensor expressions: the buffers of arguments, where their arrays have
        strides or an alignment of their own.
    target
        What code is to be generated for; without, this machine.
    simple_mode
        Leaves loops whole that would be cut at a guard: fewer lines to read.
    passes
        Passes of one's own, by the names of those that they come after:
        ``{"simplify": my_pass}``. Each takes a PrimFunc and returns one, in the same form.
    dump
        Passes to print before and after, to the standard error, by their names (``"simplify"``,
        ``["flatten_buffers", "simplify"]``, ``"all"``); or a function that gets the `PassRecord`
        of each pass. The environment variable ``LOOPSMITH_DUMP`` prints as well.
    timings
        Gets the seconds that each pass took, by its name.

    Returns
    -------
    PrimFunc or IRModule
        A module for a module, else a function.

    Raises
    ------
    LowerError
        The program cannot be lowered.
    """
    args, target = _arguments_and_target("lower", args, target)
    program = _program("lower", x, name, args, binds)
    observer = _observer("lower", dump, timings)
    return _core.lower(
        program, _target("lower", target), simple_mode, observer, _own_passes("lower", passes)
    )


@explained
def run_pass(x: PrimFunc | IRModule, name: str) -> Any:
    """Run one pass of lowering alone.

    Parameters
    ----------
    x
        A function or a module, in the form that the passes before this one leave.
    name
        The pass: ``"simplify"``, ``"lower_init"``, ``"unroll_loops"``, ...

    Returns
    -------
    PrimFunc or IRModule
        A module for a module, else a function.

    Raises
    ------
    LowerError
        There is no pass of that name, or it does not take the program.
    """
    if isinstance(x, PrimFunc):
        return _core.run_pass(x, name)
    functions = [_core.run_pass(func, name) for func in x.functions]
    return IRModule(names=list(x.names), functions=functions, attrs=x.attrs)


@explained
def build(
    x: Program,
    args: Arguments | Target | str | None = None,
    target: Target | str | None = None,
    *,
    name: str | None = None,
    binds: Mapping[Tensor, Buffer] | None = None,
    contract: bool = True,
    fast_math: bool | str | Sequence[str] | None = None,
    num_threads: int | None = None,
    affinity: Sequence[int] | None = None,
    default_schedule: bool = True,
    records: Records | str | os.PathLike[str] | None = None,
    tune: str | None = None,
    checks: bool = False,
    profile: bool = False,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    passes: Mapping[str, Any] | None = None,
    dump: Dump = None,
    timings: dict[str, float] | None = None,
) -> Module:
    """Compile a program and load the code.

    Parameters
    ----------
    x
        A function, a module, a schedule, or the tensors that are to be a function's parameters.
    args
        For a schedule of tensor expressions: the parameters of the function, tensors and scalar
        variables. A target in this place is the target.
    target
        What code is generated for; without, this machine.
    name
        What the function is to be called; ``main`` where nobody has named it.
    binds
        As in `lower`.
    contract
        Whether ``a * b + c`` may be rounded once.
    fast_math
        What else may go, by name: ``reassociate``, ``no_nans``, ``no_infs``, ``no_signed_zeros``,
        ``reciprocal``, ``approximate``; True or ``"all"``: all of it.
    num_threads
        How many threads run parallel loops; the module then has threads of its own. By default
        all modules share one for each processor.
    affinity
        The processors on which the module's threads run.
    default_schedule
        Whether what has no schedule is scheduled by rule.
    records
        What `tune` has found: a function that has no schedule gets that of its record, if there is
        one for the target, the machine and these options; with ``default_schedule=False``, one of
        a search with ``numerics="strict"``.
    tune
        ``"background"``: a thread searches for a quicker schedule of a function that has none, and
        swaps it in; the result is then a `loopsmith.tuning.BackgroundModule`. With `records`, what
        it finds is kept there; where there is a record already, nothing is searched.
    checks
        Whether the program stops with an error where an access would leave its tensor. It is then
        slow: nothing is vectorized, or scheduled by rule.
    profile
        Whether the code times its loops while it runs: `Module.profile` gives the table. Those that
        are over in a few microseconds are left out, so that a call takes about as long as without.
        For targets of kind llvm.
    functions
        What ``T.call_packed`` calls, by name, before what `register_func` has registered at the
        time of the call; see `loopsmith.host`. Threads of parallel loops call them one at a time.
    passes, dump, timings
        As in `lower`.

    Returns
    -------
    Module
        Called with arrays in the order of the parameters, it writes the results in place. Arrays
        may be of NumPy, PyTorch, JAX, or any that speaks DLPack or the buffer protocol; they are
        not copied. Arguments may be given by name. An output, which the program writes and does
        not read before, may be left out, and is then returned; ``out=`` gives the arrays for those
        that are left out.

    Raises
    ------
    LowerError
        The program cannot be lowered.
    UserError
        The target or an option is unknown.
    FormatError
        `records` cannot be used, or has a record that this version of the compiler refuses.

    Examples
    --------
    >>> A = te.placeholder((1024,), name="A")
    >>> B = te.compute((1024,), lambda i: A[i] + 1, name="B")
    >>> add = ls.build([A, B])
    >>> add(a, b)
    """
    if fast_math is None or isinstance(fast_math, bool):
        allowed = ["all"] if fast_math else []
    else:
        allowed = _names("build", "fast_math", fast_math)
    args, target = _arguments_and_target("build", args, target)
    target = _target("build", target)
    if target.kind == "cuda":
        find_nvrtc()
    program = _program("build", x, name, args, binds, keeps_trace=True)
    if records is not None and not checks:
        from .tuning.lookup import recorded

        options = {
            "contract": contract,
            "fast_math": fast_math,
            "num_threads": num_threads,
            "default_schedule": default_schedule,
        }
        program = _each_function(program, recorded(records, str(target), options))
    searched = _searched(tune, program)
    if checks:
        from .checks import with_checks

        program = _each_function(program, lambda func: with_checks(_core.with_outputs(func)))
    module = _core.build(
        program,
        target,
        contract,
        allowed,
        _count("num_threads", num_threads or 0),
        [_count("affinity", cpu) for cpu in _list("build", "affinity", affinity or ())],
        default_schedule and not checks,
        profile,
        dict(functions or {}),
        _observer("build", dump, timings),
        _own_passes("build", passes),
    )
    if searched is None:
        return module
    from .tuning.background import BackgroundModule, search_of

    options = {"contract": contract, "fast_math": fast_math, "num_threads": num_threads}
    made: Any = BackgroundModule(module, search_of(searched, target, records, options))
    return made  # type: ignore[no-any-return]  # It is called as the module is.


@explained
def default_schedule(
    x: PrimFunc | Sequence[Tensor],
    target: Target | str | None = None,
    *,
    holes: bool = False,
    num_threads: int | None = None,
) -> Schedule:
    """Return the schedule that `build` gives to a function which has none.

    It is a schedule as one by hand: its trace prints as Python and applies to a fresh
    `tir.Schedule` of the function, and more steps may be taken. Blocks that no rule takes by steps
    stay as they are written; `build` turns these into loops itself.

    Parameters
    ----------
    x
        A function, or the tensors that are to be its parameters.
    target
        What it is for; without, this machine. Vectors, tiles and tasks follow its processor; for a
        GPU (``cuda``, ``opencl``) blocks are bound to threads, as many as the target has.
    holes
        Whether numbers (lanes, tile sizes, tasks) are left open: each is then a
        ``sample_categorical`` whose decision is what the rule chose, and which a search may decide
        otherwise.
    num_threads
        For how many threads; without, for as many as `build` would use.

    Examples
    --------
    >>> sch = ls.default_schedule(func)
    >>> print(sch.trace)
    >>> kernel = ls.build(sch)
    """
    if isinstance(x, (IRModule, Schedule, TeSchedule)):
        _core.fail(
            "TypeMismatch",
            "argument_has_type",
            f"default_schedule: x is a {type(x).__name__}, not a function",
            hint="pass a PrimFunc or a list of tensors; of a module, one function after the other",
        )
    program = _program("default_schedule", x, None)
    assert isinstance(program, PrimFunc)
    aim = _target("default_schedule", DEFAULT_TARGET if target is None else target)
    threads = _count("num_threads", num_threads or 0)
    return _core.default_schedule(program, aim, holes, threads)


@explained
def load_module(
    path: str | os.PathLike[str], *, functions: Mapping[str, Callable[..., Any]] | None = None
) -> Module:
    """Load the functions of a file that `Module.export` wrote.

    Parameters
    ----------
    path
        A ``.so`` or a ``.o`` for this machine. It must be trusted: its code runs.
    functions
        What its programs call by name, as in `build`.

    Returns
    -------
    Module
        Its functions check their arguments as those of `build` do.

    Raises
    ------
    CallError
        The library cannot be opened.
    FormatError
        The file has no metadata of ours, or of a newer release.
    """
    return _core.load_module(os.fspath(path), dict(functions or {}))


def reduced(module: Module) -> tuple[Any, ...]:
    """Return how pickle makes a module again: of its code, exported as a shared object."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.so"
        module.export(path)
        return unpickled, (path.read_bytes(),)


def unpickled(code: bytes) -> Module:
    """Load the module that `reduced` exported. It must be trusted: its code runs."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.so"
        path.write_bytes(code)
        return load_module(path)


@explained
def export_runtime(path: str | os.PathLike[str]) -> None:
    """Write what exported ``.o``, ``.s`` and ``.ll`` files are linked with: one file of C99.

    It checks arguments, makes contexts, and runs parallel loops on POSIX threads. Exported ``.so``,
    ``.a`` and ``.c`` files have it in them.
    """
    _core.export_runtime(os.fspath(path))


ScheduleObserver = Callable[[TeSchedule, Any, Mapping[Any, Any]], None]
"""Gets a schedule of tensor expressions that is lowered or built, its arguments and buffers."""
_schedule_observer: ContextVar[ScheduleObserver | None] = ContextVar("observer", default=None)


@contextmanager
def observed_schedules(observe: ScheduleObserver) -> Iterator[None]:
    """Let `observe` be told of each schedule of tensor expressions before it is carried out."""
    token = _schedule_observer.set(observe)
    try:
        yield
    finally:
        _schedule_observer.reset(token)


def _arguments_and_target(
    who: str, args: Any, target: Target | str | None
) -> tuple[Any, Target | str]:
    """Return the arguments, if any, and the target: a target may stand in their place."""
    if isinstance(args, (Target, str)):
        if target is not None:
            _core.fail(
                "TypeMismatch",
                "one_target",
                f"{who}: the targets {args} and {target} are given",
                hint="give one",
            )
        return None, args
    return args, DEFAULT_TARGET if target is None else target


def _program(
    who: str,
    x: Program,
    name: str | None,
    args: Any = None,
    binds: Mapping[Tensor, Buffer] | None = None,
    keeps_trace: bool = False,
) -> PrimFunc | IRModule:
    """Return a function or a module; of tensors, the function that computes them."""
    if isinstance(x, (list, tuple)):
        from . import te

        x = te.create_prim_func(x)
    if isinstance(x, TeSchedule):
        observe = _schedule_observer.get()
        if observe is not None:
            observe(x, args, dict(binds or {}))
        steps = x.to_tir(args, dict(binds or {}))
        steps.require_no_obligations(who)
        # Also where nothing was decided: it is computed as it stands.
        scheduled = scheduled_program(steps, keeps_trace)
        assert isinstance(scheduled, PrimFunc)
        x = scheduled.with_attr("tir.is_scheduled", 1)
    elif args is not None or binds:
        _core.fail(
            "TypeMismatch",
            "program_has_parameters",
            f"{who}: a {type(x).__name__} has parameters of its own, and arguments are given",
            hint="leave out `args` and `binds`",
        )
    if isinstance(x, Schedule):
        x.require_no_obligations(who)
        x = scheduled_program(x, keeps_trace)
    if not isinstance(x, (PrimFunc, IRModule)):
        _core.fail(
            "TypeMismatch",
            "program_is_function",
            f"{who}: a {type(x).__name__} is no program",
            hint="pass a PrimFunc, an IRModule, a Schedule or a list of tensors",
        )
    if name is None:
        return x
    if isinstance(x, IRModule):
        _core.fail(
            "TypeMismatch",
            "module_has_names",
            f"{who}: the functions of a module have names already",
            hint="leave out `name`",
        )
    return x.with_attr("global_symbol", name)


def _searched(tune: str | None, program: PrimFunc | IRModule) -> PrimFunc | None:
    """Return the function that is to be searched in the background, if it has no schedule."""
    if tune is None:
        return None
    if tune != "background":
        _core.fail(
            "UserError",
            "tune_is_known",
            f"build: tune is {tune!r}",
            hint='pass "background", or call ls.tune',
        )
    if not isinstance(program, PrimFunc):
        _core.fail(
            "TypeMismatch",
            "program_is_function",
            f"build: a {type(program).__name__} is not tuned in the background",
            hint="tune its functions, or call ls.tune",
        )
    return None if "tir.is_scheduled" in (program.attrs or {}) else program


def _with_outputs(func: PrimFunc, original: IRModule) -> PrimFunc:
    """Return a scheduled function with a note of the outputs that it had before its schedule."""
    for name, before in zip(original.names, original.functions):
        if len(original.functions) == 1 or name.name_hint == func.name:
            return func.with_attr(OUTPUTS, _core.with_outputs(before).attrs[OUTPUTS])
    return func


def _each_function(
    program: PrimFunc | IRModule, change: Callable[[PrimFunc], PrimFunc]
) -> PrimFunc | IRModule:
    """Return a function, or the functions of a module, changed."""
    if isinstance(program, PrimFunc):
        return change(program)
    functions = [change(func) for func in program.functions]
    return IRModule(names=list(program.names), functions=functions, attrs=program.attrs)


def _target(who: str, target: Target | str) -> Target:
    """Return a target; a text that is none is refused with those that there are."""
    if not isinstance(target, (Target, str)):
        _core.fail(
            "TypeMismatch",
            "target_is_text",
            f"{who}: a {type(target).__name__} is no target",
            hint='pass a text, as "llvm -mcpu=native", or a Target',
        )
    return Target(target) if isinstance(target, str) else target


def _count(option: str, value: Any) -> int:
    """Return an integer of 32 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or not -(2**31) <= number < 2**31:
        _core.fail(
            "TypeMismatch",
            "option_is_integer",
            f"build: {option} is {value!r}, not an integer of 32 bits",
            hint=f"pass {option} as a whole number",
        )
    return number


def _list(who: str, option: str, values: Any) -> list[Any]:
    """Return the items of what can be iterated over, but of no text."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        _core.fail(
            "TypeMismatch",
            "option_is_list",
            f"{who}: {option} is {values!r}, not a list",
            hint="pass a list",
        )
    return list(values)


def _names(who: str, option: str, values: Any) -> list[str]:
    """Return a name, or a list of names, as a list."""
    names = [values] if isinstance(values, str) else _list(who, option, values)
    for name in names:
        if not isinstance(name, str):
            _core.fail(
                "TypeMismatch",
                "option_is_name",
                f"{who}: {option} has {name!r}, not a name",
                hint="pass names as texts",
            )
    return names


def scheduled_program(sch: Schedule, keeps_trace: bool) -> PrimFunc | IRModule:
    """Return the program of a schedule; what has been scheduled is not scheduled by rule."""
    module = sch.mod
    functions = list(module.functions)
    if keeps_trace:
        functions = [_with_outputs(func, sch.original) for func in functions]
    if len(sch.trace) > 0:
        functions = [func.with_attr("tir.is_scheduled", 1) for func in functions]
        if keeps_trace:
            import json

            trace = json.dumps(sch.trace.as_json())
            functions = [func.with_attr("tir.schedule_trace", trace) for func in functions]
    if len(functions) == 1:
        return functions[0]
    return IRModule(names=list(module.names), functions=functions, attrs=module.attrs)


def _observer(
    who: str, dump: Dump, timings: dict[str, float] | None
) -> Callable[[str, PrimFunc, PrimFunc, float], None] | None:
    """Return who is told of each pass; None when nobody wants to know."""
    if dump is None and timings is None:
        return None
    names = _dumped_names(who, dump)

    def observe(name: str, before: PrimFunc, after: PrimFunc, seconds: float) -> None:
        if timings is not None:
            timings[name] = timings.get(name, 0.0) + seconds
        record = PassRecord(name, before, after, seconds)
        if callable(dump):
            dump(record)
        elif name in names:
            print(record, file=sys.stderr)

    return observe


def _own_passes(who: str, passes: Mapping[str, Any] | None) -> dict[str, list[Any]]:
    """Return lists of passes by the names of those that they come after, which must exist."""
    lists = {
        after: list(own) if isinstance(own, (list, tuple)) else [own]
        for after, own in (passes or {}).items()
    }
    known = _core.pass_names()
    for after in lists:
        if after not in known:
            _core.fail(
                "UserError",
                "pass_exists",
                f"{who}: there is no pass '{after}' to come after",
                hint=f"the passes are {', '.join(dict.fromkeys(known))}",
            )
    return lists


def _dumped_names(who: str, dump: Dump) -> set[str]:
    """Return the names of the passes to print."""
    if dump is None or callable(dump):
        return set()
    known = _core.pass_names()
    names = set(known) if dump == "all" else set(_names(who, "dump", dump))
    for name in sorted(names - set(known)):
        _core.fail(
            "UserError",
            "pass_exists",
            f"dump: there is no pass '{name}'",
            hint=f"the passes are {', '.join(dict.fromkeys(known))}",
        )
    return names
