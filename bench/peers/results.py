# SPDX-License-Identifier: Apache-2.0
"""What was measured: samples of each peer, and what they say."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass, field
from typing import Any

DEFAULT, BY_HAND = "ours", "ours, by hand"


def is_ours(name: str) -> bool:
    """Return whether a column is one of ours: by default, by hand, or after a search."""
    return name.startswith(DEFAULT)


@dataclass
class Cell:
    """The samples of one peer on one workload, in seconds; or why there are none."""

    samples: list[float] = field(default_factory=list)
    note: str = ""
    preparation: float = 0.0  # Seconds of compiling, and of a search.

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.samples)

    def quantile(self, share: float) -> float:
        """Return the value that a share of the samples is below."""
        ranked = sorted(self.samples)
        return ranked[min(int(share * len(ranked)), len(ranked) - 1)]


@dataclass
class Row:
    """One workload with so many threads.

    Attributes
    ----------
    limit
        The seconds that the machine's units or its memory need at least, as measured beside it.
    bound
        Which of the two that is.
    foreign
        The share of the processors' time that others took meanwhile.
    clock
        ``"processor"`` or ``"wall"``: which time the samples are.
    """

    workload: str
    kind: str
    threads: int
    flops: float
    bytes: float
    clock: str
    cells: dict[str, Cell] = field(default_factory=dict)
    peak: float = 0.0
    bandwidth: float = 0.0
    foreign: float = 0.0

    @property
    def limit(self) -> float:
        """The seconds that it takes at least on this machine."""
        return max(self.flops / max(self.peak, 1.0), self.bytes / max(self.bandwidth, 1.0))

    @property
    def bound(self) -> str:
        """What limits it."""
        computing = self.flops / max(self.peak, 1.0)
        return "compute" if computing > self.bytes / max(self.bandwidth, 1.0) else "memory"

    def best_peer(self) -> tuple[str, float] | None:
        """Return the quickest of the others, and its median."""
        others = [
            (cell.median, name)
            for name, cell in self.cells.items()
            if not is_ours(name) and cell.samples
        ]
        return (min(others)[1], min(others)[0]) if others else None

    def ratio(self, name: str) -> float | None:
        """Return how many times quicker than the best peer one of ours is."""
        best, cell = self.best_peer(), self.cells.get(name, Cell())
        return best[1] / cell.median if best and cell.samples else None

    def share(self, name: str) -> float | None:
        """Return the share of the limit that it reaches."""
        cell = self.cells.get(name, Cell())
        return self.limit / cell.median if cell.samples else None

    def as_data(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        data = asdict(self)
        data |= {"limit": self.limit, "bound": self.bound}
        for name, cell in self.cells.items():
            if cell.samples:
                data["cells"][name] |= {
                    "median": cell.median,
                    "p10": cell.quantile(0.1),
                    "p90": cell.quantile(0.9),
                    "share": self.share(name),
                }
        data["ratios"] = {name: self.ratio(name) for name in self.cells if is_ours(name)}
        return data


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return statistics.geometric_mean(values) if values else float("nan")


def table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the lines of the table: times in us, with p10 and p90 in the JSON."""
    names = list(dict.fromkeys(name for row in rows for name in row.cells))
    head = ["workload", "threads", *names, "best peer", "ratio", "by hand", "of limit", "foreign"]
    lines = []
    for row in rows:
        best = row.best_peer()
        lines.append(
            [
                row.workload,
                str(row.threads),
                *(_cell_text(row.cells.get(name, Cell(note="-"))) for name in names),
                best[0] if best else "-",
                _number(row.ratio(DEFAULT)),
                _number(row.ratio(BY_HAND)),
                f"{row.share(DEFAULT):.0%} {row.bound}" if row.share(DEFAULT) else "-",
                f"{row.foreign:.0%}",
            ]
        )
    return head, lines


def tuning_table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return what searches took, and how quick their results are beside the best peer."""
    head = ["workload", "threads", "by", "seconds", "us", "to the best peer", "to the default"]
    lines = []
    for row in rows:
        default = row.cells.get(DEFAULT, Cell())
        for name, cell in row.cells.items():
            if name in (DEFAULT, BY_HAND) or not (is_ours(name) or name == "tvm"):
                continue
            if not cell.samples:
                continue
            of_default = default.median / cell.median if default.samples else None
            lines.append(
                [
                    row.workload,
                    str(row.threads),
                    name,
                    f"{cell.preparation:.0f}",
                    f"{cell.median * 1e6:.4g}",
                    _number(row.ratio(name)),
                    _number(of_default),
                ]
            )
    return head, lines


def _cell_text(cell: Cell) -> str:
    if cell.samples:
        return f"{cell.median * 1e6:.4g}"
    return "WRONG" if cell.note.startswith("wrong") else "error" if ":" in cell.note else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
