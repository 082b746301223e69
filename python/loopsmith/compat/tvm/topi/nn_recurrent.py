# SPDX-License-Identifier: Apache-2.0
"""Layers that carry a state from step to step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loopsmith import te

__all__ = ["lstm"]


def lstm(
    Xs: Any,
    Wi: Any,
    Wh: Any,
    Bi: Any = None,
    Bh: Any = None,
    h_init: Any = None,
    c_init: Any = None,
    proj: Any = None,
    p_i: Any = None,
    p_f: Any = None,
    p_o: Any = None,
    f_act: Callable[..., Any] = te.sigmoid,
    g_act: Callable[..., Any] = te.tanh,
    h_act: Callable[..., Any] = te.tanh,
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[Any, Any]:
    """Return the hidden states and the cell states of a long short-term memory.

    Parameters
    ----------
    Xs
        The inputs, of shape (steps, batch, features).
    Wi, Wh
        Weights of inputs and of hidden states, of shapes (4 * units, features) and (4 * units,
        hidden), the gates one after the other as `weight_layout` says.
    Bi, Bh
        What is added to the products, of shape (4 * units,).
    h_init, c_init
        The states before the first step, of shapes (batch, hidden) and (batch, units); else 0.
    proj
        What a hidden state is multiplied by, of shape (hidden, units).
    p_i, p_f, p_o
        By what the cell state is multiplied to be added to a gate, of shape (batch, units).
    f_act, g_act, h_act
        The functions of the gates, of the candidate, and of the cell state.
    reverse
        Whether the last input comes first.
    weight_layout
        The order of the gates: input, forget, candidate (G), output.

    Returns
    -------
    tuple
        Tensors of shapes (steps, batch, hidden) and (steps, batch, units), in the order in which
        the inputs were taken.

    Raises
    ------
    ValueError
        `weight_layout` is no order of IFGO.
    """
    if sorted(weight_layout) != sorted("IFGO"):
        raise ValueError(f"lstm: weight_layout is {weight_layout!r}, not an order of 'IFGO'")
    steps, batch, features = Xs.shape
    units, hidden, dtype = Wi.shape[0] // 4, Wh.shape[1], Xs.dtype
    k = te.reduce_axis((0, features), name="ki2h")
    from_inputs = te.compute(
        (steps, batch, 4 * units),
        lambda t, b, j: te.sum(Xs[t, b, k] * Wi[j, k], axis=k),
        name="Xi2h",
    )
    # Step 0 of the states is what is before the first one.
    h_state = te.placeholder((steps + 1, batch, hidden), dtype, name="h_state")
    c_state = te.placeholder((steps + 1, batch, units), dtype, name="c_state")

    def before(size: Any, known: Any, name: str) -> Any:
        zero = te.const(0, dtype)
        return te.compute((1, batch, size), lambda _, b, j: zero if known is None else known[b, j],
                          name=name)  # fmt: skip

    kh = te.reduce_axis((0, hidden), name="kh2h")
    from_states = te.compute(
        (steps + 1, batch, 4 * units),
        lambda t, b, j: te.sum(h_state[t - 1, b, kh] * Wh[j, kh], axis=kh),
        name="h2h",
    )

    def gate(letter: str, t: Any, b: Any, j: Any) -> Any:
        place = weight_layout.index(letter) * units + j
        taken = steps - t if reverse else t - 1
        value = from_inputs[taken, b, place] + from_states[t, b, place]
        for bias in (Bi, Bh):
            value = value if bias is None else value + bias[place]
        return value

    def weighted(value: Any, weight: Any, cell: Any, b: Any, j: Any) -> Any:
        return value if weight is None else value + weight[b, j] * cell

    def next_cell(t: Any, b: Any, j: Any) -> Any:
        old = c_state[t - 1, b, j]
        forget = f_act(weighted(gate("F", t, b, j), p_f, old, b, j))
        taken = f_act(weighted(gate("I", t, b, j), p_i, old, b, j))
        return forget * old + taken * g_act(gate("G", t, b, j))

    cell = te.compute((steps + 1, batch, units), next_cell, name="next_c")

    def shown(t: Any, b: Any, j: Any) -> Any:
        new = cell[t, b, j]
        return f_act(weighted(gate("O", t, b, j), p_o, new, b, j)) * h_act(new)

    state = te.compute((steps + 1, batch, units), shown, name="next_h")
    if proj is not None:
        kp = te.reduce_axis((0, units), name="kproj")
        whole = state
        state = te.compute(
            (steps + 1, batch, hidden),
            lambda t, b, j: te.sum(whole[t, b, kp] * proj[j, kp], axis=kp),
            name="projected_h",
        )
    all_h, all_c = te.scan(
        [before(hidden, h_init, "h_init"), before(units, c_init, "c_init")],
        [state, cell],
        [h_state, c_state],
        name="lstm_scan",
    )

    def after_first(states: Any, size: Any, name: str) -> Any:
        return te.compute((steps, batch, size), lambda t, b, j: states[t + 1, b, j], name=name)

    return after_first(all_h, hidden, "hidden_states"), after_first(all_c, units, "cell_states")
