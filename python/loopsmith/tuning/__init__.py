# SPDX-License-Identifier: Apache-2.0
"""Search for a quick schedule: candidates are drawn of a space, checked, and measured.

>>> best = ls.tune(func, trials=200, records="tuned.db")
>>> print(best.schedule.trace)
>>> kernel = ls.build(func, records="tuned.db")
"""

from __future__ import annotations

from .._core import Candidate, SizeRange, WithDefault
from .background import BackgroundModule
from .generated import generated, generated_for_gpu
from .holes import Decision, decisions_of, mutated
from .learned import LearnedModel
from .model import AnalyticModel, Learner, Model
from .ray_runner import RayRunner
from .records import Record, Records
from .remote import RemoteRunner
from .result import Explanation, Trial, Tuned, TunedModule
from .runner import Runner
from .search import AnnealedSearch, EvolutionarySearch, RandomSearch, Search
from .sized import TunedSizes
from .space import Space
from .tuner import tune
from .worker import Attempt, Check, Duel, Job, Outcome, Request, Sweep

__all__ = [
    "AnalyticModel",
    "AnnealedSearch",
    "Attempt",
    "BackgroundModule",
    "Candidate",
    "Check",
    "Decision",
    "Duel",
    "EvolutionarySearch",
    "Explanation",
    "Job",
    "LearnedModel",
    "Learner",
    "Model",
    "Outcome",
    "RandomSearch",
    "RayRunner",
    "Record",
    "Records",
    "RemoteRunner",
    "Request",
    "Runner",
    "Search",
    "SizeRange",
    "Space",
    "Sweep",
    "Trial",
    "Tuned",
    "TunedModule",
    "TunedSizes",
    "WithDefault",
    "decisions_of",
    "generated",
    "generated_for_gpu",
    "mutated",
    "tune",
]
