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
from collections.abc import Iterable, Mapping
from pathlib import Path

from check_includes import BACK_ARROWS, INCLUDE, component_of, read_floors

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


def graph_of(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Return for each component those that it includes, of the files alone."""
    known = {component_of(path) for path in files}
    graph: dict[str, set[str]] = {}
    for path, text in files.items():
        included = {component_of(match[2]) for match in INCLUDE.finditer(text)} & known
        graph.setdefault(component_of(path), set()).update(included - {component_of(path)})
    return graph


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
    graph = graph_of(product_files(ROOT))
    arrows = folder_graph(graph, folders) if folders else floors_graph(graph)
    back = {(source, target) for source, targets in BACK_ARROWS.items() for target in targets}
    print(drawn(arrows, back), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
