# SPDX-License-Identifier: Apache-2.0
"""Everything that the documentation shows is true: fences run, quotes are found, paths exist.

A fence ``python``, ``bash`` or ``cpp`` runs; the Python fences of a page run in one program, in
their order, and print what its fences ``printed`` say. A fence ``cpp path/of/file`` quotes that
file. A line ``...`` of a quote stands for what is left out.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT, run

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
)
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# CI runs these itself, or a test of their own does.
RUN_ELSEWHERE = {
    ".ci/run",
    "make asan",
    "make build",
    "make demo",
    "make format",
    "make lint",
    "make test",
    "make tsan",
    "pip install .",
}


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language, the file it quotes if any, its text and where it stands."""

    language: str
    quoted: str
    text: str
    page: str
    line: int

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def fences_of(page: str) -> list[Fence]:
    text = (ROOT / page).read_text()
    found = []
    for match in FENCE.finditer(text):
        language, _, quoted = match[1].strip().partition(" ")
        line = text.count("\n", 0, match.start(2)) + 1
        found.append(Fence(language, quoted.strip(), match[2], page, line))
    return found


FENCES = [fence for page in PAGES for fence in fences_of(page)]


def shown(language: str) -> list[Fence]:
    return [fence for fence in FENCES if fence.language == language and not fence.quoted]


def commands(fence: Fence) -> str:
    """Return the script of a bash fence without what runs elsewhere."""
    lines = (line.split("  #")[0].rstrip() for line in fence.text.splitlines())
    return "\n".join(line for line in lines if line not in RUN_ELSEWHERE)


def whole_program(fence: Fence) -> str:
    """Return a C++ fence as a program: what is no directive and no using goes into main."""
    if "int main(" in fence.text:
        return fence.text
    lines = fence.text.splitlines()
    outside = [line for line in lines if re.match(r"#include|namespace |using namespace ", line)]
    inside = [line for line in lines if line not in outside]
    return "\n".join([*outside, "int main() {", *inside, "}", ""])


def quoted_pieces(text: str) -> list[str]:
    """Return the pieces of a quote between its lines of dots, without indent and blank lines."""
    pieces = re.split(r"^\s*(?://|#)?\s*\.\.\.\s*$", text, flags=re.MULTILINE)
    return [piece for piece in map(without_indent, pieces) if piece]


def text_after(pieces: list[str], text: str, complaint: str) -> str:
    """Return what follows pieces that a text has in this order."""
    for piece in pieces:
        assert piece in text, f"{complaint}, or elsewhere:\n{piece}\n\nin\n\n{text}"
        text = text.split(piece, 1)[1]
    return text


def without_indent(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python\n" in (ROOT / page).read_text()]
)
def test_the_python_of_a_page_runs(page: str, tmp_path: Path):
    script = ""
    for fence in fences_of(page):
        if fence.language == "python" and not fence.quoted:
            script += "\n" * (fence.line - 1 - script.count("\n")) + fence.text
    path = tmp_path / f"{Path(page).stem}.py"  # its line numbers are those of the page
    path.write_text(script)
    printed = without_indent(run(sys.executable, path, cwd=tmp_path))
    for fence in fences_of(page):
        if fence.language == "printed":
            printed = text_after(quoted_pieces(fence.text), printed, f"{fence} is not printed")


@pytest.mark.parametrize("fence", [f for f in shown("bash") if commands(f).strip()], ids=str)
def test_a_command_runs(fence: Fence):
    run("bash", "-euo", "pipefail", "-c", commands(fence))


@pytest.mark.parametrize("fence", shown("cpp"), ids=str)
def test_a_cpp_program_compiles_against_the_installed_library_and_runs(
    fence: Fence, installed_package: Path, tmp_path: Path
):
    source = tmp_path / "snippet.cc"
    source.write_text(whole_program(fence))
    include = installed_package / "include"
    library = next(installed_package.rglob("libloopsmith.so")).parent
    program = tmp_path / "snippet"
    run("c++", "-std=c++20", "-DFMT_HEADER_ONLY", f"-I{include}", source,
        f"-L{library}", f"-Wl,-rpath,{library}", "-lloopsmith", "-o", program)  # fmt: skip
    run(program, cwd=tmp_path)


@pytest.mark.parametrize("fence", [fence for fence in FENCES if fence.quoted], ids=str)
def test_a_quote_stands_in_its_file(fence: Fence):
    text = without_indent((ROOT / fence.quoted).read_text())
    text_after(quoted_pieces(fence.text), text, f"{fence.quoted} has no such lines")


@pytest.mark.parametrize("page", PAGES)
def test_the_paths_that_a_page_names_exist(page: str):
    text = FENCE.sub("", (ROOT / page).read_text())
    folders = "|".join(
        path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."
    )
    named = re.findall(rf"`((?:{folders})/[\w./-]*)`", text)
    linked = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    missing = [name for name in named if not (ROOT / name).exists()]
    missing += [name for name in linked if not ((ROOT / page).parent / name).exists()]
    assert missing == []


def test_each_floor_opens_with_a_readme_of_three_lines():
    folders = {path.parent for path in (ROOT / "loopsmith").glob("*/*.*")}
    assert len(folders) > 1
    for folder in folders:
        text = (folder / "README.md").read_text()
        assert len(text.splitlines()) == 3, folder
