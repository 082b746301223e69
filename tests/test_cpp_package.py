# SPDX-License-Identifier: Apache-2.0
"""The installed C++ library, used by a project outside the tree."""

import re
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, run


@pytest.fixture(scope="module")
def app(installed_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("outside") / "project"
    shutil.copytree(ROOT / "examples" / "cpp_package", project)
    build = project / "build"
    run(
        "cmake",
        "-S",
        project,
        "-B",
        build,
        "-G",
        "Ninja",
        f"-DCMAKE_PREFIX_PATH={installed_package}",
    )
    run("cmake", "--build", build)
    return build / "app"


def test_a_project_outside_the_tree_finds_builds_and_runs(app: Path):
    assert run(app).splitlines() == [
        "matmul of 128 x 128: largest error 0",
        "main: takes 3 arguments (A, B, C), not 2",
        "  hint: pass one for each parameter, outputs too",
    ]


def test_the_library_shows_its_own_names_and_no_others(installed_package: Path):
    library = next(installed_package.rglob("libloopsmith.so"))
    listed = run("nm", "--dynamic", "--defined-only", library).splitlines()
    names = [line.split(maxsplit=2)[2] for line in listed]
    # Functions, virtual tables and type information of ours, and the C interface.
    ours = re.compile(r"_Z(N|NK|TV|TS|TI|TVN|TSN|TIN|GVZN?K?|ZN?K?)*9loopsmith|ls_")
    assert any("InternalError" in name for name in names)
    assert [name for name in names if not ours.match(name)] == []


def test_only_headers_are_installed_beside_the_library(installed_package: Path):
    headers = installed_package / "include" / "loopsmith"
    assert (headers / "support" / "error.h").exists()
    assert {path.suffix for path in headers.rglob("*") if path.is_file()} == {".h"}
