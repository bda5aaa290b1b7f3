# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Collisions and jams: a rod on ice, Painleve's rod, a rimless wheel, drops."""

import numpy as np
from scipy.integrate import solve_ivp

from mb_contact.checks import Floats
from mb_contact.model.rotations import quat_to_matrix, rpy_to_matrix
from mb_contact.model.scene import ModelMaterials, Pose, SceneModel
from mb_contact.programs.bench.fidelity.frame import (
    GRAVITY,
    Case,
    Figure,
    body,
    coulomb,
    drive,
    launch,
    simulator,
    upper,
)

# --- rods: half-length l, m l^2 / 3 across, the tips are those of a thin capsule's axis -----------------------------

MASS, HALF, THIN = 1.3, 0.5, 0.01
ACROSS = MASS * HALF**2 / 3.0


def _rod(setting, steepness, mu, gap=0.0, **options):
    """A rod that touches the floor with one tip, ``steepness`` [rad] from the level; the tip is towards +x."""
    height = HALF * np.sin(steepness) + THIN + gap
    rod = body("rod", "capsule", (THIN, 2.0 * HALF), (0, 0, height), MASS, (0.0, steepness - np.pi / 2, 0.0),
               inertia=(ACROSS, ACROSS, 1e-3 * ACROSS))  # fmt: skip
    return simulator(setting, [rod], mu, **options)


def _tip(steepness):
    """Lowest point of the rod from its centre (x, z)."""
    return HALF * np.cos(steepness), -HALF * np.sin(steepness) - THIN


def rod_compliance(steepness: float) -> Floats:
    """Compliance (2, 2) of the tip, normal and along x, 1/m + lever arms over m l^2 / 3 [1/kg]."""
    x, z = _tip(steepness)
    lever = np.array([-x, z])  # of a normal and a tangential force about y
    return np.eye(2) / MASS + np.outer(lever, lever) / ACROSS


def _rod_on_ice(setting):
    sim = _rod(setting, np.pi / 4, 0.0, gravity=(0.0, 0.0, 0.0))
    launch(sim, (0, 0, 0, 0, 0, -1.0))
    worst = drive(sim, sim.time_step)
    return abs(sim.v[1]) * HALF, abs(sim.v[1] * _tip(np.pi / 4)[0] - sim.v[5]), worst


def _rod_falls(setting):
    sim = _rod(setting, np.pi / 4, 0.0, gap=0.0345678, gravity=(0.0, 0.0, 0.0))
    launch(sim, (0, 0, 0, 0, 0, -1.0))
    drive(sim, 0.04)
    return (abs(sim.v[1]) * HALF,)


#: (1 + 3 cos^2) p = m v at the tip; omega = 3 cos 45 / (1 + 3 cos^2 45) v / l.
ROD_SPIN = 3.0 * np.sqrt(0.5) / 2.5

PAINLEVE_ANGLE = np.arctan(2.0)  #: where the paradox begins first, at mu = 4/3
PAINLEVE_MU = 1.5


def painleve_limit(steepness: float) -> float:
    """Friction above which sliding with the tip ahead is inconsistent: (1 + 3 cos^2) / (3 sin cos)."""
    c, s = np.cos(steepness), np.sin(steepness)
    return (1.0 + 3.0 * c * c) / (3.0 * s * c)


def painleve_jam(time_step: float) -> float:
    """Angular velocity after the step in which the sliding tip (1 m/s) jams: both tip velocities become zero."""
    x, z = _tip(PAINLEVE_ANGLE)
    impulse = np.linalg.solve(rod_compliance(PAINLEVE_ANGLE), [GRAVITY * time_step, -1.0])
    if not 0.0 < abs(impulse[1]) <= PAINLEVE_MU * impulse[0]:
        raise AssertionError("the tip would not stick")
    return (z * impulse[1] - x * impulse[0]) / ACROSS


