# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A state that runs away: steps too long for how fast joints turn make energy, which makes them turn faster still.

A step is refused if it turns a joint by more than TURN and creates more than GAIN of the kinetic energy that it started
with, beyond all work done.  Fast motion alone is none of that: what flies or spins steadily keeps its energy at any
step, and what no step resolves for long (a whip's end) gains a smaller part.
"""


import numpy as np

from mb_contact.core.integrate.whole import TURN, turns_fast
from mb_contact.dynamics.arguments import hinge_name
from mb_contact.errors import DynamicsError

GAIN = 0.5  #: part of the kinetic energy at the start of the step


def watch(state, dt):
    """What a step of length dt [s] starts from, None where nothing moves so fast that it could run away.

    Parameters
    ----------
    state : SimulationState
    dt : float
    """
    context = state.context
    if not turns_fast(context.handle):
        return None
    return state.save(), dt, context.work.energy.tolist()


def refuse_runaway(state, start, work):
    """All back to ``start``, which ``watch`` has kept, if the finished step that did ``work`` [J] has run away.

    Raises
    ------
    DynamicsError
        It has; the message names the joint and the remedy.
    """
    before, dt, (kinetic, potential) = start
    context, world = state.context, state.context.world
    created = state.energy() - kinetic - potential - work
    turn = dt * np.abs(context.v) * (context.kin.H[:, :3] != 0.0).any(axis=1)
    worst = int(turn.argmax())
    if not (created > GAIN * kinetic and turn[worst] > TURN):
        return
    angle = float(turn[worst])
    body = int(np.searchsorted(world.tree.v_start, worst, side="right")) - 1
    joint = hinge_name(world, body)
    what = f"joint '{joint}'" if joint else f"'{world.body_names[body]}'"
    state.restore(before)
    euler = context.scene.integrator == "semi_implicit_euler"
    raise DynamicsError(
        f"the state runs away: {what} turns by {angle:.3g} rad in the step of {dt:g} s after t = {state.time:.6g} s, "
        f"which creates {created:.3g} J beside {kinetic:.3g} J of kinetic energy; lower the time step"
        + (", or choose integrator: rk4 or midpoint" if euler else "")
    )
