#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw who includes whom, for Graphviz: `tools/include_graph.py schedule | dot -Tsvg -o graph.svg`.

Without an argument, the floors; with folders, their components (a header with its source). Arrows
point from what includes to what is included; those that run back up, which check_includes.py states
with their reasons, are red and dashed. There are no others, or that check fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from check_includes import (
    BACK_ARROWS,
    component_of,
    includes_of,
    read_floors,
    read_include_all,
)

ROOT = Path(__file__).resolve().parent.parent


def product_files(root: Path) -> dict[str, str]:
    """Return the sources under root/loopsmith by their paths, those of tests left out."""
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted((root / "loopsmith").glob("*/**/*"))
        if path.suffix in (".h", ".cc")
        and not path.name.endswith("_test.cc")
        and "testing" not in path.parts
    }


def graph_of(root: Path) -> dict[str, set[str]]:
    """Return for each component of the tree those that it includes, of the tree alone."""
    files = product_files(root)
    known = {component_of(path) for path in files}
    graph = includes_of(files, read_include_all((root / "CMakeLists.txt").read_text()))
    return {component: included & known for component, included in graph.items()}


def floors_graph(graph: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Return the arrows between floors."""
    return {
        (source.split("/")[0], target.split("/")[0])
        for source, targets in graph.items()
        for target in targets
        if source.split("/")[0] != target.split("/")[0]
    }


def folder_graph(graph: dict[str, set[str]], folders: Iterable[str]) -> set[tuple[str, str]]:
    """Return the arrows between the components of some folders."""
    inside = tuple(folder.strip("/") + "/" for folder in folders)
    return {
        (source, target)
        for source, targets in graph.items()
        for target in targets
        if source.startswith(inside) and target.startswith(inside)
    }


def drawn(arrows: set[tuple[str, str]], back: set[tuple[str, str]]) -> str:
    """Return the arrows in the language of Graphviz."""
    lines = ["digraph includes {", "  rankdir=BT;", "  node [shape=box, fontname=Helvetica];"]
    for source, target in sorted(arrows):
        style = " [color=red, style=dashed, constraint=false]" if (source, target) in back else ""
        lines.append(f'  "{source}" -> "{target}"{style};')
    return "\n".join([*lines, "}", ""])


def main() -> int:
    """Print the graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", help="under loopsmith/: ir, schedule/queries, ...")
    folders = parser.parse_args().folders
    known = read_floors((ROOT / "CMakeLists.txt").read_text())
    for folder in folders:
        if not (ROOT / "loopsmith" / folder).is_dir():
            parser.error(
                f"there is no folder loopsmith/{folder}; the floors are {', '.join(known)}"
            )
    graph = graph_of(ROOT)
    arrows = folder_graph(graph, folders) if folders else floors_graph(graph)
    back = {(source, target) for source, targets in BACK_ARROWS.items() for target in targets}
    print(drawn(arrows, back), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
