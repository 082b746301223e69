# SPDX-License-Identifier: Apache-2.0
"""Search for a quick schedule: candidates are drawn of a space, checked, and measured.

>>> best = ls.tune(func, trials=200, records="tuned.db")
>>> print(best.schedule.trace)
>>> kernel = ls.build(func, records="tuned.db")
"""

from __future__ import annotations

from .background import BackgroundModule
from .generated import generated
from .holes import Decision, decisions_of, mutated
from .model import AnalyticModel, Model
from .records import Record, Records
from .result import Explanation, Trial, Tuned, TunedModule
from .runner import Runner
from .search import Candidate, EvolutionarySearch
from .space import Space
from .tuner import tune
from .worker import Attempt, Check, Duel, Outcome, Request

__all__ = [
    "AnalyticModel",
    "Attempt",
    "BackgroundModule",
    "Candidate",
    "Check",
    "Decision",
    "Duel",
    "EvolutionarySearch",
    "Explanation",
    "Model",
    "Outcome",
    "Record",
    "Records",
    "Request",
    "Runner",
    "Space",
    "Trial",
    "Tuned",
    "TunedModule",
    "decisions_of",
    "generated",
    "mutated",
    "tune",
]
