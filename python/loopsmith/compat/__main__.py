# SPDX-License-Identifier: Apache-2.0
"""``python -m loopsmith.compat script.py [arguments]``."""

from __future__ import annotations

import sys

from . import run_program


def main() -> None:
    """Run the program that the command line names."""
    if len(sys.argv) < 2:
        raise SystemExit("usage: python -m loopsmith.compat script.py [arguments]")
    run_program(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    main()
