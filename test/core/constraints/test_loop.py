# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Loop closures: rows, drift, redundancy, contacts beside them, and what a scene file may say of them.

Covers core/constraints/bilateral.py, model/closures.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.step import step as _step
from mb_contact.core.step.assemble import assemble
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import Closure, Ground, Material, Pose, Primitive, Scene, SceneModel, Velocity, check_scene
from mb_contact.studies.formulations.loops import LoopClosure, loop_rows
from mb_contact.studies.formulations.state import BodyState
from mb_contact.studies.running_scene import posed_problem
from mb_contact.types import CLOSURE_NAMES, CLOSURE_ROWS
from paths import ROOT
from scenes.loop_cases import bar, cut_four_bar, four_bar, four_bar_joints, four_bar_motion, hinge

pytestmark = pytest.mark.quick

FRICTION_MODELS = ("coulomb_polyhedral", "coulomb_cone", "no_slip", "viscous", "coulomb_viscous")


def frame_of(sim, link):
    """Rotation to the world and origin of a link."""
    p, quaternion = sim.link_pose(link)
    return quat_to_matrix(quaternion), p


def run(sim, seconds):
    """Worst residual and closure error over a run, and the last certificate."""
    residual = closure = 0.0
    for _ in range(round(seconds / sim.time_step)):
        certificate = sim.step().certificate
        residual, closure = max(residual, certificate.residual), max(closure, certificate.closure_error)
    return residual, closure, certificate


# --- rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLOSURE_NAMES)
def test_compiled_rows_are_those_of_the_formulations(kind):
    """Row vectors, velocity products and errors against studies/formulations/loops.py, which differences check."""
    axes = ("1 0 0", "0 1 0", "0 0 1", "0 0.6 0.8")
    links = "".join(bar(f"l{i}", 0.3) for i in range(4))
    joints = "".join(hinge(f"j{i}", f"l{i - 1}" if i else "base", f"l{i}", 0.3, axes[i]) for i in range(4))
    urdf = f'<robot name="chain"><link name="base"/>{links}{joints}</robot>'
    primitives = (Primitive("free", "sphere", (0.1,), Pose((2.0, 0.1, 0.3)), "free", 1.0),)
    for ends in (("l3", "free"), ("l1", "l3"), ("world", "l2"), ("free", "world")):
        thread = {"pitch": -0.03} if kind == "screw" else {}
        closure = Closure(kind, *ends, Pose((0.1, 0.2, 0.3), (0.1, 0.2, 0.3)), **thread)
        scene = Scene((SceneModel(urdf),), primitives, loop_closures=(closure,), drift_rate=0.0, loops="multipliers")
        sim = mb.Simulator(scene)
        rng = np.random.default_rng(CLOSURE_ROWS[CLOSURE_NAMES.index(kind)])
        q, v = sim.q, rng.normal(size=len(sim.v))
        q += 0.1 * rng.normal(size=len(q))
        sim.set_state(q, v)
        state = BodyState(sim.world, sim.q, v)
        c = sim.world.couplings.closures
        a, b = int(c.body_a[0]), int(c.body_b[0])
        frames = c.p_a[0], c.p_b[0], c.R_a[0], c.R_b[0]
        loop = LoopClosure(kind, a, b, *frames, float(c.length[0]), lead=float(c.lead[0]))
        rows = loop_rows(sim.world, state, loop, "loop")
        _step.smooth_dynamics(sim.context.handle)
        assemble(sim.context.handle)
        m, mine = len(rows.bias), sim.context.rows
        k = rows.bias + sum(on @ state.drift[i] for on, i in ((rows.on_a, a), (rows.on_b, b)) if i >= 0)
        np.testing.assert_allclose(mine.offset[:m], sim.time_step * k, atol=1e-15 * max(1.0, np.abs(k).max()))
        np.testing.assert_allclose(sim.context.loop.error[:m], rows.error, atol=1e-14)
        for i, on, mine_on in ((a, rows.on_a, mine.on_a), (b, rows.on_b, mine.on_b)):
            if i >= 0:
                np.testing.assert_allclose(mine_on[:m], on, atol=1e-14)


