# SPDX-License-Identifier: Apache-2.0
"""From a program to code that runs: `lower` and `build`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._core import IRModule, Module, PrimFunc, Schedule, Target, TeSchedule
from .argument_errors import explained
from .build_options import (
    DEFAULT_TARGET,
    Numerics,
    allowed_math,
    arguments_and_target,
    checked_count,
    checked_list,
    checked_numerics,
    target_of,
)
from .compiled_program import each_function, program_of, searched_function
from .device import find_nvrtc
from .pass_observers import Dump, own_passes, pass_observer

if TYPE_CHECKING:
    from ._core import Buffer, Tensor, Var
    from .tuning import Records

    Program = Union[PrimFunc, IRModule, Schedule, TeSchedule, Sequence[Tensor]]
    Arguments = Sequence[Union[Tensor, Var]]


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
    args, target = arguments_and_target("lower", args, target)
    program = program_of("lower", x, name, args, binds)
    observer = pass_observer("lower", dump, timings)
    return _core.lower(
        program, target_of("lower", target), simple_mode, observer, own_passes("lower", passes)
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
    numerics: Numerics = "free",
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
        What the function is to be called; ``main`` where it has no name.
    binds
        As in `lower`.
    contract
        Whether ``a * b + c`` may be rounded once.
    fast_math
        What else may go, by name: ``reassociate``, ``no_nans``, ``no_infs``, ``no_signed_zeros``,
        ``reciprocal``, ``approximate``, ``no_denormals``; True or ``"all"``: all of it.
    num_threads
        How many threads run parallel loops; the module then has threads of its own. By default
        all modules share one for each processor.
    affinity
        The processors on which the module's threads run.
    default_schedule
        Whether what has no schedule is scheduled by rule.
    numerics
        ``"strict"``: results are those of the program as it is written, to the bit, as with
        ``default_schedule=False``; ``"reproducible"``: those of one order of each reduction, the
        same on all machines, with whatever schedule `records` have. Schedules that are given stay
        as they are.
    records
        What `tune` has found: a function that has no schedule gets that of its record, if there is
        one for the target, the machine and these options, of a search with these `numerics`.
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
    allowed = allowed_math("build", fast_math)
    args, target = arguments_and_target("build", args, target)
    target = target_of("build", target)
    if target.kind == "cuda":
        find_nvrtc()
    program = program_of("build", x, name, args, binds, keeps_trace=True)
    checked_numerics("build", numerics)
    if not default_schedule and numerics == "free":
        numerics = "strict"
    options: dict[str, Any] = {
        "contract": contract, "fast_math": fast_math, "num_threads": num_threads,
    }  # fmt: skip
    if records is not None and not checks:
        from .tuning.records.lookup import recorded

        program = each_function(program, recorded(records, str(target), options, numerics))
    searched = searched_function(tune, program)
    if numerics == "reproducible":
        from .tuning.spaces.fixed_order import unless_scheduled

        program = each_function(program, unless_scheduled)
    if checks:
        from .checks import with_checks

        program = each_function(program, lambda func: with_checks(_core.with_outputs(func)))
    module = _core.build(
        program,
        target,
        contract,
        allowed,
        checked_count("num_threads", num_threads or 0),
        [
            checked_count("affinity", cpu)
            for cpu in checked_list("build", "affinity", affinity or ())
        ],
        numerics == "free" and not checks,
        profile,
        dict(functions or {}),
        pass_observer("build", dump, timings),
        own_passes("build", passes),
    )
    if searched is None:
        return module
    from .tuning.background import BackgroundModule, search_of

    locked = {**options, "numerics": numerics}
    made: Any = BackgroundModule(module, search_of(searched, target, records, locked))
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
    program = program_of("default_schedule", x, None)
    assert isinstance(program, PrimFunc)
    aim = target_of("default_schedule", DEFAULT_TARGET if target is None else target)
    threads = checked_count("num_threads", num_threads or 0)
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
