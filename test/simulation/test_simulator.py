# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The simulator: every step judged from scratch, input that must be refused, joints, what a step hands out.

Covers simulation/readings.py, simulation/results.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.core.handle import GAIN_LEFT, GAIN_MOST
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, SceneModel
from mb_contact.simulation.context import NEVER
from oracles.dense_step import DenseSource, PinocchioSource, StepJudge
from paths import ROOT
from scenes.whole_steps import LIFT, bits, box_scene, random_efforts

URDF = ROOT / "urdf" / "dual_arm.urdf"


JOINT = """
<robot name="one">
  <link name="base"/>
  <link name="bar"><inertial><origin xyz="{com}"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="joint" type="{kind}"><parent link="base"/><child link="bar"/><axis xyz="{axis}"/>
    <limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="100"/>
    <dynamics damping="{damping}"/></joint>
</robot>"""


def one_joint(
    kind="revolute", com="0.5 0 0", axis="0 1 0", lower=-3, upper=3, effort=50, damping=0, **options
):
    """A simulator of one bar on one joint; horizontal at zero, and gravity turns it towards +q."""
    text = JOINT.format(
        kind=kind, com=com, axis=axis, lower=lower, upper=upper, effort=effort, damping=damping
    )
    return mb.Simulator(Scene(models=(SceneModel(text),), **options))


# --- every step from scratch ----------------------------------------------------------------------


class Tally:
    """What a judged run met on its way."""

    def __init__(self):
        self.residual = self.dynamics = self.effort = 0.0
        self.contact_steps = self.robot_contact_steps = self.limit_steps = 0
        self.states, self.pairs = set(), set()


def judged_run(sim, source, efforts):
    """Run and judge every step, with what Euler gains left in."""
    gains = sim.context.settings[[GAIN_LEFT, GAIN_MOST]]
    sim.context.settings[[GAIN_LEFT, GAIN_MOST]] = NEVER
    try:
        return judged(sim, source, efforts)
    finally:
        sim.context.settings[[GAIN_LEFT, GAIN_MOST]] = gains  # others run the same robot


def judged(sim, source, efforts):
    judge, tally = StepJudge(sim, source), Tally()
    limit, joints = sim.world.effort_limit, sim.world.joint_v
    for effort in efforts:
        q, v = sim.q, sim.v
        step = sim.step(effort)
        contacts, v_next = step.contacts, sim.v
        verdict = judge.judge(q, v, effort, v_next, contacts)
        tally.residual = max(tally.residual, verdict.residual)
        tally.dynamics = max(tally.dynamics, verdict.dynamics)
        tally.contact_steps += verdict.contacts > 0
        tally.limit_steps += verdict.limits > 0
        tally.states.update(contacts["state"])
        pairs = {frozenset(pair) for pair in zip(contacts["link_a"], contacts["link_b"])}
        tally.pairs |= pairs
        tally.robot_contact_steps += bool(pairs - RESTING)
        assert step.certificate.contacts == len(contacts)
        assert step.certificate.residual <= 1e-9
        own = np.clip(effort, -limit, limit) - sim.world.tree.damping[joints] * v_next[joints]
        pushes = verdict.limit_impulses[joints] / sim.time_step
        tally.effort = max(tally.effort, np.abs(own + pushes - sim.joint_efforts()).max(initial=0.0))
    return tally


RESTING = {frozenset(("box", "table")), frozenset(("box", "ground"))}


@pytest.mark.long
def test_every_step_of_5_s_random_torques_satisfies_the_dense_problem(dual_arm):
    """Mass matrix, efforts and Jacobians from Pinocchio; contacts and limits judged from scratch."""
    source = PinocchioSource(dual_arm.world, pytest.importorskip("pinocchio"), URDF)
    tally = judged_run(dual_arm, source, random_efforts(dual_arm, 5000, 0))
    assert tally.residual <= 1e-9
    assert tally.dynamics <= 1e-10
    assert tally.effort <= 1e-6  # [N m], of limit impulses over the time step
    # it really was a run with contacts: of the robot, sticking and sliding, on limits
    assert tally.contact_steps >= 2500 and tally.robot_contact_steps >= 500
    assert tally.limit_steps >= 500
    assert tally.states == {"separate", "stick", "slip"}
    assert len(tally.pairs - RESTING) >= 5


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_steps_of_random_torques_satisfy_the_dense_problem_of_the_stacked_operators(dual_arm, seed):
    """The same without Pinocchio, shorter: H phi M phi* H* as full matrices."""
    tally = judged_run(dual_arm, DenseSource(dual_arm.world), random_efforts(dual_arm, 120, seed))
    assert tally.residual <= 1e-9
    assert tally.dynamics <= 1e-10
    assert tally.contact_steps >= 50


