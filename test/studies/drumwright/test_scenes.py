# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The no-slip and viscous models in scenes and in the simulator; Drumwright's grasp."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError, SceneError
from mb_contact.model.poses import tree_poses
from mb_contact.model.scene import Ground, Material, MaterialPair, Pose, Primitive, Scene, SceneModel
from mb_contact.programs.bench import grasp as bench
from oracles.dense_oracle import Dense
from paths import ROOT

SOLVED = ("warm_start", "newton", "ppm")


def block_scene(model, viscous=0.0, gravity=(0.0, 0.0, -9.81), time_step=0.001, height=0.05):
    """A flat block of 2 kg on the ground."""
    return Scene(
        primitives=(
            Primitive("block", "box", (0.4, 0.3, 0.1), Pose((0.0, 0.0, height)), "free", 2.0, material="m"),
        ),
        ground=Ground(material="m"), materials={"m": Material(0.0, viscous)}, friction_model=model, gravity=gravity,
        time_step=time_step,
    )  # fmt: skip


def pushed(simulator, vx):
    v = simulator.v
    v[3] = vx
    simulator.set_state(simulator.q, v)
    return simulator


# --- the grasp --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grasp_run():
    return bench.run_method(bench.no_slip)


def test_grasp_is_held_for_100_steps(grasp_run):
    assert grasp_run.held == 100 and grasp_run.residual.max() <= 1e-9


def test_grasp_takes_few_pivots(grasp_run):
    """D15: mean 5.5, at most 7."""
    assert 1 <= grasp_run.pivots.mean() <= 5.5 and grasp_run.pivots.max() <= 7


def test_grasp_forces_by_hand():
    """Every face carries the press of 100 N, and friction the weight of each box.

    A force across all three faces between the two jaws is a self-stress, so only differences are determined.
    """
    grasp = bench.Grasp()
    contacts = grasp.contacts()
    assert len(contacts.mu) == 36 and grasp.faces().sum() == 12
    result = mb.studies.no_slip_step(
        grasp.system, grasp.q, grasp.v, grasp.effort, contacts, bench.DT, sticking=grasp.faces(), warm=()
    )
    np.testing.assert_allclose(result.v, 0.0, atol=1e-13)
    force = (result.normal[:, None] * contacts.normal + result.tangent[:, :1] * contacts.t1
             + result.tangent[:, 1:] * contacts.t2) / bench.DT  # fmt: skip
    on_jaw, inside, on_right = force.reshape(3, 12, 3).sum(axis=1)
    np.testing.assert_allclose([on_jaw[0], inside[0], on_right[0]], -100.0, atol=1e-9)
    np.testing.assert_allclose(inside - on_jaw, [0.0, 0.0, 9.81], atol=1e-9)
    np.testing.assert_allclose(on_right - inside, [0.0, 0.0, 9.81], atol=1e-9)


def test_no_slip_at_tripled_corners_leaves_nothing_to_pivot_on():
    """Three tangent planes at a corner hold every relative velocity: F = 0, no normal is ever needed."""
    run = bench.run_method(bench.no_slip, "all", steps=3)
    assert run.pivots.max() == 0 and run.held == 3


def test_grasp_problem_matches_dense_matrices():
    """F and e of (56), (57) against (A^-1)_11 with the dense mass matrix."""
    grasp = bench.Grasp()
    c, held = grasp.contacts(), grasp.faces()
    F, e = bench._no_slip_system(grasp, c, held).condensed(1e-8)
    dense = Dense(grasp.world.tree, grasp.q, grasp.v)
    points = [dense.point_jacobian(a, x)[3:] - dense.point_jacobian(b, x)[3:]
              for a, b, x in zip(c.body_a, c.body_b, c.point)]  # fmt: skip
    N, S, T = (np.array([d @ J for d, J in zip(D, points)]) for D in (c.normal, c.t1, c.t2))
    M = dense.mass_matrix()
    free = dense.v + bench.DT * dense.forward(grasp.effort, grasp.gravity)
    X = np.vstack((S[held], T[held]))
    inverse = np.linalg.inv(M)
    block = inverse - inverse @ X.T @ np.linalg.pinv(X @ inverse @ X.T, rcond=1e-10) @ X @ inverse
    size = np.abs(N @ inverse @ N.T).max()
    np.testing.assert_allclose(F, N @ block @ N.T, atol=1e-10 * size)
    np.testing.assert_allclose(e, N @ block @ M @ free + np.maximum(c.gap, 0.0) / bench.DT, atol=1e-10)


