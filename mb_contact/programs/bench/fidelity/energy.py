# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Energy in every step of random passive scenes: T(v+) - T(v_free) <= sum p_n v_push + 1e-10 T.

It is a theorem of the contact law (``core/step/energy_balance.py``, ``_contact_energy``), so a step that
breaks it was not solved.
"""

from typing import Any, NamedTuple

import numpy as np

from mb_contact.model.scene import Material, Pose, Primitive, SceneModel
from mb_contact.programs.bench.fidelity.frame import Setting, body, simulator
from mb_contact.simulation.simulator import Simulator

#: What moves a scene, one for every four seeds, so that each meets all friction models.
MOTIONS: tuple[dict[str, Any], ...] = (
    {}, {"restitution": 0.5}, {"integrator": "rk4"}, {"integrator": "midpoint", "restitution": 0.3},
    {"restitution": 0.8}, {"collision_scheme": "event", "restitution": 0.3},
)  # fmt: skip
TINY = float(np.finfo(float).tiny)
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}
LINK = """
  <joint name="{name}_{i}" type="revolute"><parent link="{parent}"/><child link="{name}_{i}_link"/>
    <origin xyz="{reach} 0 0"/><axis xyz="{axis}"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <link name="{name}_{i}_link">
    <inertial><origin xyz="0.1 0 0"/><mass value="{mass}"/>
      <inertia ixx="0.002" iyy="0.003" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.1 0 0"/><geometry><sphere radius="0.06"/></geometry></collision></link>"""


class Passive(NamedTuple):
    """What a passive scene did in all of its steps."""

    excess: float  #: largest (T(v+) - T(v_free) - sum p_n v_push) / T(v_free)
    gained: float  #: largest change of energy in an impact with restitution [J]
    impacts: int  #: how many of those
    touched: int  #: steps with contacts that press
    steps: int
    residual: float  #: worst of the certificates


def _chain(rng, name):
    """A welded chain of three limp hinges with joint limits; lengths in m, masses in kg."""
    text, parent = f'<robot name="{name}"><link name="{name}"/>', name
    for i in range(3):
        axis = "0 1 0" if rng.random() < 0.5 else "0 0.8 0.6"
        text += LINK.format(name=name, i=i, parent=parent, reach=0.2 if i else 0.0, axis=axis, mass=rng.uniform(0.3, 2))
        parent = f"{name}_{i}_link"
    return SceneModel(text + "</robot>", pose=Pose((*rng.uniform(-0.3, 0.3, 2), rng.uniform(0.2, 0.6))))


def random_scene(seed: int, setting: Setting, restitution: float = 0.0) -> Simulator:
    """A simulator of one to four tumbling bodies above the ground, perhaps with a wall and a limp chain."""
    rng = np.random.default_rng([seed, 17])
    primitives, velocities = [], []
    for i in range(rng.integers(1, 5)):
        shape = str(rng.choice(list(SIZES)))
        place = (*rng.uniform(-0.15, 0.15, 2), 0.3 + 0.4 * i)
        size, mass = tuple(rng.uniform(0.08, 0.2, SIZES[shape])), rng.uniform(0.3, 3.0)
        primitives.append(body(f"body_{i}", shape, size, place, mass, tuple(rng.uniform(-3, 3, 3))))
        velocities.append(np.r_[rng.normal(scale=4.0, size=3), rng.normal(size=3)])
    if rng.random() < 0.5:
        primitives.append(Primitive("wall", "plane", pose=Pose((-0.6, 0, 0), (0.0, np.pi / 2, 0.0)), material="stuff"))
    models = (_chain(rng, "chain"),) if rng.random() < 0.5 else ()
    materials = {"stuff": Material(rng.uniform(0.0, 1.2), restitution=restitution)}
    sim = simulator(setting, primitives, models=models, materials=materials)
    joints = np.zeros(len(sim.v) - 6 * len(velocities))
    sim.set_state(sim.q, np.concatenate([joints, *velocities]))
    return sim


def setting_of(seed: int, time_step: float) -> Setting:
    """Each scene's friction model: pyramids of 4, 8 and 16 directions, and every fourth one the cone."""
    model = "coulomb_cone" if seed % 4 == 3 else "coulomb_polyhedral"
    return Setting(friction_model=model, friction_directions=(4, 8, 16, 8)[seed % 4], time_step=time_step)


def motion_of(seed: int, time_step: float) -> tuple[Setting, float]:
    """Each scene's setting and restitution: integrators, collision schemes and friction models."""
    motion = dict(MOTIONS[seed // 4 % len(MOTIONS)])
    restitution = motion.pop("restitution", 0.0)
    return setting_of(seed, time_step)._replace(**motion), restitution


def run_scene(seed: int, seconds: float = 10.0, time_step: float = 1e-3) -> Passive:
    """Run a random passive scene and judge the energy of every step."""
    sim = random_scene(seed, *motion_of(seed, time_step))
    excess, touched, residual, steps = -np.inf, 0, 0.0, round(seconds / time_step)
    gained, impacts = -np.inf, 0
    for _ in range(steps):
        step = sim.step()
        c = step.certificate
        residual = max(residual, c.residual)
        for impact in step.events:
            if impact.restitution.any():
                impacts += 1
                gained = max(gained, impact.energy_after - impact.energy_before)
        if c.contact_energy == 0.0:
            continue
        touched += 1
        free = c.kinetic_energy - c.contact_energy  # T(v_free)
        excess = max(excess, float(c.contact_energy - c.push_out_energy) / max(float(free), TINY))
    return Passive(excess, gained, impacts, touched, steps, residual)
