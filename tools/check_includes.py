#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that no include climbs the floors or goes in a circle, and that all are from the root.

The order is the one of the `loopsmith_floor` lines of CMakeLists.txt: a floor may include itself
and what it links, directly or through others. A header all.h includes what the patterns of its
`loopsmith_include_all` line say. A component is a header with its source; includes of
components make no circle, but for those that BACK_ARROWS states. Primitives ask nothing of meaning:
they include nothing of QUESTIONS. No two sources of a floor define a name that one of them has for
itself: see joined_names.py.
"""

from __future__ import annotations

import fnmatch
import graphlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from joined_names import check_joined_names

FLOOR = re.compile(r"^\s*loopsmith_floor\((\w+) LINK ([^)]*)\)", re.MULTILINE)

# Sources that include what knows their own header, and why they do.
BACK_ARROWS: dict[str, tuple[str, ...]] = {
    # A header that people include, and its implementation in parts of its own.
    "arith/dependence/dependence": ("arith/dependence/analysis",),
    "arith/dependence/polyhedra": ("arith/dependence/affine_sets",),
    "arith/dependence/preservation": ("arith/dependence/version_checker",),
    "interp/assert_same": ("interp/difference", "interp/sample"),
    "interp/interp": ("interp/arguments", "interp/compiler", "interp/machine"),
    "ir/script_printer": ("ir/script_writer",),
    "script/parse": ("script/lowering",),
    "te/create_prim_func": ("te/lower_ops",),
    # Threads are a part of the machine, and run its code.
    "interp/threads": ("interp/machine",),
    # Bounds of an expression are asked of what is known of its variables.
    "arith/int_set": ("arith/analyzer",),
    # A device is opened by the drivers, which give devices.
    "runtime/device": ("runtime/drivers",),
    # A place in a text shows its line.
    "support/span": ("support/source",),
    # The nodes know each other: an expression may be a load, a buffer has expressions for its
    # shape, and what is made of nodes is simplified and checked, errors printed, as it is made.
    "ir/buffer": ("ir/operators",),
    "ir/expr": ("ir/access", "ir/buffer", "ir/tensor"),
    "ir/fold": ("ir/operators",),
    "ir/function": ("ir/walk",),
    "ir/node": ("ir/function", "ir/stmt", "ir/tensor"),
    "ir/stmt": ("ir/script_printer",),
    # The text of a refusal has fixes, which are found by calling primitives.
    "schedule/schedule_error": ("schedule/fixes/tried_fixes",),
}

# What answers whether a step keeps results: the law asks these, not a primitive.
QUESTIONS = (
    "arith/dependence/dependence",
    "schedule/legality/block_axes",
    "schedule/legality/common_updates",
    "schedule/legality/concurrent_loops",
    "schedule/legality/legality",
    "schedule/legality/nest_memory",
    "schedule/legality/plan_legality",
    "schedule/legality/private_memory",
    "schedule/legality/recurrence_inputs",
    "schedule/legality/regroupings",
    "schedule/legality/repeated_reductions",
    "schedule/legality/shared_tiles",
    "schedule/legality/statement_order",
    "schedule/queries/access_pairs",
    "schedule/queries/access_relations",
    "schedule/queries/input_invariance",
    "schedule/queries/must_write_region",
)

INCLUDE_ALL = re.compile(r"^\s*loopsmith_include_all\(([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def read_floors(cmake_lists: str, *, of_tests: bool = False) -> dict[str, set[str]]:
    """Return each floor of a CMakeLists.txt with the floors that it, or its tests, may include."""
    floors: dict[str, set[str]] = {}
    for name, arguments in FLOOR.findall(cmake_lists):
        links, _, of_its_tests = arguments.partition("TEST_WITH")
        seen = {name}
        for link in (links + of_its_tests if of_tests else links).split():
            seen |= floors.get(link, set())
        floors[name] = seen
    return floors


def read_include_all(cmake_lists: str) -> dict[str, list[str]]:
    """Return each header all.h that a CMakeLists.txt asks for, with its patterns."""
    lines = [arguments.split()[1:] for arguments in INCLUDE_ALL.findall(cmake_lists)]
    return {patterns[0].rsplit("/", 1)[0] + "/all": patterns for patterns in lines}


def includes_of(
    files: Mapping[str, str], include_all: Mapping[str, list[str]]
) -> dict[str, set[str]]:
    """Return for each component those that it includes, through a header all.h too."""
    headers = {component_of(path) for path in files if path.endswith(".h")}
    members = {}
    for component, patterns in include_all.items():
        wanted, _, unwanted = " ".join(patterns).partition("EXCEPT")
        members[component] = {
            each
            for each in headers
            if any(is_like(each, like) for like in wanted.split())
            and not any(is_like(each, like) for like in unwanted.split())
        }
    graph: dict[str, set[str]] = {}
    for path, text in files.items():
        component = component_of(path)
        included: set[str] = set()
        for match in INCLUDE.finditer(text):
            target = component_of(match[2])
            included |= members.get(target, {target})
        graph.setdefault(component, set()).update(included - {component})
    return graph


def is_like(component: str, pattern: str) -> bool:
    """Return whether the header of a component is in the folder and like the name of a pattern."""
    folder, name = pattern.rsplit("/", 1)
    own_folder, own_name = component.rsplit("/", 1)
    return own_folder == folder and fnmatch.fnmatchcase(own_name + ".h", name)


def check_file(path: str, text: str, floors: dict[str, set[str]]) -> list[str]:
    """Return what is wrong with the includes of one file, given by its path from the root."""
    floor = path.split("/")[1]
    if floor not in floors:
        return [f"{path}: folder {floor} is no floor; add it to CMakeLists.txt, in its order"]
    problems = []
    for match in INCLUDE.finditer(text):
        bracket, target = match.groups()
        where = f"{path}:{text.count(chr(10), 0, match.start(2)) + 1}"
        if target.startswith("loopsmith/"):
            above = target.split("/")[1]
            if bracket == "<":
                problems.append(f'{where}: <{target}> is ours; write "{target}"')
            elif above not in floors[floor]:
                problems.append(
                    f"{where}: floor {floor} includes {target}, but may include only "
                    f"{', '.join(name for name in floors if name in floors[floor])}"
                )
        elif bracket == '"':
            problems.append(f'{where}: "{target}" is not written from the root, as "loopsmith/..."')
    return problems


def component_of(path: str) -> str:
    """Return the component of a file, given by its path from the root."""
    return path.removeprefix("loopsmith/").rsplit(".", 1)[0]


def check_circles(
    files: Mapping[str, str],
    back_arrows: Mapping[str, tuple[str, ...]] = BACK_ARROWS,
    include_all: Mapping[str, list[str]] | None = None,
) -> list[str]:
    """Return a circle of components, or a back arrow that no include makes, if there is one."""
    graph = includes_of(files, include_all or {})
    problems = []
    for source, targets in back_arrows.items():
        for target in targets:
            if target not in graph.get(source, set()):
                problems.append(f"{source} does not include {target}; it is no back arrow")
        graph[source] = graph.get(source, set()) - set(targets)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        problems.append("components include each other: " + " <- ".join(error.args[1]))
    return problems


def check_questions(files: Mapping[str, str]) -> list[str]:
    """Return the primitives that ask what the law is to answer."""
    problems = []
    for path, text in files.items():
        if not component_of(path).startswith("schedule/primitives/"):
            continue
        for match in INCLUDE.finditer(text):
            if component_of(match[2]) in QUESTIONS:
                where = f"{path}:{text.count(chr(10), 0, match.start(2)) + 1}"
                problems.append(
                    f"{where}: a primitive includes {match[2]}; leave the question to the law, "
                    "by a plan's `preservation`"
                )
    return problems


def check_tree(
    root: Path,
    back_arrows: Mapping[str, tuple[str, ...]] = BACK_ARROWS,
) -> list[str]:
    """Return what is wrong with the includes of all sources under root/loopsmith."""
    cmake_lists = (root / "CMakeLists.txt").read_text()
    floors = read_floors(cmake_lists)
    floors_of_tests = read_floors(cmake_lists, of_tests=True)
    include_all = read_include_all(cmake_lists)
    files = {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted((root / "loopsmith").glob("*/**/*"))
        if path.suffix in (".h", ".cc")
    }
    # Tests, and what they are made of, may use more, and may ask anything.
    product = {
        path: text
        for path, text in files.items()
        if not path.endswith("_test.cc") and "/testing/" not in path
    }
    problems = []
    for path, text in files.items():
        problems += check_file(path, text, floors if path in product else floors_of_tests)
    return (
        problems
        + check_circles(product, back_arrows, include_all)
        + check_questions(product)
        + check_joined_names(files)
    )


def main() -> int:
    """Print the problems of this repository."""
    problems = check_tree(Path(__file__).resolve().parent.parent)
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