def test_active_set_qp_agrees():
    for qp in (bench.active_set_qp,):
        run = bench.run_method(bench.no_slip_qp(qp), steps=5)
        assert run.held == 5 and run.residual.max() <= 1e-9


def test_stewart_trinkle_has_216_unknowns_and_holds_a_few_steps():
    run = bench.run_method(bench.stewart_trinkle(scaled=True), steps=3)
    assert run.held == 3 and run.residual.max() <= 1e-4  # measured: 1.4e-5 in the third step, 1e-10 before


def test_grasp_with_detected_contacts():
    """The scene as it is: the contacts that collision detection gives."""
    run = bench.simulate("no_slip")
    assert run.contacts == 12 and run.moved <= 1e-9 and run.residual <= 1e-9


@pytest.mark.parametrize("rows, sinks", [("faces", 1e-3), ("all", 1e-12)])
def test_prescribed_contacts_cannot_drop_anything(rows, sinks):
    """docs/drumwright.md: also without a press; without slip at the faces the jaws glide away, and the boxes stay."""
    grasp = bench.Grasp()
    grasp.effort[:] = 0.0
    held = grasp.faces() if rows == "faces" else np.ones(36, bool)
    for _ in range(200):
        grasp.take(bench.no_slip(grasp, grasp.contacts(), held)[0])
    moved = tree_poses(grasp.world.tree, grasp.q)[1][grasp.bodies] - grasp.start
    assert np.abs(moved[:, 2]).max() <= sinks
    assert (np.abs(moved[:, 0]).max() > 0.1) == (rows == "faces")


@pytest.mark.parametrize("press, held", [(4.91, True), (4.9, False), (0.0, False)])
def test_detected_contacts_need_a_press(press, held):
    """Half of a box's weight, 4.905 N: below it the normal forces of a face cannot balance the weight's moment."""
    simulator = mb.Simulator(ROOT / "config" / "drumwright_grasp.yaml")
    for _ in range(200):
        simulator.step([press, -press])
    fallen = 1.0 - simulator.link_pose("box_left")[0][2]
    assert abs(fallen) <= 1e-11 if held else fallen > 1.0
    if press == 0.0:
        assert fallen == pytest.approx(0.5 * 9.81 * 0.01**2 * 200 * 201, abs=1e-9)  # Euler's free fall


# --- the simulator ----------------------------------------------------------------------------------------


def test_viscous_block_decays_exponentially():
    """(1 + dt lambda)^-k with lambda = c mu_v / m exactly, and v_0 exp(-lambda t) in the limit."""
    simulator = pushed(mb.Simulator(block_scene("viscous", viscous=1.5)), 0.6)
    for _ in range(500):
        step = simulator.step()
    rate = step.certificate.contacts * 1.5 / 2.0
    assert step.certificate.contacts == 4 and step.certificate.solver in SOLVED
    assert simulator.v[3] == pytest.approx(0.6 * (1 + 0.001 * rate) ** -500, rel=1e-9)
    assert simulator.v[3] == pytest.approx(0.6 * np.exp(-rate * 0.5), rel=5e-3)
    assert set(step.contacts["state"]) <= {"slip", "separate"} and step.certificate.residual < 1e-9
    assert abs(step.certificate.energy_balance) < 1e-9


