# SPDX-License-Identifier: Apache-2.0
"""The guide as a site: every page is in its contents, every tutorial is a page and a notebook."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import runpy
from types import ModuleType

import pytest
from conftest import ROOT

CONTENTS = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)


def load_hooks() -> ModuleType:
    path = ROOT / "tools" / "docs_hooks.py"
    spec = importlib.util.spec_from_file_location("docs_hooks", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["docs_hooks"] = module  # Where dataclasses look for it.
    spec.loader.exec_module(module)
    return module


HOOKS = load_hooks()
PROGRAMS = HOOKS.programs()
SCRIPTS = sorted(name for name in PROGRAMS if "/" not in name)
"""Those that run when they are imported; tests/test_cpu_tutorials.py runs the others."""


def test_the_contents_list_each_page_once():
    docs = ROOT / "docs"
    pages = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    pages += [f"tutorials/{name}.md" for name in PROGRAMS]
    assert sorted(CONTENTS) == sorted(pages)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tutorial_is_a_page_and_a_notebook(name: str):
    cells = HOOKS.cells_of(PROGRAMS[name].read_text())
    assert cells[0].is_text and cells[0].text.startswith("# ")
    code = "\n".join(cell.text for cell in cells if not cell.is_text)
    page = HOOKS.page_of(name, cells)
    assert f"({name.removeprefix('cpu/')}.ipynb)" in page
    assert page.count("```python\n") == sum(not cell.is_text for cell in cells)
    book = json.loads(HOOKS.notebook_of(cells))
    assert [cell["cell_type"] for cell in book["cells"]].count("markdown") >= 3
    sources = ["".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code"]
    assert "\n".join(sources) == code
    compile(code, name, "exec")


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "gemm"])
def test_a_tutorial_runs_and_its_checks_hold(name: str, capsys: pytest.CaptureFixture[str]):
    if name == "torch_operator":
        pytest.importorskip("torch")
    runpy.run_path(str(PROGRAMS[name]))
    assert capsys.readouterr().out


def test_the_reference_names_what_there_is():
    text = (ROOT / "docs" / "reference.md").read_text()
    entries = re.findall(
        r"^::: (\S+)(?:\n    options:\n      members: \[(.*)\])?", text, re.MULTILINE
    )
    assert len(entries) > 10
    for module, members in entries:
        found = importlib.import_module(module)
        assert found.__doc__, module
        for member in filter(None, members.split(", ")):
            assert getattr(found, member).__doc__, f"{module}.{member}"


def test_a_script_that_type_checkers_understand_runs():
    runpy.run_path(str(ROOT / "examples" / "typed" / "scale.py"), run_name="__main__")
