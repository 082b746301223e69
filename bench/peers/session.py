# SPDX-License-Identifier: Apache-2.0
"""The processes of the peers, and how they are asked in turns."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from install import ENVIRONMENT

FOLDER = Path(__file__).resolve().parent
SLOWS_PEERS = ("OPENBLAS_", "MKL_", "OMP_", "DNNL_", "ONEDNN_", "KMP_", "GOMP_", "NUMBA_", "XLA_")
"""Variables that change how quick a library is; the caller may have set some."""


@dataclass(frozen=True)
class PeerKind:
    """A column of the table.

    Attributes
    ----------
    module
        Its programs.
    python
        Which interpreter runs them.
    variables
        What its environment has, besides the number of threads.
    lacks
        Why it cannot be measured here; empty where it can.
    """

    name: str
    module: str
    python: str
    variables: dict[str, str] = field(default_factory=dict)
    lacks: str = ""


def peer_kinds(trials: int, seconds: Sequence[str] = ()) -> list[PeerKind]:
    """Return all peers; `trials` are those of TVM's tuner, `seconds` those of ours."""
    installed = str(ENVIRONMENT / "bin" / "python")
    lacks = "" if Path(installed).exists() else "the peers are not installed: make bench-peers"
    here, ours = sys.executable, "programs_ours"
    found = [
        PeerKind("ours", ours, here),
        PeerKind("ours, by hand", ours, here, {"BENCH_SCHEDULE": "hand"}),
    ]
    for each in seconds:
        search = {"BENCH_SCHEDULE": "search", "BENCH_SECONDS": each}
        found.append(PeerKind(f"ours, {each} s", ours, here, search))
    for name in ("numpy", "scipy", "torch", "onnx", "numba", "jax", "halide"):
        found.append(PeerKind(name, f"programs_{name}", installed, {}, lacks))
    without = lacks or ("" if trials else "its tuner takes long: pass --tvm-trials 64")
    # Each of its workers would compile an extension for PyTorch first.
    tuning = {"BENCH_TRIALS": str(trials), "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1"}
    found.append(PeerKind("tvm", "programs_tvm", installed, tuning, without))
    for name, command in (("gcc", "gcc"), ("clang", "clang-22")):
        compiler = shutil.which(command) or shutil.which(name) or ""
        missing = "" if compiler else f"{command} is not installed"
        found.append(PeerKind(name, "programs_c", here, {"BENCH_CC": compiler}, missing))
    return found


class PeerProcess:
    """A peer in a process of its own, started when it is first asked."""

    def __init__(self, kind: PeerKind, threads: int) -> None:
        self.kind = kind
        self.lacks = kind.lacks
        self.version = ""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(SLOWS_PEERS)
        }
        kept |= {
            "OMP_NUM_THREADS": str(threads),
            "OPENBLAS_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
            "NUMBA_NUM_THREADS": str(threads),
            "XLA_FLAGS": ""
            if threads > 1
            else "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
            "JAX_PLATFORMS": "cpu",
        }
        self._environment = kept | kind.variables
        self._threads = threads
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, method: str, *arguments: Any) -> Any:
        """Return an answer; where there is none, None, and `lacks` says why."""
        if self.lacks:
            return None
        try:
            if self._process is None:
                self._start()
            process = self._process
            assert process is not None and process.stdin is not None and process.stdout is not None
            pickle.dump((method, arguments), process.stdin)
            process.stdin.flush()
            answered, answer, _ = pickle.load(process.stdout)
        except (EOFError, OSError):
            assert self._process is not None
            self.lacks = f"its process ended with status {self._process.wait()}"
            return None
        if answered == "error":
            kind, text = answer
            if kind in ("ModuleNotFoundError", "ImportError"):
                self.lacks = f"not installed: {text}"
            return f"{kind}: {text}"
        return answer

    def start(self) -> None:
        """Start it, and learn its version."""
        version = self.ask("version")
        self.version = "" if self.lacks else str(version)

    def processor_seconds(self) -> float:
        """Return the processor's time that its process has taken."""
        if self._process is None or self._process.poll() is not None:
            return 0.0
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _start(self) -> None:
        affinity = sorted(os.sched_getaffinity(0))
        self._process = subprocess.Popen(
            [self.kind.python, "child.py", self.kind.module],
            cwd=FOLDER,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            preexec_fn=(lambda: os.sched_setaffinity(0, affinity[:1]))
            if self._threads == 1 and self.kind.name == "jax"  # It has no other way to be told.
            else None,
        )


class ForeignTime:
    """How much of the machine's time others took than those that we measure."""

    def __init__(self, processes: list[PeerProcess]) -> None:
        self._processes = processes
        self._own = self._busy = self._begin = 0.0
        self.restart()

    def restart(self) -> None:
        """Begin anew."""
        self._begin, self._busy, self._own = time.monotonic(), _busy_seconds(), self._own_seconds()

    def share(self) -> float:
        """Return the share of all processors since the beginning, 0 to 1."""
        elapsed = (time.monotonic() - self._begin) * (os.cpu_count() or 1)
        foreign = _busy_seconds() - self._busy - (self._own_seconds() - self._own)
        return max(0.0, min(1.0, foreign / max(elapsed, 1e-9)))

    def _own_seconds(self) -> float:
        return time.process_time() + sum(each.processor_seconds() for each in self._processes)


def _busy_seconds() -> float:
    """Return how long all processors have worked since the machine was started."""
    user, nice, system, _idle, _wait, *others = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    )
    return (user + nice + system + sum(others)) / os.sysconf("SC_CLK_TCK")