@pytest.mark.long
@pytest.mark.parametrize("n_f", [4, pytest.param(8, marks=pytest.mark.slow), 16])
def test_steps_of_tumbling_boxes_satisfy_the_dense_problem(n_f):
    """Free bodies on each other and on the ground, any number of friction directions."""
    rng = np.random.default_rng(n_f)
    boxes = tuple(
        Primitive(
            f"box_{i}", "box", tuple(rng.uniform(0.1, 0.3, 3)),
            Pose((*rng.uniform(-0.2, 0.2, 2), 0.3 + 0.3 * i), tuple(rng.uniform(-1, 1, 3))), "free", 1.0 + i,
        )
        for i in range(3)
    )  # fmt: skip
    scene = Scene(primitives=boxes, ground=Ground(), friction_model="coulomb_polyhedral", friction_directions=n_f)
    sim = mb.Simulator(scene)
    sim.set_state(sim.q, rng.normal(size=18))
    tally = judged_run(sim, DenseSource(sim.world), np.zeros((1000, 0)))
    assert tally.residual <= 1e-9
    assert tally.dynamics <= 1e-10
    assert tally.contact_steps >= 400 and "slip" in tally.states


@pytest.mark.nojit
def test_a_whole_step_without_jit():
    """A ball on the ground and a bar on its limit, a few steps of the very same kernels as plain Python."""
    ball = Primitive("ball", "sphere", (0.1,), Pose((1.0, 0.0, 0.1)), "free", 2.0)
    text = JOINT.format(kind="revolute", com="0.5 0 0", axis="0 1 0", lower=-1, upper=0, effort=9, damping=1)
    sim = mb.Simulator(Scene(models=(SceneModel(text),), primitives=(ball,), ground=Ground()))
    tally = judged_run(sim, DenseSource(sim.world), np.zeros((5, 1)))
    assert max(tally.residual, tally.dynamics) <= 1e-9 and tally.contact_steps == 5 and tally.limit_steps == 5
    np.testing.assert_allclose(sim.v, 0.0, atol=1e-12)
    assert sim.joint_efforts()[0] == pytest.approx(-2 * 9.81 * 0.5, rel=1e-9)


# --- input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "effort, message",
    [
        (np.full(26, np.nan), "effort\\[0\\] is nan"),
        (np.r_[np.zeros(25), np.inf], "effort\\[25\\] is inf"),
        (np.zeros(25), "effort must have 26 entries, got 25"),
        (np.zeros(27), "effort must have 26 entries, got 27"),
        (np.zeros((1, 26)), "must be a vector"),
        (3.0, "effort must have 26 entries, got 1"),
        (["x"] * 26, "must hold numbers"),
    ],
)
def test_bad_efforts_are_refused_and_nothing_changes(dual_arm, effort, message):
    for good in random_efforts(dual_arm, 30, 7):
        dual_arm.step(good)
    saved = dual_arm.save()
    good = random_efforts(dual_arm, 20, 8)
    first = bits(dual_arm, good)
    dual_arm.restore(saved)
    with pytest.raises(mb.InputError, match=message):
        dual_arm.step(effort)
    assert dual_arm.step_count == 30
    np.testing.assert_array_equal(dual_arm.q, saved.q)
    np.testing.assert_array_equal(dual_arm.v, saved.v)
    assert bits(dual_arm, good) == first


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda q, v: (q[:-1], v), "q must have 33"),
        (lambda q, v: (q, v[:-1]), "v must have 32"),
        (lambda q, v: (np.r_[np.nan, q[1:]], v), "q\\[0\\] is nan"),
        (lambda q, v: (q, np.r_[np.inf, v[1:]]), "v\\[0\\] is inf"),
        (lambda q, v: (np.r_[q[:-4], np.zeros(4)], v), "quaternion of 'box'"),
    ],
)
def test_set_state_refuses_and_leaves_the_state(dual_arm, change, message):
    q, v = dual_arm.q, dual_arm.v
    with pytest.raises(mb.InputError, match=message):
        dual_arm.set_state(*change(q.copy(), v.copy()))
    np.testing.assert_array_equal(dual_arm.q, q)
    np.testing.assert_array_equal(dual_arm.v, v)


