# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runs whose answer is unique: scenes, starts and efforts of what ``oracles/stored_runs.py`` stores."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import mb_contact as mb
from mb_contact.model.scene import (
    Ground,
    JointProperties,
    Material,
    MaterialPair,
    ModelMaterials,
    Pose,
    Primitive,
    Scene,
    SceneModel,
    Velocity,
)
from scenes.loop_cases import bar, four_bar, hinge

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import lift_controller as law  # noqa: E402

POLYHEDRAL, CONE = "coulomb_polyhedral", "coulomb_cone"
G = 9.81


@dataclass(frozen=True)
class StoredRun:
    """One run.

    Attributes
    ----------
    name : str
    scene : str or callable
        Name of a file of config/, or a function that returns a Scene.
    friction_model : str
    steps, stride : int
        Length, and the distance of two samples; the last step is a sample, and so is every step with an impact.
    integrator, scheme : str
    start : callable, optional
        Changes the state of the new Simulator.
    drive : callable, optional
        From a Simulator to the function that gives the efforts of step k (and may push links).
    wrenches : bool
        False where those of pairs of bodies are not unique.
    options : dict
        Further fields of the scene.
    """

    name: str
    scene: str | Callable
    friction_model: str
    steps: int
    stride: int
    integrator: str = "semi_implicit_euler"
    scheme: str = "time_stepping"
    start: Callable | None = None
    drive: Callable | None = None
    wrenches: bool = True
    options: dict = field(default_factory=dict)

    def make_scene(self):
        """The Scene, with friction model, integrator and scheme of this run, and rows for its loops."""
        scene = self.scene() if callable(self.scene) else mb.load_scene(ROOT / "config" / f"{self.scene}.yaml")
        return replace(
            scene, friction_model=self.friction_model, integrator=self.integrator, collision_scheme=self.scheme,
            loops="multipliers", **self.options,
        )  # fmt: skip


# --- scenes -------------------------------------------------------------------------------------------


def stuff(*bodies, mu=0.5, eps=0.0, gravity=(0.0, 0.0, -G), ground=True, **surface):
    """Bodies of one material, above a ground of it."""
    named = tuple(replace(body, material="stuff") for body in bodies)
    return Scene(
        primitives=named, ground=Ground(material="stuff") if ground else None, gravity=gravity,
        materials={"stuff": Material(mu, restitution=eps, **surface)},
    )  # fmt: skip


def free(name, shape, size, position, rpy=None, mass=1.0, angular=(0.0, 0.0, 0.0), linear=(0.0, 0.0, 0.0)):
    velocity = Velocity(tuple(angular), tuple(linear))
    return Primitive(name, shape, tuple(size), Pose(tuple(position), rpy), "free", mass, velocity=velocity)


def tilted(angle, heading=0.0):
    """Gravity of a slope that falls by ``angle`` towards ``heading``; the ground stays level instead."""
    along = G * np.sin(angle)
    return (along * np.cos(heading), along * np.sin(heading), -G * np.cos(angle))


def block_on_slope(angle, heading, linear=(0.0, 0.0, 0.0), mu=0.5):
    block = free("block", "box", (0.2, 0.2, 0.05), (0, 0, 0.025), linear=linear)
    return stuff(block, mu=mu, gravity=tilted(angle, heading))


BELOW = np.arctan(0.5 * np.cos(np.pi / 8)) - 0.01  # within the pyramid's inner angle, so within the cone's
ABOVE = np.arctan(0.5) + 0.1


