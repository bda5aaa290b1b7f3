# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A ball that bounces until it rests."""

import numpy as np

from mb_contact.model.scene import Material
from mb_contact.programs.bench.fidelity.frame import GRAVITY, Case, Figure, body, coulomb, drive, simulator, upper

HEIGHT, RESTITUTION, RADIUS = 1.0, 0.5, 0.1
#: sqrt(2 h / g) down, then arcs of 2 eps^k sqrt(2 h / g).
REST = np.sqrt(2.0 * HEIGHT / GRAVITY) * (1.0 + 2.0 * RESTITUTION / (1.0 - RESTITUTION))


def _bounces(setting):
    """Apexes of the first three arcs, the time of rest, and the deepest penetration.

    Rest begins at the last impact of the event scheme, and under time stepping where the ball has stopped for good.
    """
    sim = simulator(setting, [body("ball", "sphere", RADIUS, (0, 0, HEIGHT + RADIUS))],
                    materials={"stuff": Material(0.5, restitution=RESTITUTION)})  # fmt: skip
    arcs, rest, last, depth = [], [np.nan], [-1.0], [0.0]

    def watch(step):
        height, speed = sim.q[2] - RADIUS, sim.v[5]
        if speed > 0.0 > last[0]:
            arcs.append((np.inf, 0.0))
        if arcs and abs(speed) < arcs[-1][0]:  # nearest to the apex: what is left of the way is v^2 / 2 g
            arcs[-1] = abs(speed), height + speed**2 / (2.0 * GRAVITY)
        last[0] = speed
        depth[0] = max(depth[0], -height)
        if setting.collision_scheme == "event":
            rest.extend(impact.time for impact in step.events)
        elif abs(speed) > 1e-9:
            rest.append(step.time + sim.time_step)

    drive(sim, 1.6, watch)
    apexes = [apex for _, apex in arcs[:3]] + [np.nan] * 3
    return (*apexes[:3], rest[-1], depth[0])


def _tolerance(setting):
    return 1e-6 if setting.collision_scheme == "event" else 1e-2


CASES = (
    Case(
        "bounce", "ball dropped from h = 1 m, eps = 0.5: apexes eps^2 h, eps^4 h, eps^6 h, and when it rests",
        (
            Figure("first apex", "m", HEIGHT * RESTITUTION**2, _tolerance),
            Figure("second apex", "m", HEIGHT * RESTITUTION**4, _tolerance),
            Figure("third apex", "m", HEIGHT * RESTITUTION**6, _tolerance),
            Figure("rest", "s", REST, _tolerance), upper("penetration", "m", 1e-6),
        ),
        coulomb(), _bounces,
    ),
)  # fmt: skip
