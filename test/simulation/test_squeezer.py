# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Andrews' squeezing mechanism: seven bodies in three loops, driven by a constant torque against a spring.

Data and reference solution at 0.03 s are those of the test set for IVP solvers.
"""

import numpy as np
import pytest

import mb_contact as mb

m = mb.model
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)  # fixed points
BODIES = {  # of links 1 to 7: mass, moment of inertia, centre of mass in the link
    "1": (0.04325, 2.194e-6, 0.00092, 0.0), "2": (0.00365, 4.410e-7, -0.0115, 0.0),
    "3": (0.02373, 5.255e-6, 0.01043, -0.01874), "4": (0.00706, 5.667e-7, 0.0, -0.00579),
    "5": (0.07050, 1.169e-5, 0.02308, 0.00916), "6": (0.00706, 5.667e-7, 0.00579, 0.0),
    "7": (0.05498, 1.912e-5, -0.00449, -0.01228),
}  # fmt: skip
JOINTS = {  # parent and child, place in the parent, position at the start, reference solution
    "beta": ("base", "1", (0.0, 0.0), -0.0617138900142764496, 15.81077119296904),
    "theta": ("1", "2", (0.007, 0.0), 0.0, -15.75637105984298),
    "gamma": ("base", "3", B, 0.4552798191630703803, 0.04082224013073101),
    "delta": ("base", "5", A, 0.4873649795438425502, 0.5244099658805304),
    "phi": ("5", "4", (0.04, 0.0), 0.2226683901658858847, -0.5347301163226948),
    "epsilon": ("base", "7", A, 1.2305474445498211925, 1.048080741042263),
    "omega": ("7", "6", (0.0, -0.04), -0.2226683901658858847, 0.5347301163226948),
}
ENDS = {"3": (0.0, -0.035), "4": (0.0, -0.02), "6": (0.02, 0.0)}  #: points that are joined to that of link 2


def urdf():
    links = "".join(
        f'<link name="{name}"><inertial><origin xyz="{x} {y} 0"/><mass value="{mass}"/><inertia ixx="{moment}" '
        f'iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for name, (mass, moment, x, y) in BODIES.items()
    )
    joints = "".join(
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} {y} 0"/><axis xyz="0 0 1"/></joint>'
        for name, (parent, child, (x, y), _, _) in JOINTS.items()
    )
    return f'<robot name="squeezer"><link name="base"/>{links}{joints}</robot>'


def error(integrator, dt, seconds=0.03):
    """Largest error of an angle [rad] after steps of dt [s], and the last certificate."""
    joints = {name: joint[3] for name, joint in JOINTS.items()}
    loops = tuple(m.Closure("point", "2", link, m.Pose((-0.028, 0.0, 0.0)), m.Pose((*end, 0.0)), name=f"end_{link}")
                  for link, end in ENDS.items())  # fmt: skip
    spring = m.Tendon("spring", (m.PathElement("3", (0.02, -0.018, 0.0)), m.PathElement("world", (*C, 0.0))),
                      stiffness=4530.0, rest_length=0.07785)  # fmt: skip
    sim = mb.Simulator(mb.Scene(
        models=(m.SceneModel(urdf(), base="weld", joints=joints),), loop_closures=loops, tendons=(spring,),
        gravity=(0.0, 0.0, 0.0), time_step=dt, integrator=integrator,
    ))  # fmt: skip
    torque = np.array([0.033 if name == "beta" else 0.0 for name in sim.world.joint_names])
    certificate = sim.step(torque, steps=round(seconds / dt)).certificate
    found = dict(zip(sim.world.joint_names, sim.joint_positions()))
    return max(abs(found[name] - joint[4]) for name, joint in JOINTS.items()), certificate


def test_the_squeezer_ends_where_the_reference_does():
    worst, certificate = error("rk4", 1e-5)
    assert worst < 1e-8 and certificate.pieces == 1
    assert abs(certificate.energy_balance) < 1e-8 and certificate.closure_error < 1e-14


@pytest.mark.slow
def test_eulers_steps_come_to_it_in_first_order():
    """Of 15.8 rad they miss 0.23 at 10 us."""
    errors = [error("semi_implicit_euler", dt)[0] for dt in (1e-5, 5e-6, 2.5e-6)]
    assert errors[0] < 0.25 and errors[1] / errors[0] == pytest.approx(0.5, rel=1e-2)
    assert errors[2] / errors[1] == pytest.approx(0.5, rel=1e-2)
