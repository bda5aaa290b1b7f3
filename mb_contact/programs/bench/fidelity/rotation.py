# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Free rotation: a body about its middle axis, and the sleeping top."""

import numpy as np

from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import SceneModel
from mb_contact.programs.bench.fidelity.exact import sleeping_tilt, tumbling_flips
from mb_contact.programs.bench.fidelity.frame import (
    GRAVITY,
    Case,
    Figure,
    body,
    drive,
    integrators,
    launch,
    simulator,
    upper,
)

# --- Dzhanibekov ------------------------------------------------------------------------------------------------

INERTIA, OMEGA, SECONDS = (1.0, 2.0, 3.0), (0.01, 2.0, 0.01), 30.0
FLIPS = tumbling_flips(INERTIA, OMEGA, SECONDS)


def _tumbles(setting):
    """Sign changes of the middle rate, by linear interpolation between steps, and the drifts of energy and momentum."""
    sim = simulator(setting, [body("body", "sphere", 0.1, (0, 0, 0), inertia=INERTIA)], ground=None,
                    gravity=(0.0, 0.0, 0.0))  # fmt: skip
    launch(sim, (*OMEGA, 0, 0, 0))
    start, energies, turns = sim.energy(), [], []
    last = [0.0, OMEGA[1]]

    def watch(step):
        rate = quat_to_matrix(sim.q[3:7])[:, 1] @ sim.v[:3]
        if rate * last[1] < 0.0:
            turns.append(last[0] + (step.time - last[0]) * last[1] / (last[1] - rate))
        last[:] = step.time, rate
        energies.append(step.certificate.energy)

    drive(sim, SECONDS, watch)
    R = quat_to_matrix(sim.q[3:7])
    momentum = R @ (np.array(INERTIA) * (R.T @ sim.v[:3]))
    off = np.linalg.norm(momentum - np.multiply(INERTIA, OMEGA)) / np.linalg.norm(np.multiply(INERTIA, OMEGA))
    if len(turns) != len(FLIPS):
        turns = [np.inf] * len(FLIPS)
    return (*turns, np.abs(np.array(energies) / start - 1.0).max(), off)


# --- the sleeping top -------------------------------------------------------------------------------------------

MASS, LENGTH, CENTRAL, AXIAL = 1.0, 0.1, 0.004, 0.007  #: I1 about the centre and I3 [kg m^2]
TILT = 0.01  #: at the start [rad]
ABOUT_TIP = CENTRAL + MASS * LENGTH**2
#: I3^2 w3^2 = 4 I1 m g l
CRITICAL = np.sqrt(4.0 * ABOUT_TIP * MASS * GRAVITY * LENGTH) / AXIAL
TOP = f"""
<robot name="top"><link name="base"/>
  <joint name="tip" type="spherical"><parent link="base"/><child link="rotor"/></joint>
  <link name="rotor"><inertial><origin xyz="0 0 {LENGTH}"/><mass value="{MASS}"/>
    <inertia ixx="{CENTRAL}" iyy="{CENTRAL}" izz="{AXIAL}" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>"""


def _largest_tilt(setting, spin):
    """Of a top let go at TILT with its spin, within 3 s [rad]."""
    sim = simulator(setting, [], ground=None, models=(SceneModel(TOP),))
    axis = np.array([np.sin(TILT), 0.0, np.cos(TILT)])
    sim.set_state([0.0, np.sin(TILT / 2), 0.0, np.cos(TILT / 2)], spin * axis)
    upright = []
    drive(sim, 3.0, lambda _: upright.append(quat_to_matrix(sim.q)[2, 2]))
    return float(np.arccos(min(upright)))


def _sleeps(setting):
    return tuple(_largest_tilt(setting, part * CRITICAL) for part in (1.05, 0.95))


def _tilt(part):
    return sleeping_tilt(ABOUT_TIP, AXIAL, part * CRITICAL, MASS * GRAVITY * LENGTH, TILT)


CASES = (
    Case(
        "dzhanibekov", "free body, I = (1, 2, 3), rates (0.01, 2, 0.01) rad/s, 30 s: when the middle rate changes sign",
        (
            *(Figure(f"flip {i + 1}", "s", float(t), 1e-3, relative=False) for i, t in enumerate(FLIPS)),
            upper("drift of energy", "E0", 1e-8), upper("drift of angular momentum", "L0", 1e-8),
        ),
        integrators("midpoint", "rk4"), _tumbles,
    ),
    Case(
        "dzhanibekov_default", "the same with the default integrator, which is explicit in gyroscopic torques",
        (
            *(Figure(f"flip {i + 1}", "s", float(t), 1e-2, relative=False) for i, t in enumerate(FLIPS)),
            upper("drift of energy", "E0", 1e-2), upper("drift of angular momentum", "L0", 1e-2),
        ),
        integrators("semi_implicit_euler"), _tumbles,
    ),
    Case(
        "sleeping_top", "top let go at a tilt of 0.01 rad, spin against the limit I3^2 w3^2 = 4 I1 m g l: largest tilt",
        (
            Figure("1.05 of the limit", "rad", _tilt(1.05), 1e-3),
            Figure("0.95 of the limit", "rad", _tilt(0.95), 1e-3),
        ),
        integrators("midpoint", "rk4"), _sleeps,
    ),
)  # fmt: skip
