# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators against closed forms: servos, their limits, gears with rotors, springs in series.

Covers core/constraints/servo.py, core/integrate/held_servos.py, model/urdf/series_springs.py.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.linalg import expm

import mb_contact as mb
from mb_contact.errors import InputError, ModelError, SceneError
from mb_contact.model.scene import Actuator, Ground, Scene, SceneModel

INERTIA = 0.7
DT = 1e-3
#: how steps can go: integrator and scheme of collisions
WAYS = [
    pytest.param({"integrator": name, "collision_scheme": scheme}, id=f"{name}, {scheme}")
    for name in ("semi_implicit_euler", "rk4", "midpoint", "adaptive")
    for scheme in ("time_stepping", "event")
]
FLOWS = WAYS[1:]


def bar(kind="revolute", effort=1e9):
    """A body of inertia (and mass) INERTIA on one joint, along and about the vertical."""
    moment = f'<inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/>'
    return (
        f'<robot name="bar"><link name="base"/><link name="body"><inertial><mass value="{INERTIA}"/>{moment}</inertial>'
        '<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
        f'<joint name="j" type="{kind}"><parent link="base"/><child link="body"/><axis xyz="0 0 1"/>'
        f'<limit lower="-9" upper="9" effort="{effort}" velocity="99"/></joint></robot>'
    )


def driven(kind="position", dt=DT, urdf=None, gravity=(0.0, 0.0, 0.0), scene=None, joints=None, **gains):
    """A simulator of the bar with an actuator."""
    model = SceneModel(urdf or bar(), name="bar", actuators={"j": Actuator(kind, **gains)}, joints=joints or {})
    return mb.Simulator(Scene(models=(model,), time_step=dt, gravity=gravity, **(scene or {})))


def exponents(sim, joint, names, dt):
    """Exponents s of q ~ exp(s t) of one coordinate that moves on its own, from the step's linear map."""
    columns = []
    for position, velocity in ((1e-3, 0.0), (0.0, 1e-3)):
        sim.reset()
        sim.set_joints([joint], [position], [velocity])
        sim.step()
        row = names.index(joint)
        columns.append((sim.joint_positions()[row] / 1e-3, sim.joint_velocities()[row] / 1e-3))
    return np.log(np.linalg.eigvals(np.array(columns).T).astype(complex)) / dt


@pytest.mark.parametrize("stiffness, damping", [(0.7, 0.2), (1.0, 0.0), (0.5, 1.0)])
def test_a_position_actuator_swings_and_fades_as_the_closed_form_says(stiffness, damping):
    dt = 2e-7
    sim = driven(dt=dt, stiffness=stiffness, damping=damping)
    s = exponents(sim, "j", ["j"], dt)
    decay, frequency = damping / (2.0 * INERTIA), np.sqrt(stiffness / INERTIA - (damping / (2.0 * INERTIA)) ** 2)
    np.testing.assert_allclose(np.abs(s.imag), frequency, rtol=1e-6)
    np.testing.assert_allclose(-s.real, decay, atol=1e-6)


def errors_of_response(steps, **scene):
    """Largest deviation from the closed form of a step response, for each time step."""
    stiffness, damping, asked = 70.0, 2.0, 0.3
    decay = damping / (2.0 * INERTIA)
    omega = np.sqrt(stiffness / INERTIA - decay**2)
    errors = []
    for dt in steps:
        sim = driven(dt=dt, stiffness=stiffness, damping=damping, scene=scene)
        sim.set_targets(["j"], [asked])
        times = dt * np.arange(1, round(0.8 / dt) + 1)
        path = []
        for _ in times:
            sim.step()
            path.append(sim.joint_positions()[0])
        exact = asked * (1.0 - np.exp(-decay * times) * (np.cos(omega * times) + decay / omega * np.sin(omega * times)))
        errors.append(np.abs(path - exact).max())
    return np.array(errors)


@pytest.mark.parametrize("scheme", ["time_stepping", "event"])
@pytest.mark.parametrize(
    "integrator, order, steps, last",
    [
        ("semi_implicit_euler", 1.0, (2e-3, 1e-3, 5e-4), 2e-3), ("midpoint", 2.0, (1e-2, 5e-3, 2.5e-3), 1e-4),
        ("rk4", 4.0, (1e-2, 5e-3, 2.5e-3), 5e-9),
    ],
)  # fmt: skip
def test_the_step_response_converges_to_the_closed_form(integrator, order, steps, last, scheme):
    if integrator == "semi_implicit_euler" and scheme == "event":  # whose flows are those of rk4
        order, steps, last = 4.0, (1e-2, 5e-3, 2.5e-3), 5e-9
    errors = errors_of_response(steps, integrator=integrator, collision_scheme=scheme)
    assert errors[2] < last
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), order, atol=0.1)