@pytest.mark.parametrize("name", ["nmc", "mc", "rmc", "os", "nmc_os", "hybrid"])
def test_a_step_is_what_every_formulation_says(name):
    """Closed chain of both arms with contacts and joint limits in reach: theta_dot+ of six problems."""
    sim = chain_in_contact()
    q, v = sim.q, sim.v
    step = sim.step()
    problem = posed_problem(sim.context, q, v)
    assert problem.n_b == 12 and problem.n_u > 0 and step.certificate.residual <= 1e-10
    solution = mb.studies.formulate(problem, name).solve()
    assert solution.solved
    np.testing.assert_allclose(sim.v, solution.v_next, atol=1e-9)


def chain_in_contact():
    """The closed chain after 1.8 s, when it has come to rest on something."""
    if not hasattr(chain_in_contact, "state"):
        sim = mb.Simulator(replace(mb.load_scene(ROOT / "config" / "closed_chain.yaml"), loops="multipliers"))
        while not sim.time > 1.8 or not len(sim.step().contacts):
            sim.step()
        chain_in_contact.sim, chain_in_contact.state = sim, sim.save()
    chain_in_contact.sim.restore(chain_in_contact.state)
    return chain_in_contact.sim


# --- drift --------------------------------------------------------------------------------------------


def crank_rates(theta, speed, h=1e-6):
    return speed * (four_bar_joints(theta + h) - four_bar_joints(theta - h)) / (2 * h)