def test_block_with_both_kinds_of_friction():
    """v+ = (v - mu g dt) / (1 + dt lambda) until it stops; friction reported is the sum of both."""
    scene = block_scene("coulomb_viscous", viscous=1.5)
    simulator = pushed(mb.Simulator(replace(scene, materials={"m": Material(0.2, 1.5)})), 0.6)
    v, rate, dt = 0.6, 4 * 1.5 / 2.0, 0.001
    for _ in range(150):
        step = simulator.step()
        v = (v - 0.2 * 9.81 * dt) / (1 + dt * rate)
        assert simulator.v[3] == pytest.approx(v, rel=1e-9)
        assert step.contacts["impulse"][:, 0].sum() == pytest.approx(-2.0 * 9.81 * 0.2 * dt - 4 * 1.5 * dt * v)
        assert step.certificate.residual < 1e-9 and abs(step.certificate.energy_balance) < 1e-9
    assert simulator.contact_problem().size == 4 * 10
    for _ in range(300):
        step = simulator.step()
    np.testing.assert_allclose(simulator.v, 0.0, atol=1e-12)
    assert set(step.contacts["state"]) == {"stick"}


def test_both_kinds_without_viscosity_is_the_coulomb_step():
    states = []
    for model in ("coulomb_viscous", "coulomb_polyhedral"):
        scene = replace(block_scene(model, height=0.06), materials={"m": Material(0.3)})
        simulator = pushed(mb.Simulator(scene), 0.5)
        for _ in range(200):
            simulator.step()
        states.append(np.concatenate((simulator.q, simulator.v)))
    np.testing.assert_allclose(*states, atol=1e-9)


def test_no_slip_block_stays_on_a_steep_slope():
    g = 9.81 * np.array([np.sin(np.radians(60)), 0.0, -np.cos(np.radians(60))])
    simulator = mb.Simulator(block_scene("no_slip", gravity=tuple(g)))
    start = simulator.q
    for _ in range(300):
        step = simulator.step()
    np.testing.assert_allclose(simulator.q, start, atol=1e-12)
    assert step.contacts["impulse"].sum(axis=0) == pytest.approx(-2.0 * g * 0.001)
    assert set(step.contacts["state"]) <= {"stick", "separate"}


def test_no_slip_ball_rolls_down_a_slope():
    """x = 5/14 g sin(angle) t^2."""
    g = 9.81 * np.array([np.sin(0.3), 0.0, -np.cos(0.3)])
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 0.1)), "free", 1.0)
    simulator = mb.Simulator(Scene(primitives=(ball,), ground=Ground(), friction_model="no_slip", gravity=tuple(g)))
    for _ in range(500):
        simulator.step()
    assert simulator.v[3] == pytest.approx(5 / 7 * g[0] * 0.5, rel=1e-9)
    assert simulator.q[0] == pytest.approx(5 / 14 * g[0] * 0.25, rel=3e-3)
    assert simulator.q[2] == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize("model", ["no_slip", "viscous"])
def test_block_falls_lands_and_rests(model):
    """Contact is inelastic: energy never grows, and the block ends on the ground."""
    simulator = pushed(mb.Simulator(block_scene(model, viscous=2.0, height=0.08)), 0.5)
    energy = simulator.energy()
    for _ in range(400):
        certificate = simulator.step().certificate
        assert certificate.energy <= energy + 1e-9 and certificate.solver in ("none", *SOLVED)
        energy = certificate.energy
    assert simulator.q[2] == pytest.approx(0.05, abs=1e-4)
    assert simulator.v[3] == pytest.approx(0.0 if model == "no_slip" else 0.5 * np.exp(-4.0 * 0.32), abs=0.02)