def test_an_adaptive_step_response_is_as_exact_as_asked():
    assert errors_of_response([2e-2, 5e-3], integrator="adaptive", integrator_tolerance=1e-9).max() < 1e-9


@pytest.mark.parametrize("way", FLOWS)
def test_stiff_servos_of_a_flow_come_to_the_same_at_second_order(way):
    """Gains that no explicit stage bears: constant efforts, or the middle; against the exponential of the matrix."""
    stiffness, damping = 2e5, 2e3
    A, start = np.array([[0.0, 1.0], [-stiffness / INERTIA, -damping / INERTIA]]), np.array([0.01, 3.0])
    errors = []
    for dt in (1e-3, 5e-4, 2.5e-4):
        sim = driven(dt=dt, stiffness=stiffness, damping=damping, scene=way)
        sim.set_joints(["j"], start[:1], start[1:])
        error = 0.0
        for k in range(1, round(4e-3 / dt) + 1):
            sim.step()
            error = max(error, abs(sim.joint_positions()[0] - (expm(k * dt * A) @ start)[0]))
        errors.append(error)
    assert errors[-1] < 1e-4 and errors[0] > 3.0 * errors[1] and errors[1] > 3.0 * errors[2]


def test_a_velocity_actuator_approaches_its_speed():
    sim = driven("velocity", damping=3.0)
    sim.set_targets(["j"], velocities=[2.0])
    speed = 0.0
    for _ in range(50):
        step = sim.step()
        speed = (INERTIA * speed + DT * 3.0 * 2.0) / (INERTIA + DT * 3.0)
        assert sim.joint_velocities()[0] == pytest.approx(speed, rel=1e-12)
        assert sim.joint_efforts()[0] == pytest.approx(3.0 * (2.0 - speed), rel=1e-12)
        assert abs(step.certificate.energy_balance) < 1e-12


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stiffness, damping", [(1e6, 0.0), (1e6, 1e6), (1e8, 1e3), (6e5, 1.0)])
def test_stiff_gains_are_stable_and_passive(way, stiffness, damping):
    """1e6 N m/rad at 1 ms: what is stored in motion and in the servo's spring never grows."""
    sim = driven(stiffness=stiffness, damping=damping, scene=way)
    sim.set_joints(["j"], [0.01], [3.0])
    stored = [0.5 * stiffness * 1e-4 + 0.5 * INERTIA * 9.0]
    for _ in range(200):
        step = sim.step()
        stored.append(step.certificate.kinetic_energy + 0.5 * stiffness * sim.joint_positions()[0] ** 2)
    assert (np.diff(stored) <= 1e-9 * stored[0]).all()
    if way is WAYS[0].values[0] and damping < 1e6:  # implicit Euler alone takes the ringing out
        assert stored[-1] < 1e-12 * stored[0]


HINGES = [f"hinge_{i}" for i in range(4)]


def chain(stiffness, damping, dt=DT, **scene):
    """A pendulum of four links with a servo in each hinge."""
    pendulum = mb.pendulum(4, length=2.0, angle=0.3, rate=0.0).scene()
    actuators = {name: Actuator("position", stiffness=stiffness, damping=damping) for name in HINGES}
    model = dataclasses.replace(pendulum.models[0], actuators=actuators)
    return mb.Simulator(dataclasses.replace(pendulum, models=(model,), time_step=dt, **scene))


@pytest.mark.parametrize("way", FLOWS)
@pytest.mark.parametrize("stiffness, damping", [(1e4, 0.0), (1e6, 0.0), (1e6, 10.0), (1e8, 0.0), (1e3, 1e3)])
def test_servos_of_a_chain_are_passive_in_every_flow(way, stiffness, damping):
    """Its inertia changes as it turns; energy of motion, gravity and servos' springs, which nothing else feeds."""
    chance = np.random.default_rng(3)
    sim, posture = chain(stiffness, damping, **way), chance.uniform(-1.0, 1.0, 4)
    sim.set_joints(HINGES, posture + chance.uniform(-0.02, 0.02, 4), chance.uniform(-1.0, 1.0, 4))
    sim.set_targets(HINGES, posture)
    stored = []
    for _ in range(100):
        gained = sim.step().certificate.energy_gained  # of the integrator, which it tells
        away = sim.joint_positions() - posture
        stored.append(sim.energy() + 0.5 * stiffness * away @ away - gained)
    assert max(stored) - stored[0] < 1e-8 * stored[0]