def test_four_bar_converges_to_its_equation_of_motion():
    """Crank angle after 1 s of the closed-form linkage; the step is of first order, the closure error of second."""
    exact, errors, closures = four_bar_motion(0.5, 2.0, 1.0), [], []
    for dt in (1e-3, 5e-4):
        sim = mb.Simulator(four_bar(time_step=dt))
        sim.set_state(four_bar_joints(0.5), crank_rates(0.5, 2.0))
        closures.append(run(sim, 1.0)[1])
        errors.append(sim.q[0] - exact[0])
    assert abs(errors[0]) <= 0.02 and errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)
    assert closures[0] <= 2e-4 and closures[0] / closures[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize("control, bound", [("baumgarte", 5e-4), ("projection", 1e-12)])
@pytest.mark.parametrize("scene, rank", [(four_bar, 2), (cut_four_bar, 3)])
def test_linkages_stay_closed_for_ten_seconds(scene, rank, control, bound):
    """The five rows of an axis and the six of a weld, of which a planar linkage leaves two and three independent."""
    sim = mb.Simulator(scene(drift_control=control))
    residual, closure, certificate = run(sim, 10.0)
    assert residual <= 1e-12 and closure <= bound
    assert certificate.loop_rows > rank
    if scene is four_bar:  # not by the closure's own word: the closed form of the other two angles
        turns = 2 * np.pi * np.round((sim.q - four_bar_joints(sim.q[0])) / (2 * np.pi))
        np.testing.assert_allclose(sim.q, four_bar_joints(sim.q[0]) + turns, atol=5 * bound)
    assert abs(certificate.energy_balance) <= 0.03 * certificate.energy


@pytest.mark.long
@pytest.mark.parametrize("control, bound", [("baumgarte", 1e-3), ("projection", 1e-12)])
def test_both_arms_hold_one_rigid_bar(control, bound):
    """The hands' distance and turn to each other stay those of the start, for 10 s."""
    scene = mb.load_scene(ROOT / "config" / "closed_chain.yaml")
    sim = mb.Simulator(replace(scene, drift_control=control, loops="multipliers"))
    before = relative(sim, "left_tcp", "right_tcp")
    residual, closure, certificate = run(sim, 10.0)
    assert residual <= 1e-9 and closure <= bound
    for x, y in zip(before, relative(sim, "left_tcp", "right_tcp")):
        np.testing.assert_allclose(x, y, atol=2 * bound + 1e-12)


def relative(sim, a, b):
    R_a, p_a = frame_of(sim, a)
    R_b, p_b = frame_of(sim, b)
    return R_a.T @ R_b, R_a.T @ (p_b - p_a)


@pytest.mark.long
@pytest.mark.parametrize("model, seconds", [("coulomb_polyhedral", 10.0), ("coulomb_cone", 1.0), ("no_slip", 1.0)])
def test_a_parallel_gripper_holds_a_box(model, seconds):
    """Two four-bar fingers, one mimic joint, a spring, joint friction and eight contacts: pads parallel, box held.

    Each pad presses with k (q - rest) / (2 L cos q) = 15.07 N but for the joint's friction and the links' weight.
    """
    scene = mb.load_scene(ROOT / "config" / "four_bar_gripper.yaml")
    sim = mb.Simulator(Scene(**{**scene.__dict__, "friction_model": model}))
    residual, closure, certificate = run(sim, seconds)
    assert residual <= 1e-9 and closure <= 1e-12 and certificate.contacts == 8
    for side, other in (("left", "right"), ("right", "left")):
        np.testing.assert_allclose(frame_of(sim, f"{side}_pad")[0], np.eye(3), atol=1e-9)
        pad, mirrored = frame_of(sim, f"{side}_pad")[1], frame_of(sim, f"{other}_pad")[1]
        np.testing.assert_allclose(pad, mirrored * [-1, 1, 1], atol=1e-9)
    force = sim.contact_impulse("left_pad")[3:] / sim.time_step
    other = sim.contact_impulse("right_pad")[3:] / sim.time_step
    assert force[0] == pytest.approx(-15.07, abs=0.5) and other[0] == pytest.approx(15.07, abs=0.5)
    assert force[2] + other[2] == pytest.approx(-1.962, abs=1e-2)  # how pads share the weight, rigidity leaves open
    assert abs(sim.link_pose("box")[0][2] - 0.2805) <= 1e-5


def test_projection_moves_energy_into_the_books():
    sim = mb.Simulator(four_bar(drift_control="projection"))
    balance = [sim.step().certificate.energy_balance for _ in range(2000)]
    free = mb.Simulator(four_bar())
    loose = [free.step().certificate.energy_balance for _ in range(2000)]
    assert abs(balance[-1]) <= 1.5 * abs(loose[-1])


# --- kinds --------------------------------------------------------------------------------------------


def test_a_distance_to_the_world_makes_a_spherical_pendulum():
    """A free sphere on a string of 1 m: period of a conical pendulum, 2 pi sqrt(h / g), and its radius."""
    angle, radius = 0.5, 0.1
    height = np.cos(angle)
    rate = np.sqrt(9.81 / height)
    speed = rate * np.sin(angle)
    body = Primitive(
        "bob", "sphere", (radius,), Pose((np.sin(angle), 0.0, -height)), "free", 1.0,
        velocity=Velocity((0, 0, 0), (0, speed, 0)),
    )  # fmt: skip
    closure = Closure("distance", "bob", "world")
    sim = mb.Simulator(Scene(primitives=(body,), loop_closures=(closure,), time_step=1e-4))
    residual, closure, _ = run(sim, 2.0)
    p, _ = sim.link_pose("bob")
    assert residual <= 1e-12 and closure <= 1e-6
    exact = [np.sin(angle) * np.cos(2.0 * rate), np.sin(angle) * np.sin(2.0 * rate), -height]
    np.testing.assert_allclose(p, exact, atol=2e-3)


@pytest.mark.parametrize("kind, free", [("planar", [0, 1, 5]), ("axis", [5]), ("point", [3, 4, 5]), ("weld", [])])
def test_what_a_closure_leaves_free(kind, free):
    """Degrees of freedom (x, y, z, turns about them) that a free body keeps, pushed along all six."""
    body = Primitive("block", "box", (0.2, 0.3, 0.4), Pose((0.1, 0.2, 0.3)), "free", 1.0)
    sim = mb.Simulator(Scene(primitives=(body,), loop_closures=(Closure(kind, "block", "world"),), gravity=(0, 0, 0)))
    sim.set_external_wrench("block", np.ones(6), duration=0.01)
    run(sim, 0.2)
    turn, shift = sim.v[:3], sim.v[3:]
    moves = [i for i, x in enumerate((*shift, *turn)) if abs(x) > 1e-3]
    assert moves == free


def test_a_planar_closure_holds_on_a_turning_plane():
    """A free body on the plane of a driven table that turns about x: both rates of B count."""
    top = '<link name="top"><inertial><mass value="50"/>'
    top += '<inertia ixx="500" iyy="500" izz="500" ixy="0" ixz="0" iyz="0"/>'
    top += "</inertial></link>"
    urdf = f'<robot name="table"><link name="base"/>{top}{hinge("j", "base", "top", 0, "1 0 0")}</robot>'
    body = Primitive("puck", "box", (0.1, 0.1, 0.1), Pose((0.3, 0.4, 0.0)), "free", 0.1)
    scene = Scene(
        (SceneModel(urdf, velocities={"j": 1.0}),), (body,), loop_closures=(Closure("planar", "puck", "top"),),
        gravity=(0, 0, 0), drift_control="projection",
    )  # fmt: skip
    sim = mb.Simulator(scene)
    residual, closure, _ = run(sim, 1.0)
    assert residual <= 1e-12 and closure <= 1e-12
    R, p = frame_of(sim, "top")
    R_b, p_b = frame_of(sim, "puck")
    assert abs(R[:, 2] @ (p_b - p)) <= 1e-12 and abs(R[:, 2] @ R_b[:, 2] - 1.0) <= 1e-12
    assert R[:, 1] @ p_b == pytest.approx(0.4 * np.cosh(1.0), rel=2e-3)  # y'' = omega^2 y: it slides outwards


# --- beside contacts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", FRICTION_MODELS)
def test_loops_beside_contacts_under_every_friction_model(model):
    """Two free boxes, welded by a closure, fall on a slope of 20 degrees: one body to every solver, and it sticks."""
    tilt = np.radians(20.0)
    slope = Primitive("slope", "box", (4.0, 4.0, 0.2), Pose((0, 0, -0.1), (0, tilt, 0)), material="m")
    turn, normal = Pose(rpy=(0, tilt, 0)).rotation(), np.array([np.sin(tilt), 0, np.cos(tilt)])
    top = 0.1 * (normal - [0, 0, 1])
    boxes = tuple(
        Primitive(name, "box", (0.2, 0.2, 0.2), Pose(tuple(top + 0.1 * normal + x * turn[:, 1]), (0, tilt, 0)), "free",
                  1.0, material="m")
        for name, x in (("left", -0.2), ("right", 0.2))
    )  # fmt: skip
    scene = Scene(
        primitives=(slope, *boxes), loop_closures=(Closure("weld", "left", "right"),), friction_model=model,
        materials={"m": mb.model.scene.Material(0.6, 50.0)},
    )  # fmt: skip
    sim = mb.Simulator(scene)
    start = sim.link_pose("left")[0]
    residual, closure, certificate = run(sim, 0.5)
    assert residual <= 1e-9 and closure <= 1e-9 and certificate.contacts == 8
    R, p = relative(sim, "left", "right")
    np.testing.assert_allclose(p, [0, 0.4, 0], atol=1e-8)
    moved = np.linalg.norm(sim.link_pose("left")[0] - start)
    if model == "viscous":  # terminal speed m g sin / (8 mu_v) of 2 kg on eight points
        assert np.linalg.norm(sim.v[3:6]) == pytest.approx(2 * 9.81 * np.sin(tilt) / (8 * 50.0), rel=0.02)
    else:
        assert moved <= 1e-4


@pytest.mark.parametrize("friction_model", ["coulomb_polyhedral", "coulomb_cone"])
def test_a_contact_that_hinges_hold_fast_carries_nothing(friction_model):
    """A wheel whose fixed axle is as high as its radius: no impulse can move it along the normal."""
    wheel = '<link name="wheel"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    wheel += '</inertial><collision><geometry><sphere radius="0.5"/></geometry></collision></link>'
    urdf = f'<robot name="r"><link name="base"/>{wheel}{hinge("axle", "base", "wheel", 0, "0 1 0")}</robot>'
    model = SceneModel(urdf, pose=Pose((0, 0, 0.4999)), velocities={"axle": 3.0})
    sim = mb.Simulator(Scene((model,), ground=Ground(), friction_model=friction_model))
    step = sim.step()
    assert len(step.contacts) == 1 and step.certificate.residual <= 1e-12
    assert sim.v[0] == pytest.approx(3.0, abs=1e-12) and not step.contacts["impulse"].any()
    sim.set_state(sim.q, np.zeros(1))
    sim.step()
    sim.context.memory.impulse[0] = 5.0, 0.0, 0.0  # what a step before might have left
    assert not sim.step().contacts["impulse"].any()


# --- starts and errors --------------------------------------------------------------------------------


def test_an_open_start_is_closed_by_the_least_motion():
    """0.01 rad off: Gauss-Newton closes it; of all ways the metric of the inertia picks the lightest."""
    sim = mb.Simulator(four_bar(error=0.01))
    np.testing.assert_allclose(sim.q, four_bar_joints(sim.q[0]), atol=1e-12)
    moved = sim.q - (four_bar_joints(0.5) + [0, 0.01, 0])
    M = mb.mass_matrix(sim.world.robot_models[0], sim.q)
    direction = four_bar_joints(sim.q[0] + 1e-6) - four_bar_joints(sim.q[0] - 1e-6)
    cosine = moved @ M @ direction / np.sqrt((moved @ M @ moved) * (direction @ M @ direction))
    assert abs(cosine) <= 0.02  # across the motion that keeps it closed
    sim.step()
    sim.reset()
    np.testing.assert_allclose(sim.q, four_bar_joints(sim.q[0]), atol=1e-12)


def test_a_start_that_cannot_be_closed_is_refused_by_name():
    scene = four_bar()
    two = (scene.loop_closures[0], Closure("distance", "crank", "rocker", length=5.0))
    with pytest.raises(mb.SceneError, match=r"loop_closures\[.\]: the loops cannot be closed .* stay open; correct"):
        mb.Simulator(Scene(models=scene.models, loop_closures=two))


def test_rows_that_contradict_each_other_show_in_the_certificate():
    """The same distance asked for with two lengths, from a state where neither holds."""
    body = Primitive("bob", "sphere", (0.1,), Pose((1, 0, 0)), "free", 1.0)
    closures = (Closure("distance", "bob", "world"), Closure("distance", "bob", "world"))
    sim = mb.Simulator(Scene(primitives=(body,), loop_closures=closures, loops="multipliers"))
    assert sim.step().certificate.residual <= 1e-12
    lengths = sim.world.couplings.closures.length
    lengths.setflags(write=True)
    lengths[1] = 1.001
    certificate = sim.step().certificate
    assert certificate.tied_residual > 1e-2 and certificate.tied_rows == 1 and len(sim.tied_rows) == 1


YAML = """
primitives:
  - {name: a, shape: sphere, size: 0.1, base: free, mass: 1.0}
  - {name: b, shape: sphere, size: 0.1, base: free, mass: 1.0, pose: {position: [1, 0, 0]}}
loop_closures:
  - {kind: distance, link_a: a, link_b: b, pose_a: {position: [0, 0, 0.1]}, length: 1.0}
"""


def test_scene_file(tmp_path):
    file = tmp_path / "scene.yaml"
    file.write_text(YAML)
    scene = mb.load_scene(file)
    assert scene.loop_closures == (Closure("distance", "a", "b", Pose((0.0, 0.0, 0.1)), length=1.0),)
    sim = mb.Simulator(scene)
    assert abs(np.linalg.norm(sim.q[:3] + [0, 0, 0.1] - sim.q[7:10]) - 1.0) <= 0.1
    assert run(sim, 0.01)[0] <= 1e-12


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("kind: distance", "kind: glue", r"yaml:6: loop_closures\[0\].kind: 'glue' is not known; available: weld"),
        ("link_b: b", "link_b: c", r"loop_closures\[0\].link_b: no link is called 'c'; links: world, a, b"),
        ("link_b: b", "link_b: a", r"loop_closures\[0\]: 'a' and 'a' are parts of one body"),
        ("kind: distance", "kind: weld", r"loop_closures\[0\].length: a closure of kind weld has no length"),
        ("length: 1.0", "length: 0", r"loop_closures\[0\].length: must be greater than 0"),
        ("link_b: b,", "", r"loop_closures\[0\]: the key 'link_b' is missing"),
        ("loop_closures:", "drift_rate: 1.5\nloop_closures:", r"drift_rate: must be below 1, got 1.5"),
        ("loop_closures:", "drift_control: none\nloop_closures:", r"drift_control: 'none' is not known; available:"),
    ],
)
def test_scene_errors_name_place_and_remedy(tmp_path, old, new, message):
    file = tmp_path / "scene.yaml"
    file.write_text(YAML.replace(old, new))
    with pytest.raises(mb.SceneError, match=message):
        mb.model.world.build_world(mb.load_scene(file))


