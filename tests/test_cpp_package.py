# SPDX-License-Identifier: Apache-2.0
"""The installed C++ library, used by a project outside the tree."""

import re
import resource
import shutil
import subprocess
from pathlib import Path

import cpp_schedule
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
        "split: factor 1 of loop k is 0, not positive",
        "matmul of 128 x 128: largest error 0",
        "main: takes 3 arguments (A, B, C), not 2",
        "  hint: pass one for each parameter, outputs too",
    ]


def test_the_library_shows_its_own_names_and_no_others(installed_package: Path):
    library = next(installed_package.rglob("libloopsmith.so"))
    listed = run("nm", "--dynamic", "--defined-only", library).splitlines()
    names = [line.split(maxsplit=2)[2] for line in listed]
    # Functions, virtual tables and type information of ours, the C interface, what GDB looks for.
    ours = re.compile(r"_Z(N|NK|TV|TS|TI|TVN|TSN|TIN|GVZN?K?|ZN?K?)*9loopsmith|ls_|__jit_debug_")
    assert any("InternalError" in name for name in names)
    assert [name for name in names if not ours.match(name)] == []


def test_the_library_shows_no_names_of_fmt(installed_package: Path):
    library = next(installed_package.rglob("libloopsmith.so"))
    assert "3fmt" not in run("nm", "--dynamic", "--defined-only", library)


def included_from(header: str) -> set[str]:
    """Return a header of ours and all that it includes."""
    found: set[str] = set()
    pending = [header]
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += re.findall(r'#include "(loopsmith/[^"]+)"', (ROOT / path).read_text())
    return found


def test_the_headers_of_users_are_installed_and_no_others(installed_package: Path):
    include = installed_package / "include"
    installed = {str(path.relative_to(include)) for path in include.rglob("*") if path.is_file()}
    assert installed == included_from("loopsmith/loopsmith.h")


def test_no_installed_header_includes_fmt(installed_package: Path):
    texts = [path.read_text() for path in (installed_package / "include").rglob("*.h")]
    assert [text for text in texts if "fmt/" in text or "fmt::" in text] == []


def test_installed_headers_include_nothing_that_takes_long_to_compile(installed_package: Path):
    # Each of them costs a user's file as much as all of ours.
    slow = {"chrono", "format", "iomanip", "iostream", "ranges", "regex", "sstream", "thread"}
    for path in (installed_package / "include").rglob("*.h"):
        included = set(re.findall(r"^#include <(\w+)>", path.read_text(), re.MULTILINE))
        assert not included & slow, path


PLAIN = """
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>
"""


def seconds_to_compile(source: Path, headers: Path) -> float:
    """Return the processor time of the compiler, the shortest of three."""
    taken = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("c++", "-std=c++20", f"-I{headers}", "-c", source, "-o", "/dev/null")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime - before.ru_utime)
    return min(taken)


def test_a_file_that_schedules_compiles_quickly(installed_package: Path, tmp_path: Path):
    plain = tmp_path / "plain.cc"
    plain.write_text(PLAIN)
    headers = installed_package / "include"
    program = ROOT / "examples" / "cpp_package" / "main.cc"
    # 1.6 seconds where headers of the standard library alone take 0.45; 2.5 are too many.
    assert seconds_to_compile(program, headers) < 2.5 / 0.45 * seconds_to_compile(plain, headers)


def test_licences_and_notices_are_installed(installed_package: Path):
    folder = installed_package / "share" / "doc" / "loopsmith"
    assert {path.name for path in folder.iterdir()} == {"LICENSE", "THIRD_PARTY_NOTICES.md"}
    notices = (folder / "THIRD_PARTY_NOTICES.md").read_text()
    for work in ("isl", "imath", "LLVM", "fmt", "nlohmann-json", "nanobind", "robin-map"):
        assert re.search(rf"^## {work}\b", notices, re.MULTILINE), work


def test_pkg_config_says_how_to_compile(installed_package: Path, tmp_path: Path):
    described = next(installed_package.rglob("loopsmith.pc"))
    text = described.read_text().replace("${pcfiledir}", str(described.parent))
    values = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    library = values["libdir"].replace("${prefix}", values["prefix"])
    headers = values["includedir"].replace("${prefix}", values["prefix"])
    source = ROOT / "examples" / "cpp_package" / "main.cc"
    run("c++", "-std=c++20", f"-I{headers}", source, f"-L{library}", "-lloopsmith", "-pthread",
        f"-Wl,-rpath,{library}", "-o", tmp_path / "app")  # fmt: skip
    assert "largest error 0" in run(tmp_path / "app")


@pytest.mark.parametrize(
    ("package", "title", "debian_package"),
    [
        ("fmt", "fmt", "libfmt-dev"),
        ("nlohmann_json", "nlohmann_json", "nlohmann-json3-dev"),
        ("LLVM", "LLVM 22", "llvm-22-dev"),
    ],
)
def test_a_missing_requirement_is_told_in_a_sentence(
    package: str, title: str, debian_package: str, tmp_path: Path
):
    done = subprocess.run(
        ["cmake", "-S", ROOT, "-B", tmp_path, f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON"],
        capture_output=True, text=True,
    )  # fmt: skip
    said = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert (
        f"Loopsmith needs {title}, which was not found: run tools/setup.sh, "
        f"or install {debian_package}." in said
    )


def test_a_missing_compiler_is_told_in_a_sentence(tmp_path: Path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("cmake", "ninja", "uname"):
        (tools / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path / "build"],
        capture_output=True, text=True, env={"PATH": str(tools)},
    )  # fmt: skip
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "Loopsmith needs a compiler of C++20, which was not found: run tools/setup.sh" in said


def test_the_methods_of_a_schedule_are_those_of_the_primitives():
    for path, text in cpp_schedule.texts().items():
        assert path.read_text() == text, "run tools/cpp_schedule.py"
