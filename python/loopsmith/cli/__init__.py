# SPDX-License-Identifier: Apache-2.0
"""The command `loopsmith`: lower, build, run and inspect programs; say what works here."""

from __future__ import annotations

import sys

try:
    import typer  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise SystemExit(
        f"loopsmith: {error.name} is missing: pip install 'loopsmith-compiler[cli]'"
    ) from None

from ..errors import UserError
from . import commands, searches  # noqa: F401
from .app import app
from .output import user_traceback


def main() -> None:
    """Run the command; a mistake of the user is told in words."""
    try:
        app()
    except UserError as error:
        print(f"loopsmith: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except OSError as error:
        print(f"loopsmith: {error.filename}: {error.strerror}", file=sys.stderr)
        raise SystemExit(1) from None
    except Exception as error:
        print(user_traceback(error), file=sys.stderr, end="")
        raise SystemExit(1) from None