def test_set_state_normalises_quaternions_and_does_not_touch_its_arguments(dual_arm):
    q, v = dual_arm.q, np.zeros(32)
    q[-4:] = [0.0, 3.0, 0.0, 4.0]
    kept = q.copy()
    dual_arm.set_state(q, v)
    np.testing.assert_array_equal(q, kept)
    np.testing.assert_allclose(dual_arm.q[-4:], [0.0, 0.6, 0.0, 0.8], atol=1e-16)
    np.testing.assert_allclose(dual_arm.link_pose("box")[1], [0.0, 0.6, 0.0, 0.8], atol=1e-15)


def test_a_state_that_runs_away_is_an_error_and_stays_as_it_was():
    sim = one_joint()
    sim.set_state([0.1], [1e200])
    with pytest.raises(mb.DynamicsError, match="not finite"):
        for _ in range(3):
            saved = sim.save()
            sim.step()
    np.testing.assert_array_equal(sim.q, saved.q)
    np.testing.assert_array_equal(sim.v, saved.v)
    assert sim.step_count == saved.step_count


def test_unknown_names_are_refused_with_the_known_ones(dual_arm):
    for call in (dual_arm.link_pose, dual_arm.contact_impulse, dual_arm.operational_space):
        with pytest.raises(mb.InputError, match="nose.*left_tcp"):
            call("nose")


def test_missing_scene_is_a_scene_error(tmp_path):
    with pytest.raises(mb.SceneError, match="nowhere"):
        mb.Simulator(tmp_path / "nowhere.yaml")


def test_an_empty_scene_steps():
    sim = mb.Simulator(Scene())
    assert sim.step().certificate.contacts == 0
    assert sim.time == pytest.approx(0.001) and sim.energy() == 0.0


# --- joints ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("damping, inertia", [(0.0, 0.75), (0.5, 0.75), (40.0, 0.75)])
def test_implicit_damping_decays_as_the_formula_says(damping, inertia):
    """v+ = v / (1 + dt d / I), also where explicit damping would explode (dt d / I > 2)."""
    sim = one_joint(axis="0 0 1", lower=-1e9, upper=1e9, damping=damping, time_step=0.05, rates={})
    sim.set_state([0.0], [3.0])
    v = 3.0
    for _ in range(50):
        sim.step()
        v /= 1.0 + 0.05 * damping / inertia
        assert sim.v[0] == pytest.approx(v, rel=1e-12)


def test_efforts_are_clamped_to_the_joint_s_limit():
    strong, limited = one_joint(axis="0 0 1"), one_joint(axis="0 0 1")
    for _ in range(20):
        strong.step([1e6])
        limited.step([50.0])
    np.testing.assert_array_equal(strong.v, limited.v)
    assert strong.joint_efforts()[0] == 50.0
    assert strong.v[0] == pytest.approx(20 * 0.001 * 50.0 / 0.75, rel=1e-12)
    weak = one_joint(axis="0 0 1")
    weak.step([-1e6])
    assert weak.joint_efforts()[0] == -50.0


FALLS = [
    ("revolute", "0 1 0", 1),
    ("prismatic", "0 0 -1", 1),
    ("revolute", "0 -1 0", -1),
    ("prismatic", "0 0 1", -1),
]


@pytest.mark.parametrize("kind, axis, sign", FALLS)
def test_a_bar_that_falls_onto_its_limit_stays_there(kind, axis, sign):
    """From 0 to a limit at 0.3 under gravity: never past it, then at rest, and the limit bears the load."""
    sim = one_joint(kind=kind, axis=axis, lower=-0.3, upper=0.3)
    worst = 0.0
    for _ in range(1500):
        sim.step()
        worst = max(worst, sign * sim.q[0] - 0.3)
    assert worst <= 1e-9
    assert sign * sim.q[0] == pytest.approx(0.3, abs=1e-6)
    assert abs(sim.v[0]) <= 1e-9
    load = 2 * 9.81 * (0.5 * np.cos(0.3) if kind == "revolute" else 1.0)
    assert sim.joint_efforts()[0] == pytest.approx(-sign * load, rel=1e-6)
    # a motor that pushes further changes nothing but the load
    for _ in range(200):
        sim.step([sign * 50.0])
    assert sign * sim.q[0] == pytest.approx(0.3, abs=1e-6)
    assert sim.joint_efforts()[0] == pytest.approx(-sign * load, rel=1e-6)  # motor + limit