def painleve_vault(duration: float) -> float:
    """Angular velocity so long after an instantaneous jam: the rod rolls on over its tip and its energy stays."""
    start = painleve_jam(0.0)

    def inertia(steepness):
        x, z = _tip(steepness)
        return ACROSS + MASS * (x * x + z * z)

    def omega(steepness):
        fall = 2.0 * MASS * GRAVITY * HALF * (np.sin(PAINLEVE_ANGLE) - np.sin(steepness))
        return np.sqrt((inertia(PAINLEVE_ANGLE) * start**2 + fall) / inertia(steepness))

    turned = solve_ivp(lambda _, a: omega(a), (0.0, duration), [PAINLEVE_ANGLE], rtol=1e-12, atol=1e-14)
    return float(omega(turned.y[0, -1]))


def _painleve(setting):
    """One step and what follows; velocities of a time step belong to the pose at its start, of events to its end."""
    sim = _rod(setting, PAINLEVE_ANGLE, PAINLEVE_MU)
    launch(sim, (0, 0, 0, 1.0, 0, 0))
    x, z = _tip(PAINLEVE_ANGLE)
    worst = drive(sim, sim.time_step)
    if setting.collision_scheme == "event":
        along = quat_to_matrix(sim.q[3:7])[:, 2]
        x, z = -HALF * along[0], -HALF * along[2] - THIN
    omega, tip = sim.v[1], sim.v[[3, 5]] + sim.v[1] * np.array([z, -x])
    worst = max(worst, drive(sim, 0.5))
    return omega, np.abs(tip).max(), worst


def _painleve_field(setting):
    """Worst residual over rods inside the paradox, 0.25 s each, and the largest gain of energy in a step."""
    worst, gain, count = 0.0, 0.0, 0
    for steepness in np.radians((50.0, 63.435, 75.0)):
        for excess in (1.05, 1.5, 3.0):
            sim = _rod(setting, steepness, excess * painleve_limit(steepness))
            launch(sim, (0, 0, 0, 2.0, 0, 0))
            energy = [sim.energy()]
            worst = max(worst, drive(sim, 0.25, lambda step: energy.append(step.certificate.energy)))  # noqa: B023
            gain = max(gain, np.diff(energy).max() / energy[0])
            count += 1
    return worst, gain, count


# --- the rimless wheel ------------------------------------------------------------------------------------------

SPOKE, WHEEL_MASS, WHEEL_INERTIA = 0.5, 1.0, 0.05
SPOKES = 8
WHEEL = f"""
<robot name="wheel"><link name="wheel">
  <inertial><mass value="{WHEEL_MASS}"/>
    <inertia ixx="0.04" iyy="{WHEEL_INERTIA}" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="{SPOKE * 2**0.5!r} 0.2 {SPOKE * 2**0.5!r}"/></geometry></collision>
  <collision><origin rpy="0 {np.pi / 4!r} 0"/>
    <geometry><box size="{SPOKE * 2**0.5!r} 0.2 {SPOKE * 2**0.5!r}"/></geometry></collision>
</link></robot>"""  # two square prisms, turned by 45 deg: their eight edges are the feet


def _wheel(setting):
    """One spoke after the other: the wheel turns about the rear foot when the next one lands."""
    half = np.pi / SPOKES
    x, z = SPOKE * np.sin(half), SPOKE * np.cos(half)
    model = SceneModel(WHEEL, pose=Pose((0.0, 0.0, z), (0.0, half, 0.0)), base="free",
                       materials=ModelMaterials(default="stuff"))  # fmt: skip
    sim = simulator(setting, [], mu=1.0, models=(model,), gravity=(0.0, 0.0, 0.0))
    launch(sim, (0, 1.0, 0, z, 0, -x))
    worst = drive(sim, sim.time_step)
    lift = sim.v[5] + sim.v[1] * x  # vertical velocity of the rear foot, at -x
    return sim.v[1], abs(lift - 2.0 * x * sim.v[1]), worst


#: Angular momentum about the landing foot: I + m l^2 cos 45 before, I + m l^2 after.
WHEEL_RATIO = (WHEEL_INERTIA + WHEEL_MASS * SPOKE**2 * np.cos(2 * np.pi / SPOKES)) / (
    WHEEL_INERTIA + WHEEL_MASS * SPOKE**2
)


