# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What acts in joints: Coulomb friction, springs, damping, limits of position, velocity and effort.

Covers core/constraints/limit.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import JointProperties, Scene, SceneModel
from scenes.loop_cases import bar, four_bar, hinge

pytestmark = pytest.mark.quick

FRICTION_MODELS = ("coulomb_polyhedral", "coulomb_cone", "no_slip", "viscous", "coulomb_viscous")
WIDE = '<limit effort="1000" velocity="5" lower="-10" upper="10"/>'


def slider(speed=0.0, properties=None, limit=WIDE, dynamics="", **options):
    """2 kg on a slide along x."""
    joint = hinge("slide", "base", "m", 0, "1 0 0", limit + dynamics, "prismatic")
    urdf = f'<robot name="s"><link name="base"/>{bar("m", 0.2, 2.0)}{joint}</robot>'
    properties = {"slide": JointProperties(**properties)} if properties else {}
    options.setdefault("gravity", (0.0, 0.0, 0.0))
    return Scene((SceneModel(urdf, velocities={"slide": speed}, joint_properties=properties),), **options)


def arm(friction, speed=0.0, **options):
    """Two rods of 1 kg and 0.5 m, horizontal, that hinge about y."""
    joints = "".join(
        hinge(name, parent, child, x, "0 1 0", f'{WIDE}<dynamics friction="{friction}"/>', "revolute")
        for name, parent, child, x in (("shoulder", "base", "upper", 0), ("elbow", "upper", "lower", 0.5))
    )
    urdf = f'<robot name="a"><link name="base"/>{bar("upper", 0.5)}{bar("lower", 0.5)}{joints}</robot>'
    return Scene((SceneModel(urdf, velocities={"shoulder": speed}),), **options)


def run(sim, seconds, effort=None):
    residual = 0.0
    for _ in range(round(seconds / sim.time_step)):
        certificate = sim.step(effort).certificate
        residual = max(residual, certificate.residual)
    return residual, certificate


# --- friction -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", FRICTION_MODELS)
def test_a_slide_stops_as_the_law_says_and_stays(model):
    """v0 / (f / m) after v0^2 m / 2 f: 0.5 s and 0.25 m, short by half a step of the first velocity; no creep."""
    sim = mb.Simulator(slider(1.0, dynamics='<dynamics friction="4"/>', friction_model=model))
    residual, _ = run(sim, 0.499)
    assert residual <= 1e-12 and sim.v[0] == pytest.approx(0.002, abs=1e-12)
    assert sim.joint_efforts()[0] == pytest.approx(-4.0, abs=1e-9)
    run(sim, 0.011)
    stopped = sim.q[0]
    assert stopped == pytest.approx(0.25 - 0.5e-3, abs=1e-9)
    run(sim, 0.5)
    assert abs(sim.q[0] - stopped) <= 1e-15