def tripod(angular=(0.0, 0.0, 0.0), linear=(0.0, 0.0, 0.0), eps=0.0, height=0.0, mu=0.4, viscous=0.0, **surface):
    """2 kg on three spherical feet: what each foot bears while it slides is unique, also with a spin."""
    feet = "".join(
        f'<collision><origin xyz="{0.15 * np.cos(a):.17g} {0.15 * np.sin(a):.17g} -0.05"/>'
        f'<geometry><sphere radius="0.02"/></geometry></collision>'
        for a in (0.2, 2.3, 4.4)
    )
    text = (
        '<robot name="tripod"><link name="tripod"><inertial><origin xyz="0.01 -0.02 0.01"/><mass value="2"/>'
        f'<inertia ixx="0.02" iyy="0.025" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>{feet}</link></robot>'
    )
    model = SceneModel(
        text, base="free", pose=Pose((0.0, 0.0, 0.07 + height)), velocity=Velocity(tuple(angular), tuple(linear)),
        materials=ModelMaterials(default="stuff"),
    )  # fmt: skip
    return Scene(
        models=(model,), ground=Ground(material="stuff"),
        materials={"stuff": Material(mu, restitution=eps, viscous=viscous, **surface)},
    )  # fmt: skip


def ball(height=0.0, eps=0.0, mu=0.3, angular=(0.0, 0.0, 0.0), linear=(0.0, 0.0, 0.0), angle=0.0, **surface):
    sphere = free("ball", "sphere", (0.1,), (0, 0, 0.1 + height), angular=angular, linear=linear)
    return stuff(sphere, mu=mu, eps=eps, gravity=tilted(angle, 0.5), **surface)


def capsule(height, linear=(0.3, -0.2, 0.0)):
    """Both ends of a lying capsule hit at once."""
    body = free("capsule", "capsule", (0.05, 0.2), (0, 0, 0.05 + height), (np.pi / 2, 0.0, 0.4), linear=linear)
    return stuff(body, mu=0.3, eps=0.5)


def groove():
    """A ball falls into a groove of two planes, meets both at once and slides and rolls along it."""
    planes = tuple(
        Primitive(f"plane_{side}", "plane", (), Pose((0, 0, 0), rpy=(angle, 0.0, 0.0)), material="stuff")
        for side, angle in (("left", 0.7), ("right", -0.7))
    )
    sphere = free("ball", "sphere", (0.1,), (0, 0, 0.1 / np.cos(0.7) + 1e-5), linear=(0.4, 0.0, 0.0))
    return stuff(*planes, sphere, mu=0.2, ground=False)


def cradle():
    """Five balls with gaps of 1.3 mm; the first one hits."""
    row = (free(f"b{i}", "sphere", (0.5,), (i * 1.0013, 0, 0), linear=(float(i == 0), 0, 0)) for i in range(5))
    return stuff(*row, mu=0.0, eps=1.0, gravity=(0.0, 0.0, 0.0), ground=False)


def oblique_balls():
    """Two balls meet off centre."""
    a = free("a", "sphere", (0.1,), (-0.2, 0.0, 0.0), mass=1.0, linear=(2.0, 0.0, 0.0), angular=(0.0, 3.0, 5.0))
    b = free("b", "sphere", (0.1,), (0.1, 0.08, 0.02), mass=3.0, linear=(-1.0, 0.0, 0.0))
    return stuff(a, b, mu=0.1, eps=0.6, gravity=(0.0, 0.0, 0.0), ground=False)


def ball_on_tripod():
    """A ball rolls on a plate whose three feet slide to rest."""
    scene = tripod(angular=(0, 0, 0.5), linear=(0.5, 0.2, 0))
    plate = '<collision><geometry><box size="0.5 0.5 0.02"/></geometry></collision></link>'
    model = replace(scene.models[0], urdf=scene.models[0].urdf.replace("</link>", plate))
    sphere = replace(free("ball", "sphere", (0.05,), (0.04, -0.03, 0.13), linear=(0.1, 0, 0)), material="stuff")
    return replace(scene, models=(model,), primitives=(sphere,))


def lift_by(*fingers):
    """The lift, where these fingers of each hand alone touch the box.

    With all six of them the answer is not unique once they squeeze: cold starts move v by 1e-6.  Nor is it for two a
    hand on a pyramid of 4 or 8 directions, as the box leaves the table.
    """
    scene = mb.load_scene(ROOT / "config" / "dual_arm_lift.yaml")
    others = tuple((f"{side}_finger_{i}", "box") for side in law.HANDS for i in {1, 2, 3} - set(fingers))
    filters = replace(scene.collision_filters, disable=(*scene.collision_filters.disable, *others))
    return replace(scene, collision_filters=filters)