@pytest.mark.nojit
def test_warm_start_of_contacts_and_limits_takes_one_newton_step_at_most():
    """At rest the last step's impulses are this step's but for rounding, for limits as for contacts."""
    text = JOINT.format(kind="revolute", com="0.5 0 0", axis="0 1 0", lower=-1, upper=0, effort=9, damping=1)
    bar = mb.Simulator(Scene(models=(SceneModel(text),)))
    for sim in (bar, mb.Simulator(box_scene())):
        sim.step()
        for _ in range(3):
            certificate = sim.step().certificate
            assert certificate.solver in ("warm_start", "newton") and certificate.iterations <= 1


def test_a_joint_thrown_at_its_limit_stops_there():
    """100 rad/s: 0.1 rad a step, still stopped at the limit within the step that would pass it."""
    sim = one_joint(axis="0 0 1", lower=-0.35, upper=0.35)
    sim.set_state([0.0], [100.0])
    for _ in range(10):
        sim.step()
        assert sim.q[0] <= 0.35 + 1e-12
    assert sim.q[0] == pytest.approx(0.35, abs=1e-12)


def test_a_limit_holds_when_another_limit_s_impulse_drives_the_joint_into_it():
    """Two bars: the first one's stop throws the second, at rest until then, at its own stop."""
    sim = mb.Simulator(Scene(models=(SceneModel(WHIP),), gravity=(0.0, 0.0, 0.0)))
    sim.set_state([0.29, 0.29], [20.0, 0.0])
    for _ in range(5):
        sim.step()
        assert sim.q.max() <= 0.3 + 1e-9


WHIP = """
<robot name="whip">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-0.3" upper="0.3" effort="0" velocity="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="1 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-0.3" upper="0.3" effort="0" velocity="1"/></joint>
</robot>"""


def test_a_joint_set_beyond_its_limit_returns_at_a_bounded_speed():
    sim = one_joint(axis="0 0 1", lower=-0.3, upper=0.3)
    sim.set_state([0.4], [0.0])
    speeds = []
    for _ in range(1000):
        sim.step()
        speeds.append(abs(sim.v[0]))
    assert max(speeds) <= 1.0 + 1e-9  # [rad/s]
    assert sim.q[0] <= 0.3 + 1e-6


# --- what a step hands out ------------------------------------------------------------------------


def test_contact_impulses_add_up_to_those_of_the_links(dual_arm):
    """contact_impulse(link): the listed contacts of the link, in its axes, about its origin."""
    links = [name for name, frame in dual_arm.world.frames.items() if frame.body >= 0]
    met = set()
    for i, effort in enumerate(random_efforts(dual_arm, 800, 9)):
        contacts = dual_arm.step(effort).contacts
        if i % 20 or not len(contacts):
            continue
        for link in links:
            # impulses act where the link was before the step's motion, moments are about where it is now
            p, quaternion = dual_arm.link_pose(link)
            force, moment = np.zeros(3), np.zeros(3)
            for name, sign in (("link_a", 1.0), ("link_b", -1.0)):
                own = contacts[contacts[name] == link]
                force += sign * own["impulse"].sum(axis=0)
                moment += sign * np.cross(own["point"] - p, own["impulse"]).sum(axis=0)
            R = Rotation.from_quat(quaternion).as_matrix()
            got = dual_arm.contact_impulse(link)
            assert force.any() == got.any()
            np.testing.assert_allclose(np.linalg.norm(got[3:]), np.linalg.norm(force), rtol=1e-9, atol=1e-12)
            # the link moves by v dt within the step: that much may the lever and the axes differ
            slack = 0.1 * np.linalg.norm(force) + 0.01 * np.linalg.norm(moment) + 1e-12
            np.testing.assert_allclose(R @ got[3:], force, atol=slack)
            np.testing.assert_allclose(R @ got[:3], moment, atol=slack)
            if force.any():
                met.add(link)
        several = dual_arm.contact_impulse(links)
        np.testing.assert_array_equal(several, [dual_arm.contact_impulse(link) for link in links])
    assert "box" in met and len(met) >= 3


