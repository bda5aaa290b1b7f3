# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Grasps that are shaken: how far what is held creeps, here and in MuJoCo and Bullet where these are installed.

A carriage swings by 5 cm at 0.5 Hz; two jaws on it press an object between them, each with its own force, a weak
spring and a damper.  Gravity pulls along the jaws' faces.  Where Coulomb's law holds, nothing slips: a grasp ends where
it began.
"""

import importlib.util
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.scene import Material, ModelMaterials, Pose, Primitive, Scene, SceneModel
from mb_contact.simulation.simulator import Simulator

SWING, FREQUENCY = 0.05, 0.5  #: of the carriage [m], [Hz]
SETTLED = 1.0  #: time from which creep counts [s]
FRICTION = 0.8
SPRING, DAMPER = 200.0, 20.0  #: of a jaw [N/m, N s/m]
RATE = 60.0  #: of the carriage's control [rad/s]
THICK = 0.02  #: of a jaw [m]
LOST = 0.1  #: creep that counts as dropped [m]

#: MuJoCo's settings: cone, ratio of frictional to normal stiffness, extra iterations against slip
USUAL = 'cone="elliptic" solver="Newton" integrator="Euler"'
PEERS = {
    "impratio 1": USUAL,
    "impratio 10": f'{USUAL} impratio="10"',
    "impratio 10, no-slip 10": f'{USUAL} impratio="10" noslip_iterations="10"',
}


class Grasp(NamedTuple):
    """What is held, and by what."""

    shape: str
    size: tuple[float, ...]  #: of a Primitive; the jaws face each other along y [m]
    width: float  #: along y [m]
    mass: float  #: [kg]
    force: float  #: of each jaw [N]
    jaw: float = 0.2  #: mass of a jaw [kg]
    carriage: float = 2.0  #: mass of the carriage [kg]


GRASPS = {
    "cube of 0.5 kg": Grasp("box", (0.06, 0.06, 0.06), 0.06, 0.5, 20.0),
    "mass ratio 100": Grasp("box", (0.06, 0.06, 0.06), 0.06, 5.0, 100.0, jaw=0.05),
    "heavy arm": Grasp("box", (0.06, 0.06, 0.06), 0.06, 0.5, 20.0, carriage=200.0),
    "can, free to roll": Grasp("cylinder", (0.03, 0.10), 0.06, 0.35, 20.0),
}


def scene_of(grasp: Grasp) -> Scene:
    """The scene of a grasp: the object between the jaws, which touch it."""
    side = 0.5 * (grasp.width + THICK)
    links = [f'<link name="carriage">{_inertial(grasp.carriage)}</link>', '<link name="base"/>']
    joints = [_slider("carriage_joint", "base", "carriage", "1 0 0")]
    for name, y in (("left", -side), ("right", side)):
        collision = f'<collision><geometry><box size="0.08 {THICK} 0.08"/></geometry></collision>'
        links.append(f'<link name="{name}">{_inertial(grasp.jaw)}{collision}</link>')
        joints.append(_slider(f"{name}_joint", "carriage", name, "0 1 0", f"0 {y!r} 0"))
    hand = SceneModel(
        f'<robot name="hand">{"".join(links + joints)}</robot>', name="hand", pose=Pose((0.0, 0.0, 1.0)),
        materials=ModelMaterials(default="rubber"),
    )  # fmt: skip
    held = Primitive(
        "held", grasp.shape, grasp.size, Pose((0.0, 0.0, 1.0)), base="free", mass=grasp.mass, material="rubber"
    )
    return Scene(models=(hand,), primitives=(held,), materials={"rubber": Material(FRICTION)})


def _inertial(mass):
    i = 1e-3 * mass
    return (
        f'<inertial><mass value="{mass!r}"/><inertia ixx="{i!r}" iyy="{i!r}" izz="{i!r}" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    )


def _slider(name, parent, child, axis, place="0 0 0"):
    return (
        f'<joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{place}"/><axis xyz="{axis}"/><limit lower="-1" upper="1" effort="1e6" velocity="100"/></joint>'
    )


def law_of(grasp: Grasp) -> Callable[[float, Floats, Floats], Floats]:
    """Efforts (3,) of carriage and jaws from the time and their positions and velocities."""
    moved, w = grasp.carriage + 2.0 * grasp.jaw + grasp.mass, 2.0 * np.pi * FREQUENCY

    def law(now, q, v):
        asked = SWING * (1.0 - np.cos(w * now)), SWING * w * np.sin(w * now), SWING * w * w * np.cos(w * now)
        drive = moved * (asked[2] + RATE * RATE * (asked[0] - q[0]) + 2.0 * RATE * (asked[1] - v[0]))
        left = grasp.force - SPRING * q[1] - DAMPER * v[1]
        return np.array([drive, left, -grasp.force - SPRING * q[2] - DAMPER * v[2]])

    return law


class Creep:
    """Largest way of the held object from where it was in the carriage when the grasp had settled [m]."""

    def __init__(self) -> None:
        self.start: Floats | None = None
        self.most, self.last = 0.0, 0.0

    def add(self, now: float, place: Floats) -> None:
        """The object's ``place`` in the carriage at a time [s]."""
        if now < SETTLED:
            return
        if self.start is None:
            self.start = place
        self.last = float(np.linalg.norm(place - self.start))
        self.most = max(self.most, self.last)