def bar_on_limit():
    """A bar falls on its joint limit."""
    limit = '<limit lower="-1" upper="0.3" effort="50" velocity="100"/><dynamics damping="0.2"/>'
    joint = hinge("joint", "base", "bar", 0, "0 1 0", limit, "revolute")
    return Scene(models=(SceneModel(f'<robot name="one"><link name="base"/>{bar("bar", 0.8, 2.0)}{joint}</robot>'),))


def rubbing_arm():
    """Two rods with dry friction in both hinges."""
    extra = '<limit effort="1000" velocity="5" lower="-10" upper="10"/><dynamics friction="3"/>'
    joints = hinge("shoulder", "base", "upper", 0, "0 1 0", extra, "revolute")
    joints += hinge("elbow", "upper", "lower", 0.5, "0 1 0", extra, "revolute")
    text = f'<robot name="a"><link name="base"/>{bar("upper", 0.5)}{bar("lower", 0.5)}{joints}</robot>'
    return Scene((SceneModel(text, velocities={"shoulder": 4.0}),))


def rubbing_four_bar():
    scene = four_bar(speed=1.5)
    rough = {"crank_joint": JointProperties(friction=1.0)}
    return replace(scene, models=(replace(scene.models[0], joint_properties=rough),))


def poking_arm():
    """An arm of two rods whose spherical tip pushes a ball over the ground; the second joint mimics the first."""
    limit = '<limit effort="50" velocity="50" lower="-3" upper="3"/><dynamics damping="0.5"/>'
    tip = '<collision><origin xyz="0.3 0 0"/><geometry><sphere radius="0.04"/></geometry></collision></link>'
    links = bar("upper", 0.3) + bar("lower", 0.3).replace("</link>", tip)
    joints = hinge("shoulder", "base", "upper", 0, "0 0 1", limit, "revolute")
    follow = limit + '<mimic joint="shoulder" multiplier="-1.5" offset="0.2"/>'
    joints += hinge("elbow", "upper", "lower", 0.3, "0 0 1", follow, "revolute")
    text = f'<robot name="poke"><link name="base"/>{links}{joints}</robot>'
    arm = SceneModel(text, pose=Pose((0, 0, 0.1)), materials=ModelMaterials(default="stuff"))
    target = free("ball", "sphere", (0.1,), (0.55, 0.3, 0.1), mass=0.5)
    return replace(stuff(target, mu=0.4), models=(arm,))


def first_impact_of(links):
    """The chain of test_event_scheme.py: unbent, no rate, one impact with the floor."""
    chain = mb.pendulum(links, "first_impact")
    return chain.scene(materials={"sphere": Material(chain.friction, restitution=0.5)}, integrator_tolerance=1e-11)


def surfaces():
    """A ball with torsional and rolling friction that spins and rolls, and a skate on three feet."""
    scene = tripod(angular=(0, 0, 0.7), linear=(0.8, 0.5, 0.0))
    rubber = Material(0.8, torsional=0.01, rolling=0.004)
    floor, skate = Material(0.6, torsional=0.01, rolling=0.004), Material(0.3)
    across = mb.model.scene.AnisotropicFriction(0.05, 0.5, (1.0, 0.0, 0.0), "skate")
    sphere = replace(
        free("ball", "sphere", (0.1,), (0.5, 0.5, 0.1), angular=(0, 4, 10), linear=(0.4, 0, 0)), material="rubber"
    )
    feet = replace(scene.models[0], materials=ModelMaterials(default="skate"))
    pair = MaterialPair(("skate", "floor"), anisotropic_friction=across)
    materials = {"rubber": rubber, "floor": floor, "skate": skate}
    return Scene((feet,), (sphere,), Ground(material="floor"), materials, (pair,))


# --- states and efforts -------------------------------------------------------------------------------


