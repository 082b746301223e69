# SPDX-License-Identifier: Apache-2.0
"""Scripts in colour, on terminals and in notebooks."""

from __future__ import annotations

import html as _html
import importlib
import sys
from typing import Any, Protocol


class HasScript(Protocol):
    """Whatever prints itself as a script."""

    def script(self) -> str:
        """Give the text."""


def _highlighted(text: str, formatter: str, style: str | None) -> str | None:
    """Give `text` in colour; None where pygments is not installed."""
    try:
        pygments: Any = importlib.import_module("pygments")
        formatters: Any = importlib.import_module("pygments.formatters")
        lexers: Any = importlib.import_module("pygments.lexers")
    except ImportError:
        return None
    chosen = style or "default"
    if formatter == "html":
        made = formatters.HtmlFormatter(style=chosen, noclasses=True, nobackground=True)
    else:
        made = formatters.Terminal256Formatter(style=chosen)
    return str(pygments.highlight(text, lexers.PythonLexer(), made))


def show(node: HasScript, style: str | None = None) -> None:
    """Print the script of `node`, in colour on a terminal or in a notebook."""
    text = node.script()
    if "ipykernel" in sys.modules:
        notebook: Any = importlib.import_module("IPython.display")
        notebook.display(notebook.HTML(html(node, style)))
        return
    coloured = _highlighted(text, "terminal", style) if sys.stdout.isatty() else None
    print((coloured or text).rstrip("\n"))


def html(node: HasScript, style: str | None = None) -> str:
    """Give the script of `node` as HTML."""
    text = node.script()
    return _highlighted(text, "html", style) or f"<pre>{_html.escape(text)}</pre>"
