# SPDX-License-Identifier: Apache-2.0
"""Search for a quick schedule: candidates are drawn of a space, checked, and measured.

>>> best = ls.tune(func, trials=200, records="tuned.db")
>>> print(best.schedule.trace)
>>> kernel = ls.build(func, records="tuned.db")
"""

from __future__ import annotations

from .._core import Candidate, SizeRange, Trial, WithDefault
from .background import BackgroundModule
from .measure.ray_runner import RayRunner
from .measure.remote import RemoteRunner
from .measure.runner import Runner
from .measure.worker import Attempt, Check, Duel, Job, Outcome, Request
from .model.learned import LearnedModel
from .model.model import AnalyticModel, Learner, Model
from .records import exchange
from .records.records import Record, Records
from .results.result import Explanation, Tuned, TunedModule
from .search.search import AnnealedSearch, EvolutionarySearch, RandomSearch, Search
from .sizes.sized import TunedSizes
from .spaces.generated import Rule, generated, generated_for_gpu
from .spaces.holes import Decision, decisions_of, mutated
from .spaces.space import Space
from .tuner import tune

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
    "Rule",
    "Runner",
    "Search",
    "SizeRange",
    "Space",
    "Trial",
    "Tuned",
    "TunedModule",
    "TunedSizes",
    "WithDefault",
    "decisions_of",
    "exchange",
    "generated",
    "generated_for_gpu",
    "mutated",
    "tune",
]