def moving(*velocity):
    """A start with these velocities."""

    def start(sim):
        sim.set_state(sim.q, np.array(velocity, dtype=float))

    return start


def lift(sim):
    """The controller of the demonstration, hurried: it reaches, squeezes, takes the weight and begins to lift."""
    task = law.LiftTask(reach_time=0.5, close_time=0.5, load_time=0.2, lift_time=0.8, hold_time=0.2)
    model = mb.load_urdf(sim.robot_description)
    box, _ = sim.link_pose("box")
    controller = law.LiftController(model, sim.world.joint_names, sim.joint_positions(), box, task)

    def effort(k):
        space = sim.operational_space(law.FRAMES)
        terms = law.Terms(space.inertia, space.jacobian, space.bias, sim.mass_matrix(), sim.nonlinear_effects())
        seen = sim.link_pose("box")[0] if k % 20 == 0 else None
        return controller.update(sim.time, sim.joint_positions(), sim.joint_velocities(), terms, seen)

    return effort


def waving(size):
    """Efforts of this part of the limits, a sine for each joint."""

    def drive(sim):
        limit, phase = np.minimum(sim.world.effort_limit, 200.0), np.arange(len(sim.world.joint_names))
        return lambda k: size * limit * np.sin(0.02 * k + phase)

    return drive


def constant(*effort):
    return lambda sim: lambda k: np.array(effort, dtype=float)


def pushed(link, moment=(0.0, 0.0, 0.02), size=8.0):
    """A changing wrench on a link."""

    def drive(sim):
        def push(k):
            force = (size * np.sin(0.03 * k), 0.4 * size * np.cos(0.017 * k), 1.0)
            sim.set_external_wrench(link, (*moment, *force))

        return push

    return drive


# --- the runs -----------------------------------------------------------------------------------------


def _each(models, name, *args, **options):
    """The same run under several friction models."""
    short = {POLYHEDRAL: "polyhedral", CONE: "cone"}
    return tuple(StoredRun(f"{name}-{short.get(m, m)}", args[0], m, *args[1:], **options) for m in models)


BOTH = (POLYHEDRAL, CONE)
EVENT = {"scheme": "event"}