@pytest.mark.parametrize("model", ["no_slip", "viscous"])
def test_restored_state_goes_on_bit_for_bit(model):
    simulator = pushed(mb.Simulator(block_scene(model, viscous=2.0, height=0.06)), 0.5)
    for _ in range(60):
        simulator.step()
    saved, ends = simulator.save(), []
    for _ in range(2):
        for _ in range(60):
            simulator.step()
        ends.append(np.concatenate((simulator.q, simulator.v)))
        simulator.restore(saved)
    np.testing.assert_array_equal(*ends)


def test_joint_limits_hold_under_no_slip():
    """The jaws run into their own limits when nothing is between them."""
    scene = Scene(models=(SceneModel(str(ROOT / "urdf/grasp_jaws.urdf"), joints={"left_jaw_joint": 0.45,
                                                                              "right_jaw_joint": -0.45}),),
                  friction_model="no_slip", gravity=(0.0, 0.0, 0.0))  # fmt: skip
    simulator = mb.Simulator(scene)
    for _ in range(300):
        step = simulator.step([20.0, -20.0])
    np.testing.assert_allclose(simulator.joint_positions(), [0.5, -0.5], atol=1e-9)
    np.testing.assert_allclose(simulator.joint_efforts(), 0.0, atol=1e-9)
    assert step.certificate.residual < 1e-9


def test_a_squeezed_block_is_solved_without_push_out():
    """Two fixed walls overlap the block from both sides: both cannot push it out, and the step says so."""
    walls = [Primitive(f"wall_{s:+d}", "box", (0.1, 1.0, 1.0), Pose((s * 0.249, 0.0, 0.0)), "weld") for s in (-1, 1)]
    block = Primitive("block", "box", (0.4, 0.3, 0.1), Pose(), "free", 2.0)
    simulator = mb.Simulator(Scene(primitives=(*walls, block), friction_model="no_slip"))
    for _ in range(20):
        certificate = simulator.step().certificate
        assert certificate.solver == "no_push_out" and certificate.residual < 1e-9
    np.testing.assert_allclose(simulator.v, 0.0, atol=1e-12)


# --- scenes -----------------------------------------------------------------------------------------------


def test_viscous_coefficients_of_pairs():
    scene = Scene(
        primitives=(Primitive("a", "sphere", (0.1,), Pose((0, 0, 1.0)), "free", 1.0, material="wet"),
                    Primitive("b", "sphere", (0.1,), Pose((0, 0, 2.0)), "free", 1.0, material="oil"),
                    Primitive("c", "sphere", (0.1,), Pose((0, 0, 3.0)), "free", 1.0)),
        materials={"wet": Material(0.1, 4.0), "oil": Material(0.1, 9.0)},
        pairs=(MaterialPair(("wet", "wet"), 0.1, 1.0),), ground=Ground(material="wet"), friction_model="viscous",
    )  # fmt: skip
    world = mb.build_world(scene)
    links = [{world.geometry_links[a], world.geometry_links[b]} for a, b in world.geoms.pairs]
    found = dict(zip(map(frozenset, links), world.viscous))
    assert found[frozenset({"a", "b"})] == 6.0 and found[frozenset({"a", "c"})] == 0.0
    assert found[frozenset({"a", "ground"})] == 1.0 and found[frozenset({"b", "ground"})] == 6.0


def test_viscous_key_of_a_scene_file(tmp_path):
    file = tmp_path / "scene.yaml"
    text = "friction_model: viscous\nground: {material: wet}\nmaterials:\n  wet: {friction: 0.0, viscous: %s}\n"
    file.write_text(text % "2.5")
    assert mb.load_scene(file).materials["wet"].viscous == 2.5
    file.write_text(text % "-1.0")
    with pytest.raises(SceneError, match="scene.yaml:4: materials.wet.viscous"):
        mb.load_scene(file)


def test_no_polyhedral_problem_to_study():
    simulator = mb.Simulator(block_scene("no_slip"))
    simulator.step()
    with pytest.raises(InputError, match="friction_model no_slip has no polyhedral contact problem"):
        simulator.contact_problem()