@pytest.mark.parametrize("push, moves", [(3.999, False), (4.001, True)])
def test_breakaway_is_at_the_friction(push, moves):
    sim = mb.Simulator(slider(dynamics='<dynamics friction="4"/>'))
    run(sim, 1.0, [push])
    assert sim.q[0] == pytest.approx(0.5 * 0.001 / 2.0 * 1.001 if moves else 0.0, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("model", FRICTION_MODELS)
def test_an_arm_holds_against_gravity_without_creep(model):
    """9.81 N m at the shoulder and 2.4525 at the elbow: friction of 12 holds both, exactly."""
    sim = mb.Simulator(arm(12.0, friction_model=model))
    residual, certificate = run(sim, 0.5)
    assert residual <= 1e-12 and certificate.loop_rows == 2
    assert np.abs(sim.q).max() <= 1e-14
    np.testing.assert_allclose(sim.joint_efforts(), [-9.81, -2.4525], rtol=1e-9)


def test_one_joint_slips_while_the_other_sticks():
    """Friction of 6: the shoulder breaks away and the elbow holds, so the arm falls as one rod of 1 m."""
    sim = mb.Simulator(arm(6.0))
    sim.step()
    inertia = 2.0 * 1.0 / 3.0  # of a rod of 2 kg and 1 m about its end
    assert sim.v[0] == pytest.approx(1e-3 * (9.81 - 6.0) / inertia, rel=1e-9)
    assert abs(sim.v[1]) <= 1e-12  # the solver's tolerance
    assert abs(sim.joint_efforts()[1]) <= 6.0


def test_friction_never_adds_energy():
    """Free two-link arm without gravity: kinetic energy falls in every step until it is zero."""
    sim = mb.Simulator(arm(3.0, 6.0, gravity=(0.0, 0.0, 0.0)))
    energy = [sim.energy()]
    for _ in range(3000):
        step = sim.step()
        energy.append(sim.energy())
        assert step.certificate.residual <= 1e-10
    assert max(np.diff(energy)) <= 1e-15 and energy[-1] <= 1e-20


def test_dry_friction_against_an_independent_enumeration():
    """Random arms: the step's velocity is the only one of the 3^n states that violates nothing."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        sim = mb.Simulator(arm(float(rng.uniform(0.5, 6.0))))
        sim.set_state(rng.normal(size=2), 0.02 * rng.normal(size=2))
        q, v, f = sim.q, sim.v, sim.world.joints.friction
        model = sim.world.robot_models[0]
        M, dt = mb.mass_matrix(model, q), sim.time_step
        free = v - dt * np.linalg.solve(M, mb.dynamics.nonlinear_effects(model, q, v))
        sim.step()
        found = []
        for states in np.ndindex(3, 3):
            p, stuck = np.zeros(2), np.array(states) == 0
            p[~stuck] = np.where(np.array(states) == 1, f * dt, -f * dt)[~stuck]
            W = np.linalg.inv(M)
            if stuck.any():
                p[stuck] = -np.linalg.solve(W[np.ix_(stuck, stuck)], (free + W @ p)[stuck])
            after = free + W @ p
            good = (np.abs(p) <= f * dt * (1 + 1e-9)).all() and (p * after <= 1e-15).all()
            if good:
                found.append(after)
        assert found and all(np.abs(sim.v - after).max() <= 1e-12 for after in found)


def test_a_linkage_with_friction_in_every_joint_comes_to_rest_and_stays():
    """Friction rows beside a closure: three that stick and a closed loop are one row too many, and that is fine."""
    scene = four_bar(speed=1.0)
    rough = {name: JointProperties(friction=8.0) for name in ("crank_joint", "coupler_joint", "rocker_joint")}
    model = SceneModel(**{**scene.models[0].__dict__, "joint_properties": rough})
    sim = mb.Simulator(replace(scene, models=(model,)))
    residual, certificate = run(sim, 1.0)
    at = sim.q
    assert residual <= 1e-9 and certificate.loop_rows > len(sim.v)
    run(sim, 1.0)
    assert np.abs(sim.q - at).max() <= 1e-9


# --- springs and damping ------------------------------------------------------------------------------


def test_a_spring_swings_at_its_period():
    """k = 50 N/m on 2 kg: half a period is pi / 5 s; the energy is in the books."""
    sim = mb.Simulator(slider(properties={"stiffness": 50.0, "rest_position": 0.1}, time_step=1e-4))
    assert sim.energy() == pytest.approx(0.5 * 50.0 * 0.1**2, rel=1e-12)
    run(sim, np.pi / 5)
    assert sim.q[0] == pytest.approx(0.2, abs=1e-4)


def test_a_spring_of_any_stiffness_is_stable():
    """A thousand million N/m at 10 ms: the slide is drawn to the rest position and stays."""
    sim = mb.Simulator(slider(1.0, {"stiffness": 1e9, "rest_position": 0.1}, time_step=1e-2))
    for _ in range(50):
        step = sim.step()
        assert abs(sim.q[0] - 0.1) <= 1e-2 and np.isfinite(step.certificate.energy)
    assert sim.q[0] == pytest.approx(0.1, abs=1e-12) and abs(sim.v[0]) <= 1e-12


def test_a_spring_is_the_implicit_euler_step():
    """(m + dt d + dt^2 k) (v+ - v) = dt (-k (q - rest) - (d + dt k) v), and the damping's work in the books."""
    sim = mb.Simulator(slider(0.7, {"stiffness": 30.0, "rest_position": -0.2, "damping": 4.0}))
    dt, m, k, d, v = 1e-3, 2.0, 30.0, 4.0, 0.7
    step = sim.step()
    assert sim.v[0] == pytest.approx(v + dt * (-k * 0.2 - (d + dt * k) * v) / (m + dt * d + dt**2 * k), rel=1e-13)
    assert abs(step.certificate.energy_balance) <= 1e-4


def test_springs_under_an_explicit_integrator():
    """Energy of a swing under rk4: its own, not the implicit step's."""
    sim = mb.Simulator(slider(properties={"stiffness": 50.0, "rest_position": 0.1}, integrator="rk4"))
    start = sim.energy()
    run(sim, 2.0)
    assert sim.energy() == pytest.approx(start, rel=1e-9)
    assert sim.q[0] == pytest.approx(0.1 - 0.1 * np.cos(10.0), abs=1e-9)


def test_armature_of_a_scene():
    sim = mb.Simulator(slider(properties={"armature": 6.0}))
    sim.step([8.0])
    assert sim.v[0] == pytest.approx(1e-3, rel=1e-12)


# --- limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", FRICTION_MODELS)
def test_velocity_limits_hold_where_they_are_asked_for(model):
    """URDF limits are a controller's promise and not enforced; enforced, a push comes up to 5 m/s and no more."""
    loose = mb.Simulator(slider(friction_model=model))
    run(loose, 0.1, [200.0])
    assert loose.v[0] == pytest.approx(10.0, rel=1e-9)
    sim = mb.Simulator(slider(friction_model=model, enforce_velocity_limits=True))
    residual, _ = run(sim, 0.1, [200.0])
    assert residual <= 1e-12 and sim.v[0] == pytest.approx(5.0, abs=1e-12)
    assert sim.joint_efforts()[0] == pytest.approx(0.0, abs=1e-9)  # the limit takes what the push gives
    run(sim, 0.1, [-200.0])
    assert sim.v[0] == pytest.approx(-5.0, abs=1e-12)


def test_a_scene_may_set_its_own_velocity_limit():
    sim = mb.Simulator(slider(properties={"velocity_limit": 0.5}))
    run(sim, 0.1, [200.0])
    assert sim.v[0] == pytest.approx(0.5, abs=1e-12)


def test_a_blow_cannot_pass_a_velocity_limit_that_was_not_near():
    """The impulse of a closure throws a joint that was at rest: the limit joins the problem in the same step."""
    scene = four_bar(speed=3.0)
    limits = {"rocker_joint": JointProperties(velocity_limit=0.05)}
    model = SceneModel(**{**scene.models[0].__dict__, "joint_properties": limits})
    sim = mb.Simulator(Scene(models=(model,), loop_closures=scene.loop_closures, gravity=scene.gravity))
    residual, _ = run(sim, 0.2)
    assert residual <= 1e-10 and abs(sim.v[2]) <= 0.05 + 1e-12


def test_effort_limits_clamp_the_command():
    sim = mb.Simulator(slider(limit='<limit effort="3" velocity="5" lower="-10" upper="10"/>'))
    run(sim, 0.1, [1000.0])
    assert sim.v[0] == pytest.approx(0.15, rel=1e-12)
    sim = mb.Simulator(slider(properties={"effort_limit": 7.0}))
    run(sim, 0.1, [1000.0])
    assert sim.v[0] == pytest.approx(0.35, rel=1e-12)


def test_a_position_limit_stops_without_rebound_and_is_in_the_books():
    """Restitution 0: 1 m/s into the stop at 0.05 m ends there; energy lost = work of the limit."""
    sim = mb.Simulator(slider(1.0, limit='<limit effort="1" velocity="5" lower="-10" upper="0.05"/>'))
    residual, certificate = run(sim, 0.2)
    assert residual <= 1e-12 and abs(sim.v[0]) <= 1e-12
    assert sim.q[0] == pytest.approx(0.05, abs=1e-9)
    assert certificate.energy == pytest.approx(0.0, abs=1e-12) and abs(certificate.energy_balance) <= 1e-12


# --- what a scene may say -----------------------------------------------------------------------------

YAML = """
models:
  - urdf: >
      URDF
    joint_properties:
      slide: {stiffness: 5.0, rest_position: 0.1, damping: 2.0, friction: 0.3, velocity_limit: 1.0}
"""


def scene_file(tmp_path, old="", new=""):
    urdf = slider().models[0].urdf
    (tmp_path / "m.urdf").write_text(urdf)
    text = YAML.replace(">\n      URDF", "m.urdf").replace(old, new)
    file = tmp_path / "scene.yaml"
    file.write_text(text)
    return file


def test_joint_properties_of_a_scene_file(tmp_path):
    sim = mb.Simulator(scene_file(tmp_path))
    joints = sim.world.joints
    assert (joints.stiffness[0], joints.rest[0], joints.friction[0], joints.velocity_limit[0]) == (5.0, 0.1, 0.3, 1.0)
    assert sim.world.tree.damping[0] == 2.0


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("slide:", "glide:", r"joint_properties.glide: robot 's' has no joint 'glide'; did you mean 'slide'"),
        ("friction: 0.3", "friction: -1", r"scene.yaml:5: .*friction: must be at least 0, got -1"),
        ("stiffness: 5.0, ", "", r"rest_position: has no meaning without a stiffness above zero; add it"),
        ("friction:", "fricton:", r"unknown key \(did you mean 'friction'\?\)"),
    ],
)
def test_errors_of_joint_properties(tmp_path, old, new, message):
    with pytest.raises(mb.SceneError, match=message):
        mb.model.world.build_world(mb.load_scene(scene_file(tmp_path, old, new)))


def test_negative_friction_of_a_urdf_is_an_error():
    with pytest.raises(mb.ModelError, match="joint 'slide': friction -1 is negative"):
        mb.load_urdf(slider(dynamics='<dynamics friction="-1"/>').models[0].urdf)
