# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The gradient of a cost over many steps: the adjoint of the rollout, with checkpoints.

With x = (q, v) in tangent coordinates, x_(k+1) = F_k dx_k + G_k du_k + H_k dp and a cost l_k(x_k) of each state,

    y_T = dl_T/dx,    dl/du_k = G_k* y_(k+1),    dl/dp += H_k* y_(k+1),    y_k = F_k* y_(k+1) + dl_k/dx.

Where records of all steps would take more memory than RECORDS, states of every so many steps are kept, and the steps
between two of them taken again, to the same bits.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_choice, as_matrix, as_vector
from mb_contact.core.gradients.adjoint import KINKS
from mb_contact.gradients.step import NAMES

RECORDS = 1 << 24  #: what records of steps may take of memory, but for their rows, if ~sqrt(T) take no more [bytes]
#: (cost, its derivative by q (N,) in tangent coordinates, by v (N,)) of the state behind so many steps; or None
Cost = Callable[[int, Floats, Floats], tuple[float, ArrayLike, ArrayLike] | None]
PARAMETERS = tuple(name for name in NAMES if name not in ("q", "v", "effort"))


class RolloutGradient(NamedTuple):
    """Gradient of the cost of a rollout of T steps.

    Examples
    --------
    >>> sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    >>> sim.set_object("box", velocity=[0, 0, 0, 0.1, 0, 0])
    >>> at_end = lambda k, q, v: (q[0], [0, 0, 0, 1, 0, 0], np.zeros(6)) if k == 50 else None
    >>> found = mb.rollout_gradient(sim, np.zeros((50, 0)), at_end)
    >>> found.v.round(4)[3] > 0.01  # it comes to rest farther away
    True
    """

    cost: float
    q: Floats  #: (N,), by the state at the start, along the velocity coordinates
    v: Floats  #: (N,)
    effort: Floats  #: (T, joints)
    parameters: dict  #: by name, (columns,) as of StepDerivatives
    kinks: int  #: laws near another state, over all steps


def rollout_gradient(sim: Any, efforts: ArrayLike, cost: Cost, parameters: Sequence[str] = ()) -> RolloutGradient:
    """Gradient of a cost over a rollout by its initial state, its efforts and parameters of the scene.

    Parameters
    ----------
    sim : Simulator
        Where the rollout begins; its state is the same again behind the call.
    efforts : array_like (T, joints)
        Of each step, as ``Simulator.step`` takes them.
    cost : callable
        ``cost(k, q, v)`` of the state behind k steps, 0 <= k <= T: its cost and the derivatives of that by q, along the
        velocity coordinates, and by v; None where there is none.
    parameters : sequence of str
        Some of ``mass``, ``friction``, ``restitution``, ``damping``, ``joint_friction``.

    Returns
    -------
    RolloutGradient

    Raises
    ------
    InputError
        An argument does not fit, or a step has something whose derivative is not known.

    Examples
    --------
    >>> arm = mb.Simulator(mb.pendulum(1, length=1.0).scene())
    >>> at_end = lambda k, q, v: (q[0], [1.0], [0.0]) if k == 10 else None
    >>> mb.rollout_gradient(arm, np.zeros((10, 1)), at_end).effort[:, 0].argmax()  # the first effort counts most
    0
    """
    efforts = as_matrix(efforts, (None, len(sim.world.joint_names)), "efforts")
    names = ("q", "v", "effort", *(as_choice(name, PARAMETERS, "parameters") for name in parameters))
    start, steps, differentiator, N = sim.save(), len(efforts), sim.differentiator(), sim.context.N
    plan, spare, kept = differentiator.plan(names), [], []
    stride = max(1, int(2.0 * np.sqrt(steps)), RECORDS // (8 * N * (N + plan.width) + 1))
    total, by_effort, by, kinks = 0.0, np.zeros_like(efforts), {}, 0

    def record(first, last):
        """Numbers, records and terms of the cost of steps from the present state on."""
        pages = []
        for k in range(first, last):
            term = _term(cost, k, sim)
            sim.step(efforts[k])
            pages.append((k, differentiator.record(names, spare)[0], *term))
        return pages

    try:
        first = max(0, (steps - 1) // stride * stride)
        for k in range(first):
            if k % stride == 0:
                kept.append(sim.save())
            total += _term(cost, k, sim)[0]
            sim.step(efforts[k])
        pages = record(first, steps)
        told, y = _term(cost, steps, sim)
        total = sum((page[2] for page in pages), total) + told
        y = np.zeros(2 * N) if y is None else y
        while True:
            for k, page, _, by_state in reversed(pages):
                pulled = differentiator.pull(page, y)
                spare.append(page)
                kinks += int(page[KINKS])
                by_effort[k] = pulled[plan.columns["effort"]]
                for name in names[3:]:
                    by[name] = by.get(name, 0.0) + pulled[plan.columns[name]]
                y = pulled[: 2 * N]  # q and v stand first
                if by_state is not None:
                    y += by_state
            if not kept:
                break
            sim.restore(kept.pop())
            first -= stride
            pages = record(first, first + stride)
    finally:
        sim.restore(start)
    return RolloutGradient(total, y[:N], y[N:], by_effort, by, kinks)


def _term(cost, k, sim):
    """Cost of the present state behind k steps, and its derivative (2 N,), or None."""
    told = cost(k, sim.q, sim.v)
    if told is None:
        return 0.0, None
    N, parts = sim.context.N, zip(told[1:], ("q", "v"), strict=True)
    by = [as_vector(np.ravel(part), N, f"the cost's derivative by {name}", finite=False) for part, name in parts]
    return float(told[0]), np.concatenate(by)