# --- drops ------------------------------------------------------------------------------------------------------

DROPS = (
    ("sphere", (0.1,), (0.0, 0.0, 0.0), 0.1),
    ("box", (0.2, 0.2, 0.2), (0.0, 0.0, 0.0), 0.1),
    ("box", (0.2, 0.2, 0.2), (0.5, 0.6, 0.1), None),
    ("capsule", (0.05, 0.2), (1.2, 0.0, 0.0), None),
    ("cylinder", (0.1, 0.2), (0.3, 0.0, 0.0), None),
)


def _lowest(shape, size, rpy):
    """How far a shape reaches below its centre."""
    down = rpy_to_matrix(rpy).T @ (0.0, 0.0, -1.0)
    if shape == "sphere":
        return size[0]
    if shape == "box":
        return np.abs(down) @ size / 2.0
    across = np.hypot(*down[:2])
    return size[0] * (1.0 if shape == "capsule" else across) + abs(down[2]) * size[1] / 2.0


def _drops(setting):
    """Deepest penetration of shapes dropped from 1 m, until 1 s after the fall."""
    deepest = 0.0
    for shape, size, rpy, _ in DROPS:
        height = 1.0 + _lowest(shape, size, rpy)
        sim = simulator(setting, [body("drop", shape, size, (0, 0, height), rpy=rpy)])
        depth = []
        drive(sim, np.sqrt(2.0 / GRAVITY) + 1.0, lambda step: depth.append(step.certificate.penetration))  # noqa: B023
        deepest = max(deepest, *depth)
    return (deepest,)


CASES = (
    Case(
        "rod_on_ice", "rod of half-length l, 45 deg, falls at v on frictionless ground: omega = 0.848528 v / l",
        (Figure("omega l / v", "", ROD_SPIN, 1e-9), upper("tip velocity", "m/s", 1e-9), upper("residual", "", 1e-9)),
        coulomb(), _rod_on_ice,
    ),
    Case(
        "rod_falls", "the same, hitting the floor within a step",
        (Figure("omega l / v", "", ROD_SPIN, 1e-9),), coulomb(schemes=("event",)), _rod_falls,
    ),
    Case(
        "painleve", "Painleve's rod at 63.435 deg, mu = 1.5 > 4/3, tip sliding at 1 m/s: jams within a step",
        (
            Figure("omega after the jam", "rad/s", painleve_jam(1e-3), 1e-9), upper("tip velocity", "m/s", 1e-9),
            upper("worst residual in 0.5 s", "", 1e-9),
        ),
        coulomb(schemes=("time_stepping",)), _painleve,
    ),
    Case(
        "painleve_event", "the same as an event: jams at once and vaults over its tip for 1 ms",
        (
            Figure("omega 1 ms after the jam", "rad/s", painleve_vault(1e-3), 2e-4), upper("tip velocity", "m/s", 1e-5),
            upper("worst residual in 0.5 s", "", 1e-9),
        ),
        coulomb(schemes=("event",)), _painleve,
    ),
    Case(
        "painleve_field", "nine rods inside the paradox, 50 to 75 deg, friction 1.05 to 3 times the limit, 0.25 s each",
        (
            upper("worst residual", "", 1e-9), upper("gain of energy in a step", "E0", 1e-6),
            Figure("solved", "", 9, 0.0),
        ),
        coulomb(), _painleve_field,
    ),
    Case(
        "rimless_wheel", "rimless wheel of 8 spokes, a foot lands: (I + m l^2 cos 45) / (I + m l^2)",
        (Figure("omega after / before", "", WHEEL_RATIO, 1e-9), upper("rear foot off its circle", "m/s", 1e-9),
         upper("residual", "", 1e-9)),
        coulomb(), _wheel,
    ),
    Case(
        "drop", "sphere, boxes, capsule and cylinder dropped from 1 m: deepest penetration",
        (upper("penetration", "m", 5e-5),), coulomb(), _drops,
    ),
)  # fmt: skip
