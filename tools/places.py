#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the places that the newest thing of each kind is spread over.

A place is what is its own (a header with its source counts once), or a line of the product
elsewhere that names it: an include, a row of a table, a call. Tests, documents, comments, and what
a script of ours writes do not count. Nor do uses: of nodes and fields, lines in headers of the IR
alone count; of an intrinsic, none that makes a call of it; of a primitive, none of the rules and
searches that take it. A number above the goal says that something is said twice.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WRITTEN_BY_SCRIPTS = (
    "loopsmith/driver/schedule_methods.h",
    "loopsmith/driver/schedule_methods.cc",
    "python/loopsmith/functions.py",
)


@dataclass(frozen=True)
class Thing:
    """The newest thing of a kind."""

    name: str
    own: tuple[str, ...] = ()
    """Its own files, without their suffixes."""


@dataclass(frozen=True)
class Kind:
    """Something that is added now and then, and in how many places it is to stand."""

    name: str
    goal: int
    newest: Callable[[], Thing]
    where: tuple[str, ...] = ("loopsmith", "python")
    """The files in which lines count, as patterns of git."""
    mention: str = r"\b{name}\b"


def git(*arguments: str) -> list[str]:
    """Return the lines that a git command prints."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines()


def newest_file(table: str, *patterns: str) -> Thing:
    """Return the file that was added last, committed or not, of those that a table names."""
    rows = (ROOT / table).read_text()
    added = git("ls-files", "-o", "--exclude-standard", "--", *patterns)
    added += git("log", "--diff-filter=A", "--format=", "--name-only", "--", *patterns)
    for path in added:
        is_test = path.endswith("_test.cc") or "/testing/" in path
        is_listed = re.search(rf"\b{Path(path).stem}\b", rows) is not None
        if path.endswith(".cc") and is_listed and not is_test and (ROOT / path).exists():
            return Thing(Path(path).stem, (path.removesuffix(".cc"),))
    raise LookupError(f"no file is like {', '.join(patterns)}")


def newest_line(pattern: str, *files: str) -> Thing:
    """Return what a group of the pattern catches in the line that was written last."""
    found: list[tuple[int, str]] = []
    for file in files:
        time = 0
        for line in git("blame", "--line-porcelain", "--", file):
            if line.startswith("committer-time "):
                time = int(line.split()[1])
            elif line.startswith("\t") and (match := re.search(pattern, line)):
                found.append((time, match[1]))
    return Thing(max(found)[1])


def newest_name(pattern: str, file: str) -> Thing:
    """Return what a group of the pattern catches in the file, and came to it last.

    A row that is written anew, or moved, is as old as its name.
    """
    names = re.findall(pattern, (ROOT / file).read_text())
    first = dict.fromkeys(names, sys.maxsize)  # What is not committed is the newest.
    time = 0
    for line in git("log", "-p", "--format=time %ct", "--", file):
        if line.startswith("time "):
            time = int(line.split()[1])
        elif line.startswith("+"):
            for name in re.findall(r'"(\w+)"', line):
                if name in first:
                    first[name] = min(first[name], time)
    return Thing(max(names, key=lambda name: first[name]))


IR_HEADERS = tuple(f"loopsmith/ir/{name}.h" for name in ("expr", "stmt", "buffer", "function"))

OP_TABLE = "loopsmith/ir/op.h"
OP_ROW = r'\{"(\w+)", Effect::pure, \d, true'
"""Of an intrinsic that works lane by lane."""
TRANSFORM = "loopsmith/transform"
PRIMITIVES = "loopsmith/schedule/primitives"
BACK_ENDS = "loopsmith/driver/back_ends"


def newest_back_end() -> Thing:
    """Return the back end whose function was written last."""
    headers = git("ls-files", "-co", "--exclude-standard", "--", f"{BACK_ENDS}/*.h")
    thing = newest_line(r"const BackEnd& (\w+)_back_end", *headers)
    return Thing(thing.name, (f"{BACK_ENDS}/{thing.name}",))


KINDS = (
    Kind("node", 2, lambda: newest_line(r"^\tstruct (\w+) : \w+Node<", *IR_HEADERS),
         ("loopsmith/ir/node.h", *IR_HEADERS), r"struct {name}\b"),
    Kind("field", 1, lambda: newest_line(r'visit\("\w+", &(\w+::\w+)', *IR_HEADERS),
         IR_HEADERS),
    Kind("intrinsic", 2, lambda: newest_name(OP_ROW, OP_TABLE),
         mention=r'(?<!call\(op\()"{name}"'),
    Kind("pass", 2, lambda: newest_file(f"{TRANSFORM}/pipeline.cc", f"{TRANSFORM}/*.cc")),
    Kind("primitive", 3, lambda: newest_file(f"{PRIMITIVES}.cc", f"{PRIMITIVES}/*.cc"),
         ("loopsmith/schedule", "loopsmith/driver", "python")),
    Kind("rule", 2, lambda: newest_file("loopsmith/rules/rules.cc", "loopsmith/rules/*.cc")),
    Kind("back end", 2, lambda: newest_back_end(), mention=r"\b{name}_back_end\b"),
)  # fmt: skip


def places_of(kind: Kind, thing: Thing) -> list[str]:
    """Return where a thing stands: its own files, then lines elsewhere."""
    mention = re.compile(kind.mention.format(name=re.escape(thing.name)))
    places = list(thing.own)
    for path in product_files(kind.where):
        if path.rsplit(".", 1)[0] in thing.own:
            continue
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            code = line.split("//")[0] if path.endswith((".cc", ".h")) else line.split("#  ")[0]
            if mention.search(code):
                places.append(f"{path}:{number}")
    return places


def product_files(patterns: Iterable[str]) -> list[str]:
    """Return the sources of the product, by their paths."""
    return [
        path
        for path in git("ls-files", "-co", "--exclude-standard", "--", *patterns)
        if path.endswith((".cc", ".h", ".py", ".pyi"))
        and not path.endswith("_test.cc")
        and "/testing/" not in path
        and path not in WRITTEN_BY_SCRIPTS
        and (ROOT / path).exists()
    ]


def main() -> int:
    """Print a line for each kind: how many places, the goal, the example, where it stands."""
    for kind in KINDS:
        thing = kind.newest()
        places = places_of(kind, thing)
        mark = "  (above the goal)" if len(places) > kind.goal else ""
        print(f"{kind.name:10} {len(places):2} of {kind.goal}  {thing.name}{mark}")
        for place in places:
            print(f"{'':20}{place}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
