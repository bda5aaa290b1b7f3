# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Compile what the tests run, once, before several workers would each do so; a few seconds where it is compiled.

    python test/kernels.py

The step comes first, since all others are built on it (it uses a second process of its own, ``simulation/warm_up.py``);
then two processes share the rest.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import mb_contact as mb
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene

CONFIG = "package://mb_contact/config"
URDF = "package://mb_contact/urdf"


def falling_box(restitution=0.5, **options):
    box = Primitive("box", "box", (0.1, 0.1, 0.1), Pose((0.0, 0.0, 0.05)), "free", 1.0, material="rubber")
    rubber = {"rubber": Material(0.5, restitution=restitution)}
    return Scene(primitives=(box,), ground=Ground(0.0, "rubber"), materials=rubber, **options)


def step():
    mb.Simulator(falling_box()).step()


def schemes():
    """Impacts at their moments, and every integrator's flow."""
    mb.Simulator(falling_box(collision_scheme="event")).step()
    for integrator in ("rk4", "midpoint", "adaptive"):
        mb.Simulator(falling_box(integrator=integrator)).step()


def studies():
    """The studies that have kernels of their own or ask for others of the step."""
    for model in ("no_slip", "viscous", "coulomb_viscous"):
        mb.Simulator(falling_box(0.0, friction_model=model)).step()
    mb.Simulator(mb.load_scene(f"{CONFIG}/pendulum_3.yaml")).step()


def surfaces():
    """Contact coordinates: fixed and adapted steps."""
    simulator = mb.surface_simulator(find_resource(f"{CONFIG}/bezier_patch.yaml"))
    simulator.motion.run_adaptive(0.01)


def dynamics():
    """The functions of dynamics/ on a tree with contacts to come, and the solvers of small problems."""
    model = mb.load_urdf(find_resource(f"{URDF}/dual_arm.urdf"))
    q, v = model.neutral_q(), np.zeros(model.N)
    mb.forward_dynamics(model, q, v, v)
    mb.inverse_dynamics(model, q, v, v)
    mb.mass_matrix(model, q)
    mb.energy(model, q, v)
    mb.operational_space(model, q, v, ["left_tcp", mb.Point("right_tcp", (0.0, 0.0, 0.1))])
    mb.dynamics.centroidal(model, q, v)
    mb.solve_lcp(np.eye(2), -np.ones(2))
    mb.solve_friction(np.eye(3), [-1.0, 0.5, 0.0], [0.5])


JOBS = {job.__name__: job for job in (step, schemes, studies, surfaces, dynamics)}
SIDE_BY_SIDE = (("schemes", "surfaces"), ("studies", "dynamics"))


def compile_all():
    """Run the jobs in processes; nothing is checked here, what fails will fail in its test."""
    subprocess.run([sys.executable, __file__, "step"], check=False)
    for process in [subprocess.Popen([sys.executable, __file__, *names]) for names in SIDE_BY_SIDE]:
        process.wait()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        compile_all()
    for name in sys.argv[1:]:
        JOBS[name]()
