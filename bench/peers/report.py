# SPDX-License-Identifier: Apache-2.0
"""The results as one page, with plots in it, and these as SVG and PNG.

`report.py FOLDER` reads `FOLDER/results.json`; the peers' Python runs it, which has matplotlib.
"""

from __future__ import annotations

import html
import json
import sys
from pathlib import Path
from typing import Any

STYLE = (
    "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;font-size:90%}"
    "td,th{text-align:right;padding:.2em .6em;border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child{text-align:left}.good{color:#060}.bad{color:#900}svg{width:100%}"
)


def bars(rows: list[dict[str, Any]], axes: Any) -> None:
    """Draw the ratio of each row: the best peer's time over ours."""
    names = [f"{row['workload']}, {row['threads']} thread(s)" for row in rows]
    places = range(len(rows))
    for offset, name, color in ((0.2, "ours", "#2a6fb0"), (-0.2, "ours, by hand", "#e08a1e")):
        ratios = [row["ratios"][name] or 0 for row in rows]
        if any(ratios):
            axes.barh([place + offset for place in places], ratios, 0.38, label=name, color=color)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(list(places), names, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("times as quick as the best peer")
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def roofline(rows: list[dict[str, Any]], axes: Any) -> None:
    """Draw what is reached over operations a byte, below what the machine can do."""
    working = [row for row in rows if row["flops"]]
    intensities = sorted(row["flops"] / row["bytes"] for row in working)
    for threads in sorted({row["threads"] for row in working}):
        own = [row for row in working if row["threads"] == threads]
        peak = max(row["peak"] for row in own)
        slowest, quickest = (f(row["bandwidth"] for row in own) for f in (min, max))
        for bandwidth in (slowest, quickest):
            roof = [min(peak, bandwidth * each) / 1e9 for each in intensities]
            axes.plot(intensities, roof, color="gray", linewidth=1)
        for name, mark in (("ours", "o"), ("ours, by hand", "^")):
            points = [
                (row["flops"] / row["bytes"], row["flops"] / row["cells"][name]["median"] / 1e9)
                for row in own
                if row["cells"].get(name, {}).get("samples")
            ]
            if points:
                axes.plot(*zip(*points), mark, markersize=4, label=f"{name}, {threads} thread(s)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations a byte")
    axes.set_ylabel("GFLOP/s")
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def draw(data: dict[str, Any], folder: Path) -> list[str]:
    """Write both plots as SVG and PNG; return them as SVG."""
    from matplotlib.figure import Figure

    texts = []
    for name, plot in (("bars", bars), ("roofline", roofline)):
        height = 2 + 0.25 * len(data["rows"]) if name == "bars" else 5
        figure = Figure(figsize=(9, height), layout="constrained")
        plot(data["rows"], figure.subplots())
        for ending in ("svg", "png"):
            figure.savefig(folder / f"{name}.{ending}")
        text = (folder / f"{name}.svg").read_text()
        texts.append(text[text.index("<svg") :])
    return texts


def page(data: dict[str, Any], plots: list[str]) -> str:
    """Return the page."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in data["head"])
    place = data["head"].index("ratio")
    lines = "".join(
        "<tr>"
        + "".join(
            f"<td class='{_grade(cell) if i - place in (0, 1) else ''}'>{html.escape(cell)}</td>"
            for i, cell in enumerate(line)
        )
        + "</tr>"
        for line in data["lines"]
    )
    peers = "".join(f"<li>{html.escape(text)}</li>" for text in data["peers"])
    return (
        f"<!doctype html><html><head><meta charset='utf-8'><title>Beside the libraries</title>"
        f"<style>{STYLE}</style></head><body><h1>Beside the libraries</h1>"
        f"<p>{html.escape(data['machine'])}. Medians in us; one thread: the processor's time. "
        f"Ratio: the time of the best peer over ours.</p>{''.join(plots)}"
        f"<table><tr>{head}</tr>{lines}</table><ul>{peers}</ul></body></html>"
    )


def _grade(cell: str) -> str:
    try:
        return "good" if float(cell) >= 1 else "bad"
    except ValueError:
        return ""


def main() -> None:
    """Write the page and the plots of a folder."""
    folder = Path(sys.argv[1])
    data = json.loads((folder / "results.json").read_text())
    try:
        plots = draw(data, folder)
    except ImportError:
        plots = ["<p>Install matplotlib for plots.</p>"]
    (folder / "report.html").write_text(page(data, plots), encoding="utf-8")


if __name__ == "__main__":
    main()