RUNS = (
    *_each(BOTH, "box_on_table", "box_on_table", 300, 15),
    *_each(BOTH, "box_slides_to_rest", "box_on_table", 300, 10, start=moving(0, 0, 0, 0.4, 0.8, 0)),
    *_each(BOTH, "block_on_slope_stays", lambda: block_on_slope(BELOW, 2.0), 300, 15),
    *_each(BOTH, "block_on_slope_slides", lambda: block_on_slope(ABOVE, 2.0), 500, 25),
    *_each(BOTH, "block_stops_on_slope", lambda: block_on_slope(0.3, 0.0, (0.8, 0.0, 0.0)), 700, 25),
    *_each(BOTH, "ramp", "ramp", 500, 25),
    *_each(BOTH, "tripod_spins_to_rest", lambda: tripod((0, 0, 3.0), (0.5, 0.3, 0)), 400, 10),
    *_each(BOTH, "ball_slides_then_rolls", lambda: ball(linear=(1.0, 0.5, 0), angle=0.05), 400, 10),
    *_each(BOTH, "box_stack", "box_stack", 100, 10),
    *_each(BOTH, "ball_on_tripod", ball_on_tripod, 300, 10),
    *_each(BOTH, "lift_first_contact", "dual_arm_lift", 750, 20, drive=lift),
    *_each((POLYHEDRAL,), "lift_by_two_fingers", lambda: lift_by(2, 3), 1800, 30, drive=lift,
           options={"friction_directions": 16}),
    *_each((CONE,), "lift_by_two_fingers", lambda: lift_by(2, 3), 1800, 30, drive=lift),
    *_each(BOTH, "random_efforts", "dual_arm_lift", 70, 5, drive=waving(0.3)),
    *_each(BOTH, "pendulum_3", "pendulum_3", 3000, 25),
    *_each((POLYHEDRAL,), "pendulum_6", "pendulum_6", 3000, 25),
    *_each(BOTH, "pendulum_12", "pendulum_12", 3000, 25),
    *_each((POLYHEDRAL,), "pendulum_30", "pendulum_30", 2500, 25),
    *_each((POLYHEDRAL,), "pendulum_j12_15", "pendulum_j12_15", 1250, 25),
    *_each(BOTH, "ball_bounces", lambda: ball(0.1, 0.6, 0.1, (0, 5, 2), (1.5, 0.2, 0)), 800, 5),
    *_each(BOTH, "ball_bounces_event", lambda: ball(0.1, 0.6, 0.1, (0, 5, 2), (1.5, 0.2, 0)), 600, 5, **EVENT),
    *_each(BOTH, "capsule_bounces", lambda: capsule(0.05), 250, 2),
    *_each((POLYHEDRAL,), "capsule_bounces_event", lambda: capsule(0.05), 200, 2, **EVENT),
    *_each(BOTH, "tripod_bounces", lambda: tripod((0.3, 0.2, 1.0), (0.3, 0, 0), 0.4, 0.02), 120, 1),
    *_each(BOTH, "ball_in_groove", groove, 150, 3, options={"time_step": 0.002}),
    *_each((POLYHEDRAL,), "cradle_event", cradle, 10, 1, **EVENT),
    *_each(BOTH, "balls_meet", oblique_balls, 60, 1),
    *_each(BOTH, "balls_meet_papers_law", oblique_balls, 60, 1, options={"restitution_law": "papers"}),
    *_each((POLYHEDRAL,), "pendulum_3_event", lambda: first_impact_of(3), 1310, 10, integrator="adaptive", **EVENT),
    *_each(BOTH, "bar_on_limit", bar_on_limit, 600, 12),
    *_each((POLYHEDRAL, "no_slip", "viscous", "coulomb_viscous"), "rubbing_arm", rubbing_arm, 400, 10),
    *_each(BOTH, "four_bar", "four_bar", 800, 20),
    *_each((POLYHEDRAL,), "rubbing_four_bar", rubbing_four_bar, 500, 20),
    *_each((POLYHEDRAL,), "closed_chain", "closed_chain", 300, 15),
    *_each(BOTH, "gripper", "four_bar_gripper", 200, 10, wrenches=False),
    *_each(BOTH, "poking_arm", poking_arm, 500, 10, drive=constant(2.0)),
    *_each((POLYHEDRAL,), "drawer", "drawer", 400, 10),
    *_each((POLYHEDRAL,), "tripod_rk4", lambda: tripod((0, 0, 3.0), (0.5, 0.3, 0)), 300, 10, integrator="rk4"),
    *_each((CONE,), "tripod_midpoint", lambda: tripod((0, 0, 3.0), (0.5, 0.3, 0)), 300, 10, integrator="midpoint"),
    *_each((POLYHEDRAL,), "ball_bounces_midpoint", lambda: ball(0.1, 0.6, 0.1, (0, 5, 2), (1.5, 0.2, 0)), 400, 5,
           integrator="midpoint"),
    *_each(BOTH, "pushed_tripod", tripod, 400, 10, drive=pushed("tripod")),
    *_each((CONE,), "surfaces", surfaces, 600, 15),
    *_each((CONE,), "falling_can", "falling_can", 205, 10, wrenches=False),
    *_each(("no_slip",), "ball_rolls", lambda: ball(angle=0.2), 400, 20),
    *_each(("no_slip",), "drumwright_grasp", "drumwright_grasp", 50, 2, wrenches=False, drive=constant(100, -100)),
    *_each(("viscous",), "tripod_viscous", lambda: tripod((0, 0, 3.0), (0.5, 0.3, 0), viscous=1.5), 300, 10),
    *_each(("coulomb_viscous",), "ball_slides", lambda: ball(linear=(1.0, 0.5, 0), viscous=0.5), 300, 10),
)  # fmt: skip
