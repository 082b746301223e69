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


def quantised_product(torch: Any, columns: int, steps: int) -> Callable[[], object]:
    """A norm, and a product of one row with weights of 4 bits in groups of 128 (in bfloat16)."""
    x = torch.rand(1, steps, device="cuda", dtype=torch.bfloat16)
    gain = torch.rand(steps, device="cuda", dtype=torch.bfloat16)
    packed = torch.randint(0, 256, (columns, steps // 2), device="cuda", dtype=torch.uint8)
    weights = torch.ops.aten._convert_weight_to_int4pack(packed, 8)
    scales = torch.rand(steps // 128, columns, 2, device="cuda", dtype=torch.bfloat16)

    def call() -> object:
        normed = torch.nn.functional.rms_norm(x, (steps,), gain)
        return torch.ops.aten._weight_int4pack_mm(normed, weights, 128, scales)

    return call


def paged_attention(torch: Any, request: dict[str, Any]) -> Callable[[], object]:
    """Attention of one token a sequence to pages, which PyTorch has to gather first."""
    batch, heads, width, tokens = (
        request[name] for name in ("sequences", "heads", "width", "tokens")
    )
    own, page = heads // request["shared_by"], 16
    half = {"device": "cuda", "dtype": torch.float16}
    q = torch.rand(batch, heads, 1, width, **half)
    keys, values = (torch.rand(batch * tokens // page, page, own, width, **half) for _ in range(2))
    table = torch.randperm(batch * tokens // page, device="cuda").view(batch, -1)
    length = torch.randint(1, tokens + 1, (batch, 1, 1, 1), device="cuda")
    mask = torch.arange(tokens, device="cuda") < length

    def call() -> object:
        k, v = (each[table].flatten(1, 2).transpose(1, 2) for each in (keys, values))
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, enable_gqa=True
        )

    return call


def call_of(torch: Any, request: dict[str, Any]) -> Callable[[], object]:
    """Return the call that does what is asked for."""
    name, n = request["name"], request["n"]
    functional = torch.nn.functional
    dtype = getattr(torch, request.get("dtype", "float32"))

    def random(*shape: int) -> Any:
        if dtype == torch.int8:
            return torch.randint(-8, 8, shape, device="cuda", dtype=dtype)
        return torch.rand(*shape, device="cuda", dtype=torch.float32).to(dtype)

    # Both sides multiply float32 as float32, if rounding is not asked for.
    torch.backends.cuda.matmul.allow_tf32 = request.get("allow_tf32", False)
    if name == "product":
        a, b = random(n, n), random(n, n)
        c = torch.empty(n, n, device="cuda", dtype=torch.int32 if dtype == torch.int8 else dtype)
        if dtype == torch.int8:
            right = b.t().contiguous().t()  # What cuBLAS wants of bytes.
            return lambda: torch._int_mm(a, right, out=c)
        return lambda: torch.mm(a, b, out=c)
    if name == "copies_ahead":
        shape = (request["heads"], request["tokens"], request["width"])
        dtype = torch.float16
        q, k, v = (random(*shape)[None] for _ in range(3))
        return lambda: functional.scaled_dot_product_attention(q, k, v)
    if name == "by_quantised_weights":
        return quantised_product(torch, request["columns"], request["steps"])
    if name == "by_tiles":
        flat = random(request["tiles"] * request["threads"] * request["own"])
        sums = torch.empty_like(flat)
        return lambda: torch.cumsum(flat, 0, out=sums)
    if name == "by_pages":
        return paged_attention(torch, request)
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
