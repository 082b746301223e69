# SPDX-License-Identifier: Apache-2.0
"""Make the environment of the peers. What cannot be installed is told, and left out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / "build" / "peers" / "venv"

GROUPS: dict[str, list[list[str]]] = {
    "NumPy, SciPy, plots": [["numpy", "scipy", "threadpoolctl", "matplotlib"]],
    "Numba": [["numba"]],
    "ONNX Runtime": [["onnxruntime", "onnx"]],
    "JAX": [["jax"]],
    "Halide": [["halide"]],
    # Only wheels for CUDA are there; these libraries are what they load without a GPU.
    "PyTorch": [
        [
            "--no-deps", "torch", "typing_extensions", "sympy", "networkx", "jinja2", "markupsafe",
            "fsspec", "filelock", "mpmath", "setuptools>=77.0.3,<81", "nvidia-cufile",
            "nvidia-cusparselt-cu13", "nvidia-nvshmem-cu13", "nvidia-nccl-cu13==2.30.7",
        ]
    ],
    # Its tuner crashes with a newer ffi.
    "TVM": [
        ["--no-deps", "apache-tvm", "apache-tvm-ffi==0.1.14.post1"],
        ["cloudpickle", "psutil", "tornado", "ml_dtypes", "xgboost"],
    ],
}  # fmt: skip


def install_openmp() -> None:
    """Install what clang's threads need, if it is not there."""
    package = "libomp-22-dev"
    known = subprocess.run(["dpkg", "-s", package], capture_output=True, check=False)
    if known.returncode == 0:
        return
    print(f"installing {package}", flush=True)
    apt = ["apt-get", "install", "-y", "-q", package]
    if subprocess.run(apt, capture_output=True, check=False).returncode:
        print(f"  not installed: {' '.join(apt)} failed; clang has no threads", flush=True)


def main() -> None:
    """Install each group that is not there yet."""
    install_openmp()
    if not (ENVIRONMENT / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    for name, commands in GROUPS.items():
        stamp = ENVIRONMENT / f"{name.replace(' ', '_')}.installed"
        if stamp.exists() and stamp.read_text() == repr(commands):
            continue
        print(f"installing {name}", flush=True)
        pip: list[str | Path] = [ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "-q"]
        pip += ["--disable-pip-version-check"]
        done = [
            subprocess.run([*pip, *packages], capture_output=True, text=True, check=False)
            for packages in commands
        ]
        failed = [each for each in done if each.returncode]
        if failed:
            said = failed[0].stderr.strip().splitlines() or ["no reason was given"]
            print(f"  not installed: {said[-1]}", flush=True)
        else:
            stamp.write_text(repr(commands))


if __name__ == "__main__":
    main()
