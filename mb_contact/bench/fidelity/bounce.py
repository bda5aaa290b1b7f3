# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A ball that bounces until it rests."""

from __future__ import annotations

import numpy as np

from mb_contact.bench.fidelity.frame import GRAVITY, Case, Figure, body, coulomb, drive, simulator, upper
from mb_contact.model.scene import Material

HEIGHT, RESTITUTION, RADIUS = 1.0, 0.5, 0.1
#: sqrt(2 h / g) down, then arcs of 2 eps^k sqrt(2 h / g).
REST = np.sqrt(2.0 * HEIGHT / GRAVITY) * (1.0 + 2.0 * RESTITUTION / (1.0 - RESTITUTION))


def _bounces(setting):
    """Apexes of the first three arcs, the time of the last impact, and the height at the end."""
    sim = simulator(setting, [body("ball", "sphere", RADIUS, (0, 0, HEIGHT + RADIUS))],
                    materials={"stuff": Material(0.5, restitution=RESTITUTION)})  # fmt: skip
    arcs, impacts, last, depth = [], [], [-1.0], [0.0]

    def watch(step):
        height, speed = sim.q[2] - RADIUS, sim.v[5]
        if speed > 0.0 > last[0]:
            arcs.append((np.inf, 0.0))
        if arcs and abs(speed) < arcs[-1][0]:  # nearest to the apex: what is left of the way is v^2 / 2 g
            arcs[-1] = abs(speed), height + speed**2 / (2.0 * GRAVITY)
        last[0] = speed
        depth[0] = max(depth[0], -height)
        impacts.extend(impact.time for impact in step.events)

    drive(sim, 1.6, watch)
    apexes = [apex for _, apex in arcs[:3]] + [np.nan] * 3
    return (*apexes[:3], max(impacts, default=np.nan), depth[0])


def _tolerance(setting):
    return 1e-6 if setting.collision_scheme == "event" else 1e-2


CASES = (
    Case(
        "bounce", "ball dropped from h = 1 m, eps = 0.5: apexes eps^2 h, eps^4 h, eps^6 h, and when it rests",
        (
            *(Figure(f"{name} apex", "m", HEIGHT * RESTITUTION ** (2 * i + 2), _tolerance)
              for i, name in enumerate(("first", "second", "third"))),
            Figure("rest", "s", REST, _tolerance), upper("penetration", "m", 1e-6),
        ),
        coulomb(schemes=("time_stepping",)) + coulomb(schemes=("event",), integrator="rk4")
        + coulomb(schemes=("event",)), _bounces,
    ),
)  # fmt: skip
