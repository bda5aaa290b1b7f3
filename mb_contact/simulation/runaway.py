# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A state that runs away: steps too long for how fast joints turn make energy, which makes them turn faster still.

A step is refused if it turns a joint by more than TURN and creates more than GAIN of the kinetic energy that it started
with, beyond all work done.  Fast motion alone is none of that: what flies or spins steadily keeps its energy at any
step, and what no step resolves for long (a whip's end) gains a smaller part.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dnrm2

from mb_contact.dynamics.arguments import hinge_name
from mb_contact.errors import DynamicsError

TURN = 1.0  #: of a joint within a step [rad]
GAIN = 0.5  #: part of the kinetic energy at the start of the step


def watch(sim, dt):
    """What a step of length dt [s] starts from, None where nothing moves so fast that it could run away."""
    if not (len(sim._v) and dt * dnrm2(sim._v) > TURN):
        return None
    return sim.save(), dt, sim._work.energy.tolist()


def refuse_runaway(sim, start, work):
    """DynamicsError, and all back to ``start``, if the finished step that did ``work`` [J] has run away."""
    state, dt, (kinetic, potential) = start
    created = sim.energy() - kinetic - potential - work
    turn = dt * np.abs(sim._v) * (sim._kin.H[:, :3] != 0.0).any(axis=1)
    worst = int(turn.argmax())
    if not (created > GAIN * kinetic and turn[worst] > TURN):
        return
    angle = float(turn[worst])
    body = int(np.searchsorted(sim.world.tree.v_start, worst, side="right")) - 1
    joint = hinge_name(sim.world, body)
    what = f"joint '{joint}'" if joint else f"'{sim.world.body_names[body]}'"
    sim.restore(state)
    euler = sim.scene.integrator == "semi_implicit_euler"
    raise DynamicsError(
        f"the state runs away: {what} turns by {angle:.3g} rad in the step of {dt:g} s after t = {sim.time:.6g} s, "
        f"which creates {created:.3g} J beside {kinetic:.3g} J of kinetic energy; lower the time step"
        + (", or choose integrator: rk4 or midpoint" if euler else "")
    )