def test_all_integrators_come_to_the_same_motion():
    """Of a chain whose servos bring it from one posture to another, as the steps get shorter."""
    posture, ends = np.array([0.5, -0.4, 0.3, -0.2]), {}
    for name in ("adaptive", "rk4", "midpoint", "semi_implicit_euler"):
        for dt in (2e-3, 1e-3):
            sim = chain(300.0, 10.0, dt, integrator=name)
            sim.set_targets(HINGES, posture)
            for _ in range(round(0.2 / dt)):
                sim.step()
            ends[name, dt] = sim.joint_positions()
    truth = ends["adaptive", 1e-3]
    for name, order, bound in (("rk4", 4.0, 1e-6), ("midpoint", 2.0, 1e-4), ("semi_implicit_euler", 1.0, 1e-2)):
        errors = [np.abs(ends[name, dt] - truth).max() for dt in (2e-3, 1e-3)]
        assert errors[1] < bound and np.log2(errors[0] / errors[1]) > 0.8 * order, (name, errors)


def test_a_chain_with_stiff_servos_takes_its_posture():
    chance = np.random.default_rng(3)
    names, sim = HINGES, chain(1e6, 10.0)
    for _ in range(5):
        posture = chance.uniform(-1.0, 1.0, 4)
        sim.reset()
        sim.set_joints(names, posture + chance.uniform(-0.02, 0.02, 4), chance.uniform(-1.0, 1.0, 4))
        sim.set_targets(names, posture)
        error = [np.abs(sim.joint_positions() - posture).max()]
        for _ in range(300):
            step = sim.step()
            error.append(np.abs(sim.joint_positions() - posture).max())
        assert max(error) <= 1.2 * error[0] and error[-1] < 1e-3  # it bears its weight: 1e-4 rad
        np.testing.assert_allclose(sim.joint_efforts(), sim.nonlinear_effects(), rtol=1e-3)
        assert abs(step.certificate.energy_balance) < 1.0


def test_gears_reflect_their_rotors_into_mass_matrix_and_operational_inertia():
    bent = {"left_arm_joint_2": 0.5, "left_arm_joint_4": 1.0}
    arm = SceneModel("package://mb_contact/urdf/dual_arm.urdf", joints=bent)
    gears = {"left_arm_joint_1": (100.0, 2e-5), "left_arm_joint_6": (-30.0, 1e-4)}
    actuators = {name: Actuator(gear_ratio=n, rotor_inertia=J) for name, (n, J) in gears.items()}
    plain, geared = (mb.Simulator(Scene(models=(m,))) for m in (arm, dataclasses.replace(arm, actuators=actuators)))
    reflected = np.zeros(len(plain.world.joint_names))
    for name, (n, J) in gears.items():
        reflected[plain.world.joint_names.index(name)] = n * n * J
    M = plain.mass_matrix() + np.diag(reflected)
    np.testing.assert_allclose(geared.mass_matrix(), M, rtol=1e-12, atol=1e-14)
    J = plain.operational_space(["left_tcp"]).jacobian
    compliance = J @ np.linalg.solve(M, J.T)
    found = geared.operational_space(["left_tcp"])
    np.testing.assert_allclose(found.compliance, compliance, atol=1e-10)
    np.testing.assert_allclose(found.inertia, np.linalg.inv(compliance), rtol=1e-8, atol=1e-8)


def test_rotor_damping_is_reflected_too():
    sim = driven("effort", gear_ratio=10.0, rotor_damping=0.02)
    sim.set_joints(["j"], velocities=[1.0])
    sim.step()
    assert sim.joint_velocities()[0] == pytest.approx(INERTIA / (INERTIA + DT * 2.0), rel=1e-12)


