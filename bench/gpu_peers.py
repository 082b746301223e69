# SPDX-License-Identifier: Apache-2.0
"""The kernels of PyTorch and its libraries, in a process of their own, asked line by line.

`bench/gpu.py` starts it, by its own Python or by the one that `LOOPSMITH_PEER_PYTHON` names, and
writes a request in JSON on each line: `{"name": "product", "dtype": "float16", "n": 1024}`. The
answer is a line, too: `{"seconds": 1e-5}`, the median of several calls by the events of the
device, or `{"error": "..."}`. The first line that it writes says what it is.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from typing import Any


def seconds_of(torch: Any, call: Callable[[], object], repeat: int = 7) -> float:
    """Return the median time of a call: as many at once as take a millisecond."""

    def sample(number: int) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(number):
            call()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1e-3 / number

    call()
    torch.cuda.synchronize()
    number = max(1, min(1000, int(1e-3 / max(sample(3), 1e-6)) + 1))
    return statistics.median(sample(number) for _ in range(repeat))


def call_of(torch: Any, request: dict[str, Any]) -> Callable[[], object]:
    """Return the call that does what is asked for."""
    name, n = request["name"], request["n"]
    functional = torch.nn.functional
    dtype = getattr(torch, request.get("dtype", "float32"))

    def random(*shape: int) -> Any:
        if dtype == torch.int8:
            return torch.randint(-8, 8, shape, device="cuda", dtype=dtype)
        return torch.rand(*shape, device="cuda", dtype=torch.float32).to(dtype)

    if name == "product":
        a, b = random(n, n), random(n, n)
        c = torch.empty(n, n, device="cuda", dtype=torch.int32 if dtype == torch.int8 else dtype)
        if dtype == torch.int8:
            right = b.t().contiguous().t()  # What cuBLAS wants of bytes.
            return lambda: torch._int_mm(a, right, out=c)
        return lambda: torch.mm(a, b, out=c)
    if name == "attention":
        q, k, v = (random(request["batch"], n, request["width"])[None] for _ in range(3))
        return lambda: functional.scaled_dot_product_attention(q, k, v)
    x = random(n, n)
    y = torch.empty_like(x)
    if name == "copy":
        return lambda: y.copy_(x)
    if name == "softmax":
        return lambda: torch.softmax(x, 1, out=y)
    if name == "layer norm":
        weight, bias = random(n), random(n)
        return lambda: functional.layer_norm(x, (n,), weight, bias)
    if name == "elements":
        return lambda: torch.exp(x, out=y)
    if name == "transpose":
        return lambda: y.copy_(x.t())
    if name == "sums of rows":
        return lambda: x.sum(1)
    if name == "sums of columns":
        return lambda: x.sum(0)
    if name == "sum of all":
        return lambda: x.sum()
    if name == "prefix sum":
        flat, sums = x.view(-1), y.view(-1)
        return lambda: torch.cumsum(flat, 0, out=sums)
    raise ValueError(f"there is no kernel for {name}")


def main() -> None:
    """Answer requests until there are no more."""
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        print(json.dumps({"error": f"no PyTorch: {error}"}), flush=True)
        return
    if not torch.cuda.is_available():
        print(json.dumps({"error": "PyTorch finds no GPU with CUDA"}), flush=True)
        return
    # Both sides multiply float32 as float32.
    torch.backends.cuda.matmul.allow_tf32 = False
    name = torch.cuda.get_device_name()
    print(json.dumps({"peer": f"PyTorch {torch.__version__} on {name}"}), flush=True)
    for line in sys.stdin:
        try:
            call = call_of(torch, json.loads(line))
            answer: dict[str, Any] = {"seconds": seconds_of(torch, call)}
        except (RuntimeError, ValueError) as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
