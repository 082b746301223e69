#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that no include climbs the floors, and that includes are written from the root.

The order is the one of the `loopsmith_floor` lines of CMakeLists.txt: a floor may include itself
and what it links, directly or through others.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FLOOR = re.compile(r"^\s*loopsmith_floor\((\w+) LINK ([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def read_floors(cmake_lists: str) -> dict[str, set[str]]:
    """Return each floor of a CMakeLists.txt with the floors that it may include."""
    floors: dict[str, set[str]] = {}
    for name, links in FLOOR.findall(cmake_lists):
        seen = {name}
        for link in links.split():
            seen |= floors.get(link, set())
        floors[name] = seen
    return floors


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


def check_tree(root: Path) -> list[str]:
    """Return what is wrong with the includes of all sources under root/loopsmith."""
    floors = read_floors((root / "CMakeLists.txt").read_text())
    problems = []
    for path in sorted((root / "loopsmith").glob("*/**/*")):
        if path.suffix in (".h", ".cc"):
            problems += check_file(path.relative_to(root).as_posix(), path.read_text(), floors)
    return problems


def main() -> int:
    """Print the problems of this repository."""
    problems = check_tree(Path(__file__).resolve().parent.parent)
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