def test_python_scenes_are_checked_too():
    with pytest.raises(mb.SceneError, match="must be below 1"):
        check_scene(Scene(drift_rate=1.0))
    with pytest.raises(mb.SceneError, match=r"loop_closures\[0\].pose_a.position.*: must be"):
        check_scene(Scene(loop_closures=(Closure("point", "a", "b", Pose((0.0, np.nan, 0.0))),)))


# --- impacts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tilt", [0.0, 0.3], ids=["flat", "tilted"])
@pytest.mark.parametrize("law", ["papers", "newton", "anitescu_potra"])
@pytest.mark.parametrize("scheme", ["time_stepping", "event"])
def test_two_welded_balls_bounce_as_one_body(scheme, law, tilt):
    """A frictionless impact of a rigid dumbbell: J = (1 + eps) v / (1/M + a^2/I) at the arm a from its centre."""
    half, mass, radius, eps = 0.3, 1.0, 0.1, 0.5
    away = half * np.array([np.cos(tilt), 0.0, np.sin(tilt)])
    balls = tuple(
        Primitive(name, "sphere", (radius,), Pose(tuple(sign * away + [0, 0, 0.8]), rpy=(0, -tilt, 0)), "free", mass,
                  material="steel")
        for name, sign in (("low", -1.0), ("high", 1.0))
    )  # fmt: skip
    weld = Closure("weld", "low", "high", Pose((half, 0, 0)), Pose((-half, 0, 0)))
    sim = mb.Simulator(
        Scene(primitives=balls, ground=Ground(material="steel"), materials={"steel": Material(0.0, restitution=eps)},
              loop_closures=(weld,), collision_scheme=scheme, restitution_law=law)
    )  # fmt: skip
    while not (step := sim.step()).events:
        pass
    (event,) = step.events
    v, arm = -event.speeds[0], away[0] if tilt else 0.0
    whole, inertia = 2.0 * mass, 2.0 * (0.4 * mass * radius**2 + mass * half**2)
    yielding = 1.0 / whole + arm**2 / inertia
    assert event.impulses[:, 2].sum() == pytest.approx((1.0 + eps) * v / yielding, rel=1e-9)
    lost = event.energy_before - event.energy_after
    assert lost == pytest.approx(0.5 * (1.0 - eps**2) * v**2 / yielding, rel=1e-9)
    spins = sim.v.reshape(2, 6)[:, 1]
    np.testing.assert_allclose(spins, (1.0 + eps) * v / yielding * arm / inertia, rtol=1e-4, atol=1e-12)
    assert step.certificate.loop_residual < 1e-12 and step.certificate.closure_error < 1e-4
    residual, closure, _ = run(sim, 0.2)
    assert residual < 1e-9 and closure < 1e-3
    assert np.linalg.norm(sim.q.reshape(2, 7)[0, :3] - sim.q.reshape(2, 7)[1, :3]) == pytest.approx(2 * half, abs=1e-3)