def test_a_series_elastic_actuator_swings_at_its_frequency():
    dt, stiffness, rotor = 2e-7, 0.4, 100.0 * 3e-3
    sim = driven("effort", dt=dt, gear_ratio=10.0, rotor_inertia=3e-3, series_stiffness=stiffness)
    assert sim.world.joint_names == ("j", "j_spring")
    s = exponents(sim, "j_spring", ["j", "j_spring"], dt)
    np.testing.assert_allclose(np.abs(s.imag), np.sqrt(stiffness * (1.0 / INERTIA + 1.0 / rotor)), rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_a_series_elastic_position_actuator_bears_a_load_on_its_spring(way):
    sim = driven(
        urdf=bar("prismatic"), gravity=(0.0, 0.0, -9.81), stiffness=1e4, damping=200.0, rotor_inertia=0.5,
        series_stiffness=500.0, series_damping=20.0, scene=way,
    )  # fmt: skip
    for _ in range(4000):
        step = sim.step()
    position, weight = sim.joint_positions(), 9.81 * INERTIA
    np.testing.assert_allclose(position, [-weight / 1e4, -weight / 500.0], rtol=1e-6)
    assert sim.joint_efforts()[0] == pytest.approx(weight, rel=1e-6)
    assert abs(step.certificate.energy_balance) < 1e-2


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "midpoint", "adaptive"])
@pytest.mark.parametrize("series", [1e4, 1e6])
def test_a_stiff_servo_behind_a_stiff_spring_is_passive(integrator, series):
    """A rotor of 0.01 kg m^2 between both, at up to 10 rad a step."""
    gains = {"stiffness": 1e5, "damping": 20.0, "rotor_inertia": 0.01, "series_stiffness": series}
    sim = driven(**gains, scene={"integrator": integrator})
    sim.set_joints(["j"], [0.001])
    stored = []
    for _ in range(100):
        sim.step()
        stored.append(sim.energy() + 0.5 * 1e5 * sim.joint_positions()[0] ** 2)
    assert max(stored) < 0.5 * 1e5 * 1e-6 and stored[-1] < 0.5 * stored[0]


def test_a_spring_that_is_too_stiff_for_the_stages_of_rk4_takes_its_steps_in_pieces():
    gains = {"stiffness": 1e5, "damping": 20.0, "rotor_inertia": 0.01, "series_stiffness": 1e6}
    sim = driven(**gains, scene={"integrator": "rk4"})
    sim.set_joints(["j"], [0.001])
    for _ in range(100):
        certificate = sim.step().certificate
        assert certificate.pieces == 4 and certificate.by_euler == 0
    assert sim.energy() + 0.5 * 1e5 * sim.joint_positions()[0] ** 2 < 0.2 * 0.05


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stiffness, damping", [(1e6, 0.0), (1e6, 1e3), (300.0, 5.0)])
def test_no_servo_exceeds_its_limit_and_it_leaves_it_again(stiffness, damping, way):
    """On its way to the target the effort is the limit, then the servo's; the books balance."""
    limit, sim = 8.0, driven(stiffness=stiffness, damping=damping, effort_limit=8.0, scene=way)
    sim.set_targets(["j"], [0.5])
    efforts, speed = [], 0.0
    for k in range(1500):
        step = sim.step([0.5])
        efforts.append(sim.joint_efforts()[0])
        if k < 10:
            speed += DT * limit / INERTIA
            assert efforts[-1] == pytest.approx(limit, rel=1e-15)
            assert sim.joint_velocities()[0] == pytest.approx(speed, rel=1e-11)
    assert np.abs(efforts).max() <= limit * (1.0 + 1e-15) and min(efforts) < -limit * (1.0 - 1e-15)
    assert abs(step.certificate.energy_balance) < 1e-7
    sim.set_targets(["j"], [sim.joint_positions()[0]])
    sim.set_joints(["j"], velocities=[0.0])
    sim.step([0.5])
    assert abs(sim.joint_efforts()[0]) < limit


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stiffness, damping", [(1e4, 500.0), (1e6, 100.0), (1e8, 1e4)])
def test_a_servo_presses_on_the_ground(way, stiffness, damping):
    """A tenth of a millimetre into it; the ground bears that and the weight."""
    sim = driven(
        urdf=bar("prismatic"), gravity=(0.0, 0.0, -9.81), stiffness=stiffness, damping=damping,
        scene={"ground": Ground(0.0), **way}, joints={"j": 0.1},
    )  # fmt: skip
    sim.set_targets(["j"], [0.0999])
    for _ in range(300):
        step = sim.step()
    force = 1e-4 * stiffness
    assert sim.joint_positions()[0] == pytest.approx(0.1, abs=1e-7)
    assert sim.joint_efforts()[0] == pytest.approx(-force, rel=1e-3)
    assert sim.contact_impulse("body")[5] / DT == pytest.approx(force + 9.81 * INERTIA, rel=1e-3)
    assert step.certificate.complementarity_gap < 1e-9


