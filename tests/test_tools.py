# SPDX-License-Identifier: Apache-2.0
"""Tools for those who change the compiler: graphs of includes, counted places, clang-tidy."""

from __future__ import annotations

import graphlib
import shutil
from pathlib import Path

import places
import pytest
import tidy
import wheels
from check_includes import BACK_ARROWS
from conftest import ROOT
from include_graph import drawn, floors_graph, folder_graph, graph_of

from loopsmith import _core

PRIMITIVES = {primitive["name"] for primitive in _core.primitives()}


def test_the_drawn_graph_has_no_arrow_back_but_the_stated_ones():
    graph = graph_of(ROOT)
    back = {(source, target) for source, targets in BACK_ARROWS.items() for target in targets}
    arrows = folder_graph(graph, ["ir"])
    text = drawn(arrows, back)
    assert '"ir/stmt" -> "ir/expr";' in text
    assert text.count("color=red") == len(arrows & back) > 0
    floors = floors_graph(graph)
    assert ("codegen", "ir") in floors and ("ir", "codegen") not in floors
    graphlib.TopologicalSorter({a: {b for x, b in floors if x == a} for a, _ in floors}).prepare()


def test_places_of_the_newest_things_are_counted():
    kinds = {kind.name: kind for kind in places.KINDS}
    assert kinds["primitive"].newest().name in PRIMITIVES
    node = places.places_of(kinds["node"], places.Thing("For"))
    assert [place.split(":")[0] for place in node] == ["loopsmith/ir/node.h", "loopsmith/ir/stmt.h"]
    assert len(places.places_of(kinds["field"], places.Thing("For::kind"))) == 1
    unroll = places.Thing("unroll_loops", ("loopsmith/transform/unroll_loops",))
    where = places.places_of(kinds["pass"], unroll)
    assert where[0] == "loopsmith/transform/unroll_loops"
    assert sum(place.startswith("loopsmith/transform/pipeline.cc") for place in where) == 1


def test_clang_tidy_reads_changed_files_first_and_others_in_the_order_of_the_commit():
    changed = [tidy.ROOT / "loopsmith" / "ir" / "fold.cc"]
    others = tidy.other_sources(changed)
    assert changed[0] not in others and len(others) > 100
    assert others == tidy.other_sources(changed) and others != sorted(others)


@pytest.mark.skipif(not shutil.which("cmake"), reason="CMake is not installed")
def test_clang_tidy_reads_each_source_with_those_it_is_joined_with():
    joined = tidy.joined_sources()
    sources = [source for each in joined.values() for source in each]
    assert len(sources) == len(set(sources)) and len(joined) < len(sources) / 2
    written = {tidy.ROOT / name for name in tidy.git("ls-files", "loopsmith/*.cc")}
    assert written <= set(sources)


def test_wheels_are_built_for_interpreters_of_path_and_of_pyenv_each_version_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def interpreter(path: Path, version: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {version}\n")
        path.chmod(0o755)
        return path

    told = interpreter(tmp_path / "bin" / "python3.10", "3.10")
    interpreter(tmp_path / "bin" / "python3.13", "no such version")
    installed = [
        interpreter(tmp_path / "pyenv" / "versions" / version / "bin" / "python", version[:-2])
        for version in ("3.10.1", "3.13.0", "3.14.2", "3.99.1")
    ]
    own = interpreter(tmp_path / "own", "3.12")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr(wheels.sys, "executable", str(own))
    monkeypatch.setattr(wheels, "VERSIONS", ("3.10", "3.12", "3.13", "3.14"))
    assert wheels.interpreters() == [own, told, installed[1], installed[2]]
