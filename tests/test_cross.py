# SPDX-License-Identifier: Apache-2.0
"""Code for other machines: files are looked at, and run where an emulator and a compiler are."""

from __future__ import annotations

import platform
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from test_export import HOST, scale
from test_target_c import softmax

import loopsmith as ls

MACHINES = {"aarch64-linux-gnu": 183, "riscv64-linux-gnu": 243, "x86_64-linux-gnu": 62}
OTHERS = [triple for triple in MACHINES if not triple.startswith(platform.machine())]


@pytest.mark.parametrize("triple", MACHINES)
def test_an_object_is_of_the_machine(triple: str, tmp_path: Path) -> None:
    file = tmp_path / "scale.o"
    ls.build(scale(), f"llvm -mtriple={triple}").export(file)
    header = file.read_bytes()[:20]
    assert header[:4] == b"\x7fELF"
    assert struct.unpack("<H", header[18:20])[0] == MACHINES[triple]


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        ("llvm -mtriple=aarch64-linux-gnu", "fdiv\tv"),
        ("llvm -mtriple=riscv64-linux-gnu", "fdiv.s"),
        ("llvm -mtriple=riscv64-linux-gnu -mattr=+v", "vfdiv."),
    ],
)
def test_vectors_are_those_of_the_machine(target: str, instruction: str) -> None:
    assert instruction in ls.build(softmax(), target).inspect().asm


@pytest.mark.parametrize("triple", OTHERS)
def test_code_of_another_machine_is_not_run_here(triple: str, tmp_path: Path) -> None:
    module = ls.build(scale(), f"llvm -mtriple={triple}")
    with pytest.raises(ls.CallError, match="the code is for another machine: export it"):
        module(np.zeros(3, np.float32), np.zeros(3, np.float32))
    module.export(tmp_path / "scale.o")
    with pytest.raises(ls.FormatError, match="load: this is no object file of this machine"):
        ls.load_module(tmp_path / "scale.o")


def test_code_for_other_instructions_is_not_run_here(tmp_path: Path) -> None:
    features = Path("/proc/cpuinfo").read_text().split()
    # LLVM's names, and those of Linux where they differ.
    names = {"sse4a": "sse4a", "avx512bf16": "avx512_bf16", "avx512fp16": "avx512_fp16"}
    missing = next((name for name, known in names.items() if known not in features), None)
    if missing is None:
        pytest.skip("this processor has all instructions that were thought of")
    module = ls.build(scale(), f"llvm -mattr=+{missing}")
    with pytest.raises(ls.CallError, match="instructions that this machine's does not have"):
        module(np.zeros(3, np.float32), np.zeros(3, np.float32))
    module.export(tmp_path / "scale.o")


@pytest.mark.parametrize(
    ("triple", "suffix"),
    # Assemblers of some years ago do not know LLVM's names for parts of RISC-V.
    [(t, s) for t in OTHERS for s in ("o", "a", "s") if (t[:5], s) != ("riscv", "s")],
)
def test_an_emulator_runs_it(triple: str, suffix: str, tmp_path: Path) -> None:
    compiler, emulator = f"{triple}-gcc", f"qemu-{triple.split('-')[0]}"
    for program in (compiler, emulator):
        if not shutil.which(program):
            pytest.skip(f"there is no {program}")
    file = tmp_path / f"scale.{suffix}"
    ls.build(scale(), f"llvm -mtriple={triple}").export(file, header=tmp_path / "scale.h")
    ls.export_runtime(tmp_path / "runtime.c")
    (tmp_path / "main.c").write_text(HOST)
    sources = ["main.c", file.name, *(["runtime.c"] if suffix != "a" else [])]
    command = [compiler, "-std=c99", "-static", *sources, "-o", "main", "-lm", "-lpthread"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run(
        [emulator, "main"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert said.stdout == "3 5 7 9 11 scale: Y: wrong number of dimensions (2, not 1)\n"
