# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A small scene stopped in the middle of a step: its problem is posed, and known as dense matrices too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import mb_contact as mb
from mb_contact.core.step.assemble import assemble
from mb_contact.core.step.problem import assemble_problem, rows_in_use
from mb_contact.core.step.step import find_contacts, smooth_dynamics
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.model.scene import Ground, Pose, Primitive, Scene, SceneModel, Velocity
from mb_contact.types import OK
from scenes.urdf_text import joint, link, robot

DAMPING = 0.5  #: of the hinge [N m s/rad]
SLIDING = Velocity(linear=(1.0, 0.5, 0.0))
BAR = (
    '<inertial><origin xyz="0.5 0 0"/><mass value="2"/><inertia ixx="0.1" iyy="0.2" izz="0.3" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)
HINGE = (
    f'<axis xyz="0 1 0"/><limit lower="-1" upper="0" effort="9" velocity="100"/><dynamics damping="{DAMPING}"/>'
)


def bar_and_ball(**options):
    """A ball that slides on the ground, in it by 0.1 mm, and a hanging bar at its upper limit."""
    bar = SceneModel(robot(link("base", "") + link("bar", BAR) + joint("hinge", "base", "bar", "revolute", HINGE)))
    ball = Primitive("ball", "sphere", (0.1,), Pose((3.0, 0.0, 0.0999)), "free", 2.0, velocity=SLIDING)
    return mb.Simulator(Scene(models=(bar,), primitives=(ball,), ground=Ground(), **options))


def two_balls(apart):
    """Two balls on the ground, one beside the other and in it by 0.1 mm, with a gap between them."""
    balls = tuple(
        Primitive(f"ball_{i}", "sphere", (0.1,), Pose((x, 0.0, 0.0999)), "free", 1.0)
        for i, x in enumerate((0.0, 0.2 + apart))
    )
    return mb.Simulator(Scene(primitives=balls, ground=Ground()))


class PosedStep(NamedTuple):
    """Rows and masses of a step's problem."""

    J: np.ndarray  #: (R, N)
    M: np.ndarray  #: (N, N), with dt times the damping
    n_rows: int


def rows_as_matrix(sim, n_rows):
    """J (n_rows, N) of the rows, from the bodies' velocities for each velocity alone."""
    context, rows = sim.context, sim.context.rows
    J, V = np.zeros((n_rows, context.N)), np.zeros((context.n, 6))
    for d in range(context.N):
        v = np.zeros(context.N)
        v[d] = 1.0
        body_velocities(context.tree, context.kin, v, V)
        for i in range(n_rows):
            for body, on in ((rows.body_a[i], rows.on_a[i]), (rows.body_b[i], rows.on_b[i])):
                J[i, d] += on @ V[body] if body >= 0 else 0.0
    return J


def mass_matrix(sim):
    """M (N, N), with dt times the damping."""
    return mb.dynamics.mass_matrix(sim.world, sim.q) + sim.time_step * np.diag(sim.context.tree.damping)


def pose(sim):
    """Everything of a step up to its posed problem; returns it as matrices."""
    context = sim.context
    count = context.find_candidates()
    assert find_contacts(context.handle, count) == OK and smooth_dynamics(context.handle) == OK
    assemble(context.handle)
    assert assemble_problem(context.handle) == OK
    n_rows = rows_in_use(context.handle)
    return PosedStep(rows_as_matrix(sim, n_rows), mass_matrix(sim), n_rows)
