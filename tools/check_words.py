#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that names and phrases which gave way to the field's terms do not come back.

Each row of RETIRED has a regular expression and the term to use instead. Sources, tests, scripts
and documents are read; names of files, too.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

RETIRED: Mapping[str, str] = {
    # Identifiers and files.
    r"\b(most|fewest)_(?!common)[a-z]\w*": "max_x, min_x",
    r"\b\w*bearer\w*": "unique_names, entity",
    r"\b(early_touches|touches_before)\b": "anti_dependences, accesses_earlier",
    r"\b(AtOnce|runs?_at_once|loops_at_once|is_at_once)\b": "Concurrency, runs_concurrently",
    r"\b(nest_facts|NestFacts|KeptFacts)\b": "dependence_cache, NestDependences, DependenceUpdate",
    r"\bLoopCarries\b": "CarriedDependences",
    r"\b(axes_are_true|axes_tell_results_apart)\b": "axes_are_injective, writes_are_injective",
    r"\b(repeats_alike|is_pinned)\b": "is_idempotent, has_zero_distance",
    r"\b(SharedVector|shared_vector)\b": "CowVector, cow_vector",
    r"\b(NewPlace|SkewedPlace|AxisRun)\b": "RequiredInstances, SkewedConsumer, AxisRange",
    r"\b(finished_box|stored_box|box_stored)\b": "produced_region, must_write_region",
    r"\b(known_around|rebind_body)\b": "path_condition, substitute_in_body",
    r"\bschedule/(moves|repairs)/": "schedule/rewrites, schedule/fixes",
    r"\b(empty_loops|InitialNests)\b": "trip_counts, hoisted_inits",
    r"\bcomplete_blocks\b": "infer_regions",
    r"\blift_reductions\b": "hoist_horizontal_reductions",
    r"\b(bypass_caches|cut_borders|merge_columns|task_grid)\b": (
        "nontemporal_stores, peel_boundaries, collapse_axes, work_partition"
    ),
    r"\b(lined_text|LinedText|give_back_until)\b": "line_table, TextWithLines, release_to",
    r"\bdrives_[a-z]\w*": "has_reduction_over, binds_x",
    r"\bsettle_[a-z]\w*": "canonicalize_x",
    r"\b(Touched|Meeting|have_met|thread_meetings)\b": (
        "AccessedMemory, WitnessSearch, has_conflict_witness, conflict_witness"
    ),
    # Phrases.
    r"\b[Nn]obody('s)?\b": "no statement, no thread, none; unwritten, unused",
    r"\b(runs?|ran|running) (its iterations |them )?at once\b": "run concurrently",
    r"\b(iterations|lanes|threads|accesses) (that )?(never )?(meet|met)\b": "conflict, alias",
    r"\bmemory says\b": "the buffer's contents say",
    r"\bnothing when it is none\b": "nullopt when it is none",
    r"\b(is|was|are|were) born\b": "is defined",
    r"\b(drives|drive) (a|an|no|its|the|axes|reduction|spatial)\b": "is bound to",
    r"\bfor whom\b|\b(of|to|by) who (reads|writes|asks|uses)\b": "for what, for statements that",
}
PATTERNS = [(re.compile(pattern), instead) for pattern, instead in RETIRED.items()]
SUFFIXES = {".cc", ".h", ".c", ".py", ".pyi", ".md", ".txt", ".cmake"}
EXEMPT = {"tools/check_words.py", "tests/test_check_words.py"}


def check_text(path: str, text: str) -> list[str]:
    """Return what is wrong with a file, given by its path from the root and its text."""
    problems = [
        f"{path}: the name of the file has a retired word; use {instead}"
        for pattern, instead in PATTERNS
        if pattern.search(path.replace(".", " "))
    ]
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, instead in PATTERNS:
            if found := pattern.search(line):
                problems.append(f"{path}:{number}: `{found[0]}` is retired; use {instead}")
    return problems


def main() -> int:
    """Print the problems of this repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    problems = []
    for path in listed.stdout.splitlines():
        file = ROOT / path
        if file.suffix in SUFFIXES and path not in EXEMPT and file.is_file():
            problems += check_text(path, file.read_text())
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