@pytest.mark.parametrize("way", WAYS)
def test_a_servo_presses_with_its_limit_and_no_more(way):
    sim = driven(
        urdf=bar("prismatic"), gravity=(0.0, 0.0, -9.81), stiffness=1e6, damping=1000.0, effort_limit=20.0,
        scene={"ground": Ground(0.0), **way}, joints={"j": 0.1},
    )  # fmt: skip
    sim.set_targets(["j"], [0.0])  # a tenth of a metre into the ground
    for _ in range(300):
        step = sim.step()
    assert sim.joint_efforts()[0] == pytest.approx(-20.0, rel=1e-15)
    assert sim.contact_impulse("body")[5] / DT == pytest.approx(20.0 + 9.81 * INERTIA, rel=1e-9)
    assert step.certificate.complementarity_gap < 1e-9
    sim.set_targets(["j"], [0.10001])
    for _ in range(1000):
        sim.step()
    assert sim.joint_positions()[0] == pytest.approx(0.10001 - 9.81 * INERTIA / 1e6, abs=1e-7)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stiffness", [50.0, 1e6])
def test_targets_are_part_of_the_state(way, stiffness):
    sim = driven(stiffness=stiffness, damping=1.0, effort_limit=6.0, scene=way)
    sim.set_targets(["j"], [0.4], [0.1])
    for _ in range(5):
        sim.step()
    saved, path = sim.save(), []
    for _ in range(2):
        sim.restore(saved)
        for _ in range(20):
            sim.step()
        path.append((sim.joint_positions()[0], sim.joint_efforts()[0]))
        sim.set_targets(["j"], [-1.0], [0.0])
        sim.step()
    assert path[0] == path[1]
    sim.restore(saved)
    other = sim.rebuilt(sim.scene)
    for each in (sim, other):
        for _ in range(20):
            each.step()
        assert (each.joint_positions()[0], each.joint_efforts()[0]) == path[0]
    sim.reset()
    sim.step()
    assert sim.joint_positions()[0] == 0.0 and sim.joint_efforts()[0] == 0.0


def test_what_cannot_be_asked_is_refused_and_changes_nothing():
    sim = driven("velocity", damping=3.0)
    sim.set_targets(["j"], velocities=[1.0])
    for names, more, words in (
        (["k"], {"velocities": [1.0]}, "no joint 'k'"), (["j"], {"positions": [1.0]}, "no actuator that a position"),
        (["j"], {"velocities": [np.nan]}, "finite"), (["j", "j"], {"velocities": [1.0, 2.0]}, "named twice"),
        (["j"], {"positions": [1.0], "velocities": [3.0]}, "no actuator that a position"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            sim.set_targets(names, **more)
    sim.step()
    assert sim.joint_velocities()[0] == pytest.approx(DT * 3.0 / (INERTIA + DT * 3.0), rel=1e-12)


@pytest.mark.parametrize(
    "kind, gains, scene, words",
    [
        ("servo", {}, {}, "available: effort, velocity, position"), ("position", {}, {}, "needs a stiffness; add"),
        ("velocity", {"damping": 1.0, "stiffness": 1.0}, {}, "an actuator of kind velocity has no stiffness"),
        ("effort", {"damping": 1.0}, {}, "an actuator of kind effort has no damping"),
        ("position", {"stiffness": -1.0}, {}, "stiffness"), ("effort", {"series_damping": 1.0}, {}, "series_stiffness"),
        ("effort", {"series_stiffness": 1.0}, {}, "without a rotor_inertia above zero"),
    ],
)
def test_scenes_that_make_no_sense_are_refused(kind, gains, scene, words):
    with pytest.raises(SceneError, match=words):
        driven(kind, scene=scene, **gains)


def test_a_spring_needs_a_joint_with_an_axis():
    fixed = bar().replace('type="revolute"', 'type="fixed"')
    with pytest.raises((ModelError, SceneError), match="'j'"):
        driven("effort", urdf=fixed, rotor_inertia=1.0, series_stiffness=1.0)


def test_a_scene_file_has_actuators(tmp_path):
    (tmp_path / "bar.urdf").write_text(bar(), encoding="utf-8")
    (tmp_path / "scene.yaml").write_text(
        "gravity: [0, 0, 0]\nmodels:\n  - urdf: bar.urdf\n    joints: {j: 0.2}\n    actuators:\n"
        "      j: {kind: position, stiffness: 1e3, damping: 10, gear_ratio: 50, rotor_inertia: 1.0e-4}\n",
        encoding="utf-8",
    )
    sim = mb.Simulator(tmp_path / "scene.yaml")
    sim.step()
    assert sim.joint_positions()[0] == 0.2  # what it holds from the beginning
    assert sim.mass_matrix()[0, 0] == pytest.approx(INERTIA + 0.25, rel=1e-12)
    (tmp_path / "scene.yaml").write_text("models: [{urdf: bar.urdf, actuators: {j: {kind: servo}}}]", encoding="utf-8")
    with pytest.raises(SceneError, match="kind"):
        mb.Simulator(tmp_path / "scene.yaml")
