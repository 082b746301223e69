# SPDX-License-Identifier: Apache-2.0
"""`tune`: the quickest schedule of a program that a search finds."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NoReturn

from .. import _core
from .._core import IRModule, PrimFunc, Schedule, Target, TeSchedule, Trace, WithDefault
from ..argument_errors import explained
from ..arguments import random_arguments
from ..build_options import DEFAULT_TARGET, Numerics, checked_numerics
from ..errors import UserError
from .measure.roofline import limit_of
from .measure.runner import Runner
from .measure.worker import Job
from .model.model import AnalyticModel, Model
from .records.machine import target_key
from .records.records import Records, is_written, record_of, record_of_sizes
from .records.trial_log import TrialLog
from .results.progress import display_of
from .results.result import Tuned, TunedModule
from .run_tasks import finished, run_tasks
from .search.search import SEARCHES, Mutator, Search
from .share import AnyTask
from .sizes.size_range import SizeSpec, is_ranged, sizes_of
from .sizes.sized import TunedSizes
from .sizes.tune_sizes import sizes_task
from .spaces.fixed_order import ordered
from .spaces.generated import Rule
from .spaces.space import Space, SpaceFunction
from .task import RunsCandidates, Task
from .tunable import Tunable, require_ranges_fit, spaces_of


@explained
def tune(
    x: Tunable,
    target: Target | str = DEFAULT_TARGET,
    *,
    space: SpaceFunction | Trace | None = None,
    rules: Sequence[Rule] = (),
    trials: int = 256,
    seconds: float | None = None,
    records: Records | str | os.PathLike[str] | None = None,
    seed: int = 0,
    arguments: Sequence[Any] | None = None,
    sizes: Mapping[str, SizeSpec] | None = None,
    variants: int = 4,
    weights: Mapping[str, float] | None = None,
    patience: int | None = None,
    regret: float | None = None,
    timeout: float = 10.0,
    memory: int = 4 << 30,
    contract: bool = True,
    fast_math: bool | str | Sequence[str] | None = None,
    num_threads: int | None = None,
    numerics: Numerics = "free",
    progress: bool | None = None,
    model: Model | None = None,
    mutator: Mutator | None = None,
    search: str | type[Search] = "evolutionary",
    runner: RunsCandidates | None = None,
) -> Tuned | TunedModule | TunedSizes:
    """Search for the quickest schedule of a program.

    Each candidate is a legal schedule, is compiled and run in a child process, and must give what
    the default schedule gives. The quickest are then measured beside that one, in turns, and the
    winner is compared with the program without a schedule.

    Parameters
    ----------
    x
        A function; tensors that are to be a function's parameters; a schedule with samples, whose
        decisions are searched, or its trace; a schedule of tensor expressions; or a module, whose
        functions share the trials: more go where they gain more.
    target
        What code is generated for; it must run here.
    space
        What is searched: a function ``sch -> None`` that takes steps, some of which sample, after
        those of `x` if it is a schedule; or a trace. Without: the samples of a schedule; of what
        has no steps, `loopsmith.tuning.generated` (on a GPU, `generated_for_gpu`) and the default
        schedule with its numbers open.
    rules
        Ways of one's own to schedule a block, beside those of the generated space, where that is
        searched. Each has a method ``apply(sch, block)`` that takes steps, some of which may
        sample, and returns True; or False, where it has none for the block.
    trials
        How many candidates are measured at most.
    seconds
        How long the search takes at most, about; the last measurements are within it.
    records
        Where each trial is written, and the winner, if it beats the default schedule. A search of
        the same program in the same space, for the same sizes, goes on with the trials of those
        before it. Where the disk is full, say, a warning tells so, and the search goes on without.
    seed
        Of the search and of the arguments.
    arguments
        What candidates are called with, arrays and numbers; without, random ones.
    sizes
        The symbolic sizes of random arguments, by name; 64 where it says nothing. Where one is a
        `loopsmith.tuning.SizeRange`, or sizes with weights (``{"n": {1: 10, 512: 1}}``), the search
        is for all of them: some are drawn, each candidate is measured with each of these, and the
        result is one function with a few schedules, between which it decides by its sizes.
    variants
        Of ranges: how many schedules that function has at most, beside the default one.
    weights
        Of a module: how often each function is called, by name; 1 where it says nothing.
    patience
        The search ends when so many candidates in a row were not 1 % quicker.
    regret
        The search ends when the best candidate that is left is expected to save less than this
        share of the best time: 0.01 is one percent. Expected is what the model predicts, as far off
        as it has been so far.
    timeout
        Seconds that a candidate has, compiling included.
    memory
        Bytes that a candidate may take.
    contract, fast_math, num_threads
        As in `build`.
    numerics
        ``"strict"`` searches only schedules whose results are those of
        ``build(x, default_schedule=False)`` to the bit; that is then what is to be beaten.
        ``"reproducible"`` fixes one order of each reduction that is quick on all machines, and
        searches only schedules that keep it: their results are equal to the bit, whichever wins,
        however many threads there are.
    progress
        Whether to tell how far it is, on the standard error; by default, on a terminal.
    model
        What ranks candidates before they are measured, instead of a model of the processor.
    mutator
        What changes the decisions of a candidate: a function of its trace and a `random.Random`
        that returns other decisions, or None; without, `loopsmith.tuning.mutated`.
    search
        Which candidates come next: ``"evolutionary"``, descendants of the quickest and of what the
        model likes; ``"annealed"``, walks that the model leads; ``"random"``, any of the space; or
        a subclass of `loopsmith.tuning.Search`.
    runner
        What measures candidates, instead of a child process.

    Returns
    -------
    Tuned, TunedModule or TunedSizes
        The second for a module, the third for ranges of sizes. An interrupt of the keyboard ends
        the search with what there is.

    Raises
    ------
    UserError
        No candidate could be built and measured, of a module for no function; the program does not
        run with the default one; what ends the search has no meaning; `regret` has no model;
        `search` is no search; a weight is of no function, or a size.
    TypeMismatch
        `x` is no program.
    FormatError
        `records` cannot be used.

    Examples
    --------
    >>> best = ls.tune(matmul, trials=100, records="tuned.db")
    >>> print(best)
    >>> kernel = best.build()
    """
    checked_numerics("tune", numerics)
    strategy = _strategy_of(search)
    ranking = model or _model_of(target)
    if regret is not None and ranking is None:
        _fail_regret()
    _core.require_limits(
        trials, math.inf if seconds is None else seconds, timeout, memory,
        1 if patience is None else patience, regret or 0.0, variants,
    )  # fmt: skip
    is_strict = numerics != "free"
    options = {"contract": contract, "fast_math": fast_math, "num_threads": num_threads}
    key = target_key(target, numerics, contract, fast_math, num_threads)
    target_text = str(target)
    store = Records(records) if isinstance(records, (str, os.PathLike)) else records

    def without_steps(func: PrimFunc) -> SpaceFunction:
        """Return the space of a function that comes without one."""
        if is_strict:
            return _core.generated_with(Target(target_text), list(rules))
        return WithDefault(func, target, num_threads, list(rules))

    if rules and (space is not None or isinstance(x, (Schedule, Trace, TeSchedule))):
        _fail_rules()
    build_options = {"target": target_text, **options, "numerics": numerics}

    def log_of(each: Space, drawn: Iterable[Mapping[str, int]]) -> TrialLog | None:
        if store is None:
            return None
        keys = [_core.search_key(each.func, key, each.name, dict(point)) for point in drawn]
        return TrialLog(store, keys)

    begun = time.monotonic()
    with ExitStack() as stack:
        tasks: list[AnyTask] = []
        spaces = spaces_of(x, space, without_steps, numerics)
        _require_weights_fit(weights or {}, spaces)
        for name, each in spaces.items():
            reference = ordered(each.func) if numerics == "reproducible" else None
            if sizes is not None and is_ranged(sizes):
                require_ranges_fit(x, arguments)
                points = _core.drawn_sizes(each.func, dict(sizes), seed)
                whole = Job(each.func, target_text, options, [], memory, is_strict, reference)
                tasks.append(
                    sizes_task(
                        each, points, whole,
                        lambda job: runner or stack.enter_context(Runner(job, timeout)),
                        lambda drawn, func=each.func: _arguments(func, drawn, seed),  # type: ignore[misc]
                        ranking, mutator, strategy, seed,
                        log_of(each, [point.sizes for point in points]), build_options,
                        variants, begun,
                    )
                )  # fmt: skip
                continue
            for size in sizes or {}:
                if not isinstance(x, IRModule):  # Each function of one has sizes of its own.
                    _core.require_size(each.func, size)
            used = list(arguments) if arguments is not None else _arguments(each.func, sizes, seed)
            job = Job(each.func, target_text, options, used, memory, is_strict, reference)
            own = runner or stack.enter_context(Runner(job, timeout))
            weight = float((weights or {}).get(name, 1.0))
            own_sizes = sizes_of(each.func, used)
            proposing = strategy(each, seed, ranking, mutator, own_sizes)
            task = Task(each.func, proposing, own, weight, begun, log_of(each, [own_sizes]))
            if runner is None and target_text.startswith("llvm"):  # It is measured here.
                task.limit = limit_of(*task.work, num_threads)
            tasks.append(task)
        deadline = None if seconds is None else begun + seconds
        shown = stack.enter_context(display_of(progress, trials, deadline))
        was_interrupted = run_tasks(tasks, trials, deadline, patience, regret, shown)
        found: list[Any] = []
        failures: dict[str, str] = {}
        for each_task in tasks:
            try:
                found.append(finished(each_task, was_interrupted, build_options))
            except UserError as error:  # Of other functions, nothing is lost.
                failures[each_task.func.name] = str(error)
                if len(failures) == len(tasks):
                    raise
    if isinstance(found[0], TunedSizes):
        sized: TunedSizes = found[0]
        if store is not None and not sized.is_default:
            is_written(partial(store.add, record_of_sizes(sized, key)))
        return sized
    if store is not None:
        for best in found:
            if best.is_quicker:
                is_written(partial(store.add, record_of(best, key)))
    tuned = {best.func.name: best for best in found}
    if isinstance(x, IRModule):
        return TunedModule(x, tuned, build_options, failures)
    only: Tuned = next(iter(tuned.values()))
    return only


def _model_of(target: Target | str) -> Model | None:
    """Return the model that is built in; None for devices, of which there is none."""
    made = Target(target) if isinstance(target, str) else target
    return None if made.kind in ("cuda", "opencl") else AnalyticModel(made)


def _strategy_of(search: str | type[Search]) -> type[Search]:
    if isinstance(search, type) and issubclass(search, Search):
        return search
    if search not in SEARCHES:
        names = ", ".join(f'"{name}"' for name in SEARCHES)
        _core.fail(
            "UserError",
            "search_is_known",
            f"tune: search is {search!r}",
            hint=f"pass {names} or a subclass of loopsmith.tuning.Search",
        )
    return SEARCHES[str(search)]


def _fail_rules() -> NoReturn:
    _core.fail(
        "UserError",
        "rules_are_of_the_generated_space",
        "tune: rules are given, and a space of your own",
        hint="take the steps of the rules in the space",
    )


def _fail_regret() -> NoReturn:
    _core.fail(
        "UserError",
        "regret_has_a_model",
        "tune: regret is given, and there is no model that predicts times on this target",
        hint="use patience, or pass a model",
    )


def _require_weights_fit(weights: Mapping[str, float], functions: Iterable[str]) -> None:
    known = list(functions)
    for name, weight in weights.items():
        if name not in known or not (math.isfinite(weight) and weight >= 0):
            _core.fail(
                "UserError",
                "weights_fit_functions",
                f"tune: the weight of {name} is {weight}",
                hint=f"give each of {', '.join(known)} a number of calls, 0 or more",
            )


def _arguments(func: PrimFunc, sizes: Mapping[str, Any] | None, seed: int) -> list[Any]:
    made = random_arguments(func, dict(sizes or {}), seed)
    return [value.numpy() if hasattr(value, "numpy") else value for value in made]
