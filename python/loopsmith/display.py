# SPDX-License-Identifier: Apache-2.0
"""Scripts in colour, on terminals and in notebooks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ._core import Module


class HasScript(Protocol):
    """Whatever prints itself as a script."""

    def script(self) -> str:
        """Give the text."""


def escaped(text: str) -> str:
    """Give `text` as HTML."""
    import html  # Its tables take as long to import as a third of this package.

    return html.escape(text)


def in_colour(text: str, formatter: str, style: str | None, language: str = "python") -> str | None:
    """Give `text` in colour, its lines as they are; None where pygments is not installed.

    Parameters
    ----------
    text
        A program.
    formatter
        ``"html"``, without anything around the lines; or ``"terminal"``.
    style
        The name of a style of pygments.
    language
        What pygments calls the language of the text.
    """
    try:
        pygments: Any = importlib.import_module("pygments")
        formatters: Any = importlib.import_module("pygments.formatters")
        lexers: Any = importlib.import_module("pygments.lexers")
    except ImportError:
        return None
    chosen = style or "default"
    if formatter == "html":
        made = formatters.HtmlFormatter(style=chosen, noclasses=True, nowrap=True)
    else:
        made = formatters.Terminal256Formatter(style=chosen)
    lexer = lexers.get_lexer_by_name(language, stripnl=False)
    return str(pygments.highlight(text, lexer, made))


def code_html(text: str) -> str:
    """Give a text of Python as HTML."""
    return f"<pre>{in_colour(text, 'html', None) or escaped(text)}</pre>"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Give columns as text, with spaces between them."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        for row in [header, *rows]
    )


def table_html(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Give columns as HTML."""
    text = "".join(f"<th>{escaped(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{text}</tr>{body}</table>"


def difference_html(text: str) -> str:
    """Give the lines of a difference as HTML, those that came and went in colour."""
    colours = {"+": "#2a8a2a", "-": "#b03030"}
    lines = (
        f'<span style="color: {colours.get(line[:1], "inherit")}">{escaped(line)}</span>'
        for line in text.splitlines()
    )
    return f"<pre>{chr(10).join(lines)}</pre>"


def module_html(module: Module) -> str:
    """Give the functions of a compiled module, and what they take, as HTML."""
    rows = "".join(
        f"<tr><td>{escaped(name)}</td><td><code>{escaped(', '.join(module[name].parameters))}"
        f"</code></td><td>{escaped(', '.join(module[name].outputs))}</td></tr>"
        for name in module.names
    )
    header = "<tr><th>function</th><th>parameters</th><th>outputs</th></tr>"
    return f"<table>{header}{rows}</table>"


def show_html(text: str) -> None:
    """Show HTML in a notebook."""
    notebook: Any = importlib.import_module("IPython.display")
    notebook.display(notebook.HTML(text))


def show(node: HasScript, style: str | None = None) -> None:
    """Print the script of `node`, in colour on a terminal or in a notebook."""
    text = node.script()
    if "ipykernel" in sys.modules:
        show_html(html(node, style))
        return
    coloured = in_colour(text, "terminal", style) if sys.stdout.isatty() else None
    print((coloured or text).rstrip("\n"))


def html(node: HasScript, style: str | None = None) -> str:
    """Give the script of `node` as HTML."""
    text = node.script()
    return f"<pre>{in_colour(text, 'html', style) or escaped(text)}</pre>"