def hold(grasp: Grasp, seconds: float) -> tuple[Creep, float, float]:
    """Our run of a grasp: its creep, the worst residual, and wall seconds in steps."""
    sim, law, creep = Simulator(scene_of(grasp)), law_of(grasp), Creep()
    residual = spent = 0.0
    for _ in range(round(seconds / sim.time_step)):
        effort = law(sim.time, sim.joint_positions(), sim.joint_velocities())
        start = time.perf_counter()
        step = sim.step(effort)
        spent += time.perf_counter() - start
        residual = max(residual, step.certificate.residual)
        creep.add(sim.time, sim.link_pose("held")[0] - np.array([sim.joint_positions()[0], 0.0, 0.0]))
    return creep, residual, spent


def hold_in_mujoco(grasp: Grasp, seconds: float, options: str) -> tuple[Creep, float]:
    """MuJoCo's run of the same world: its creep, and wall seconds in steps."""
    import mujoco

    from mb_contact.programs.bench.mujoco_world import degrees, model_of

    sim, law, creep, spent = Simulator(scene_of(grasp)), law_of(grasp), Creep(), 0.0
    model, data = model_of(sim, options)
    dofs, places = degrees(sim, model)
    body: Any = model.body("held").id
    for _ in range(round(seconds / sim.time_step)):
        data.qfrc_applied[dofs] = law(data.time, data.qpos[places], data.qvel[dofs])
        start = time.perf_counter()
        mujoco.mj_step(model, data)
        spent += time.perf_counter() - start
        creep.add(data.time, data.xpos[body] - np.array([data.qpos[places[0]], 0.0, 0.0]))
        if creep.most > LOST:
            break
    return creep, spent


def hold_in_bullet(grasp: Grasp, seconds: float) -> tuple[Creep, float]:
    """Bullet's run of the same world: its creep, and wall seconds in steps."""
    import pybullet
    from pybullet_utils.bullet_client import BulletClient

    scene, law, creep, spent, dt = scene_of(grasp), law_of(grasp), Creep(), 0.0, 0.001
    p: Any = BulletClient(pybullet.DIRECT)
    p.setGravity(*scene.gravity)
    p.setPhysicsEngineParameter(fixedTimeStep=dt, numSolverIterations=500, solverResidualThreshold=0.0,
                                enableConeFriction=1, contactSlop=0.0)  # fmt: skip
    with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
        file.write(scene.models[0].urdf)
        file.flush()
        hand = p.loadURDF(file.name, [0.0, 0.0, 1.0], useFixedBase=True, flags=p.URDF_USE_INERTIA_FROM_FILE)
    size = [0.5 * x for x in grasp.size]
    box = dict(shapeType=p.GEOM_BOX, halfExtents=size)
    round_one = dict(shapeType=p.GEOM_CYLINDER, radius=grasp.size[0], height=grasp.size[-1])
    shape = p.createCollisionShape(**(box if grasp.shape == "box" else round_one))
    held = p.createMultiBody(grasp.mass, shape, basePosition=[0.0, 0.0, 1.0])
    for body, link in ((hand, 0), (hand, 1), (hand, 2), (held, -1)):  # coefficients are multiplied
        p.changeDynamics(body, link, lateralFriction=FRICTION**0.5, linearDamping=0.0, angularDamping=0.0,
                         jointDamping=0.0, maxJointVelocity=100.0)  # fmt: skip
    p.setJointMotorControlArray(hand, range(3), p.VELOCITY_CONTROL, forces=[0.0] * 3)
    for k in range(round(seconds / dt)):
        q, v = np.array([state[:2] for state in p.getJointStates(hand, range(3))]).T
        p.setJointMotorControlArray(hand, range(3), p.TORQUE_CONTROL, forces=law(k * dt, q, v).tolist())
        start = time.perf_counter()
        p.stepSimulation()
        spent += time.perf_counter() - start
        place = np.array(p.getBasePositionAndOrientation(held)[0])
        creep.add((k + 1) * dt, place - np.array([p.getJointState(hand, 0)[0], 0.0, 0.0]))
        if creep.most > LOST:
            break
    return creep, spent


def run_bench(seconds: float = 60.0, only: str | None = None) -> int:
    """Measure and print; returns the exit code."""
    peer, bullet = (importlib.util.find_spec(name) is not None for name in ("mujoco", "pybullet"))
    print(f"{seconds:g} s at 1 ms, shaken by {SWING:g} m at {FREQUENCY:g} Hz, friction {FRICTION:g}; creep in m")
    if not peer:
        print("MuJoCo is not installed (pip install mujoco)")
    for name, grasp in GRASPS.items():
        if only is not None and name != only:
            continue
        creep, residual, spent = hold(grasp, seconds)
        print(f"{name}: {creep.most:.1e}, residual {residual:.0e}, {1e3 * spent / seconds:.1f} us a step", flush=True)
        runs: dict[str, Callable[..., Any]] = {}
        for settings, options in PEERS.items() if peer else ():
            runs[f"MuJoCo, {settings}"] = partial(hold_in_mujoco, options=options)
        if bullet:
            runs["Bullet, 500 iterations"] = hold_in_bullet
        for settings, run in runs.items():
            theirs, their_time = run(grasp, seconds)
            what = "dropped" if theirs.most > LOST else f"{theirs.most:.1e}, {1e3 * their_time / seconds:.1f} us a step"
            print(f"    {settings}: {what}", flush=True)
    return 0
