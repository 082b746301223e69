# SPDX-License-Identifier: Apache-2.0
"""Run all benchmarks and print their tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measure import clean_environment

FOLDER = Path(__file__).resolve().parent

if __name__ == "__main__":
    for name in sys.argv[1:] or [
        "compiler",
        "schedule",
        "te_schedule",
        "kernels",
        "long_tail",
        "tune",
        "gpu",
    ]:
        program = FOLDER / f"{name}.py"
        subprocess.run([sys.executable, program], check=True, env=clean_environment())