def test_contact_impulse_of_a_resting_box_carries_its_weight_in_its_own_axes():
    """Turned by 90 degrees about x: the weight is along the box's own -y or +y, whatever the world says."""
    turn = Pose((0.0, 0.0, 0.15), (np.pi / 2, 0.0, 0.0))
    box = Primitive("box", "box", (0.2, 0.3, 0.1), turn, "free", 2.0)
    sim = mb.Simulator(Scene(primitives=(box,), ground=Ground()))
    for _ in range(100):
        sim.step()
    np.testing.assert_allclose(sim.contact_impulse("box"), [0, 0, 0, 0, 2 * 9.81e-3, 0], atol=1e-8)
    np.testing.assert_allclose(sim.contact_impulse("ground")[3:], [0, 0, -2 * 9.81e-3], atol=1e-8)


def test_contact_impulse_of_a_link_without_contacts_is_zero(dual_arm):
    dual_arm.step()
    assert not dual_arm.contact_impulse("left_finger_1").any()


def test_arrays_of_a_step_stay_valid(dual_arm):
    efforts = random_efforts(dual_arm, 120, 10)
    for effort in efforts[:100]:
        step = dual_arm.step(effort)
    kept = [step.contacts[name].copy() for name in ("point", "gap", "impulse")]
    positions, velocities, torques = (
        dual_arm.joint_positions(),
        dual_arm.joint_velocities(),
        dual_arm.joint_efforts(),
    )
    copies = [x.copy() for x in (positions, velocities, torques)]
    for effort in efforts[100:]:
        dual_arm.step(effort)
    for name, x in zip(("point", "gap", "impulse"), kept):
        np.testing.assert_array_equal(step.contacts[name], x)
    for x, y in zip((positions, velocities, torques), copies):
        np.testing.assert_array_equal(x, y)


def test_changing_what_the_simulator_gave_out_does_not_change_the_simulator(dual_arm):
    q = dual_arm.q
    for array in (dual_arm.q, dual_arm.v, dual_arm.joint_positions(), dual_arm.mass_matrix()):
        array += 1.0
    p, quaternion = dual_arm.link_pose("pedestal")  # welded: a constant of the world
    kept = p.copy()
    p += 1.0
    np.testing.assert_array_equal(dual_arm.q, q)
    np.testing.assert_array_equal(dual_arm.link_pose("pedestal")[0], kept)


def test_joint_vectors_follow_the_names(dual_arm):
    names = dual_arm.world.joint_names
    positions = dict(zip(names, dual_arm.joint_positions()))
    assert positions["left_arm_joint_2"] == 0.7120 and positions["head_joint_4"] == 0.30
    effort = np.zeros(26)
    effort[names.index("right_finger_3_joint")] = 0.5
    dual_arm.step(effort)
    moved = dict(zip(names, dual_arm.joint_efforts()))
    damping = 0.05 * dual_arm.joint_velocities()[names.index("right_finger_3_joint")]
    assert damping > 0.01
    assert moved["right_finger_3_joint"] == pytest.approx(0.5 - damping, rel=1e-12)
    assert abs(moved["left_finger_3_joint"]) < 0.05


def test_operational_space_equals_the_public_functions(dual_arm):
    """Columns of the robot's joints only; rows of all frames, coupled."""
    for effort in random_efforts(dual_arm, 50, 11):
        dual_arm.step(effort)
    q, v, world = dual_arm.q, dual_arm.v, dual_arm.world
    frames = ("left_tcp", "right_tcp")
    space = dual_arm.operational_space(frames)
    assert space.frames == frames and space.jacobian.shape == (12, 26) and space.rank == 12
    np.testing.assert_allclose(space.jacobian, mb.jacobian(world, q, frames)[:, world.joint_v], atol=1e-13)
    np.testing.assert_allclose(space.bias, mb.dynamics.jacobian_bias(world, q, v, frames), atol=1e-11)
    np.testing.assert_allclose(space.compliance, mb.operational_compliance(world, q, frames), atol=1e-11)
    np.testing.assert_allclose(space.inertia @ space.compliance, np.eye(12), atol=1e-8)
    np.testing.assert_allclose(dual_arm.mass_matrix(), mb.mass_matrix(world, q)[:26, :26], atol=1e-12)
    effects = mb.dynamics.nonlinear_effects(world, q, v, world.gravity)[:26]
    np.testing.assert_allclose(dual_arm.nonlinear_effects(), effects, atol=1e-10)
    assert dual_arm.energy() == pytest.approx(sum(mb.energy(world, q, v, world.gravity)), rel=1e-12)
    for name in ("left_tcp", "box", "pedestal", "head_link_2"):
        R, p = mb.frame_pose(world, q, name)
        mine_p, quaternion = dual_arm.link_pose(name)
        np.testing.assert_allclose(mine_p, p, atol=1e-14)
        np.testing.assert_allclose(Rotation.from_quat(quaternion).as_matrix(), R, atol=1e-14)


def test_operational_space_of_more_frames_than_the_contacts_have_rows():
    """The frames' rows share a workspace with the contacts', which has to grow for them."""
    sim = mb.Simulator(replace(mb.load_scene(LIFT), friction_model="coulomb_polyhedral"))
    twin = mb.Simulator(replace(mb.load_scene(LIFT), friction_model="coulomb_polyhedral"))
    for effort in random_efforts(sim, 20, 5):
        sim.step(effort)
        twin.step(effort)
    impulse = sim.contact_impulse("box")
    frames = 3 * tuple(sim.world.frames)
    space = sim.operational_space(frames)
    expected = mb.operational_compliance(sim.world, sim.q, frames)
    np.testing.assert_allclose(space.compliance, expected, atol=1e-9)
    np.testing.assert_array_equal(sim.contact_impulse("box"), impulse)
    sim.step()
    twin.step()
    np.testing.assert_array_equal(sim.q, twin.q)
    with pytest.raises(mb.InputError, match="at least one frame"):
        sim.operational_space(())


def test_asking_questions_does_not_change_the_run(dual_arm):
    """What the monitors write into the step's workspaces, no step reads: the same bits with and without them."""
    efforts = random_efforts(dual_arm, 100, 12)
    plain = bits(dual_arm, efforts)
    dual_arm.reset()
    watched = []
    for effort in efforts:
        dual_arm.operational_space(("left_tcp", "head_link_4"))
        dual_arm.mass_matrix()
        dual_arm.nonlinear_effects()
        watched += bits(dual_arm, [effort])
        dual_arm.contact_problem().lcp()
    assert watched == plain


def test_gravity_compensation_holds_the_robot(dual_arm):
    """nonlinear_effects as the command: the arms stay where they are, though they weigh 40 kg."""
    q = dual_arm.joint_positions()
    for _ in range(500):
        dual_arm.step(dual_arm.nonlinear_effects())
    assert np.abs(dual_arm.joint_positions() - q).max() <= 1e-9


def test_robot_description_is_the_urdf(dual_arm):
    assert dual_arm.robot_description.lstrip().startswith("<?xml")
    assert 'robot name="dual_arm"' in dual_arm.robot_description
    assert mb.Simulator(box_scene()).robot_description == ""


def test_contact_problem_of_a_step_is_the_one_solved():
    """A box on the ground: 4 contacts, n_f + 2 unknowns each; the judge agrees with the step."""
    model = "coulomb_polyhedral"
    sim = mb.Simulator(box_scene(friction_model=model, friction_directions=4, materials={"wood": Material(0.5)}))
    step = sim.step()
    problem = sim.contact_problem()
    assert problem.size == 4 * (4 + 2)  # J14 Table 1: four contacts, n_f = 4
    residuals = mb.studies.certify(problem)
    assert max(residuals[:2]) <= 1e-10 and step.certificate.residual <= 1e-10


def test_jain_2014_table_1_dual_arm_with_four_contacts_has_24_unknowns():
    """The reference robot of the papers, n = N = 26, n_f = 4: the box's four corners make 24 unknowns."""
    scene = mb.load_scene(LIFT)
    fields = {name: getattr(scene, name) for name in scene.__dataclass_fields__}
    sim = mb.Simulator(Scene(**{**fields, "friction_directions": 4}))
    assert len(sim.world.joint_names) == 26
    sim.step(sim.nonlinear_effects())
    problem = sim.contact_problem()
    assert (problem.dim == 3).sum() == 4 and problem.size - (problem.dim == 1).sum() == 24
