# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes with flexible links against beam theory: vibration, statics, rotation, free flight, contact.

Covers model/flexible/files.py, model/flexible/links.py, model/scene/flexible_links.py.
"""

import dataclasses

import numpy as np
import pytest
import yaml
from scipy.linalg import eigh, expm
from scipy.optimize import brentq

import mb_contact as mb
from mb_contact.errors import ModelError, SceneError
from mb_contact.model.flexible.files import write_modal_body
from mb_contact.model.flexible.spec import beam_body
from scenes.flexible_robots import ARM, CLAMPED, DENSITY, LOOSE, TURNING, YOUNG, joint, modal_matrices, scene, strip

LENGTH = 0.5
WIDTH, HEIGHT = 0.02, 0.004
STIFF = YOUNG * WIDTH * HEIGHT**3 / 12.0  # E I of bending along z
LINE = DENSITY * WIDTH * HEIGHT  # mass per length
SPEED = np.sqrt(STIFF / LINE) / LENGTH**2


def flexible(damping_ratio=0.0, nodes=None, **keys):
    return mb.model.FlexibleLink(beam=strip(LENGTH, **keys), damping_ratio=damping_ratio, nodes=nodes or {})


def flap(**keys):
    """Only bending along z."""
    return flexible(motions=("bending_z",), **keys)


def test_frequencies_of_a_rod_that_is_clamped_or_flies():
    """omega^2 M x = K x of the whole scene; of the loose rod, which takes its frame along, six are zero."""
    sim = mb.Simulator(scene(CLAMPED, "rod", flap(modes=3)), warm_up=False)
    M, K, modes = modal_matrices(sim)
    got = np.sqrt(eigh(np.diag(K[modes]), M[np.ix_(modes, modes)], eigvals_only=True))
    assert np.allclose(np.sqrt(got / SPEED), [1.87510407, 4.69409113, 7.85475744], rtol=1e-7)
    sim = mb.Simulator(scene(LOOSE, "rod", flap(modes=3), base="free"), warm_up=False)
    M, K, _ = modal_matrices(sim)
    squares = eigh(np.diag(K), M, eigvals_only=True)
    assert np.abs(squares[:6]).max() < 1e-6 * squares[6]
    assert np.allclose(np.sqrt(np.sqrt(squares[6:]) / SPEED), [4.73004074, 7.85320462, 10.99560784], rtol=1e-7)


def test_frequencies_of_a_rod_with_a_weight_at_its_end():
    """Clamped rod, mass m at its end: V = m omega^2 w there; 0.1 % with 8 modes, or 3 and the static ones."""
    m = 0.05
    urdf = CLAMPED.replace("</robot>", "") + (
        f'<link name="bob"><inertial><mass value="{m}"/><inertia ixx="1e-12" iyy="1e-12" izz="1e-12" ixy="0" ixz="0" '
        'iyz="0"/></inertial></link>' + joint("glue", "rod", "bob", "fixed", f"{LENGTH} 0 0") + "</robot>"
    )

    def rest(omega):
        A = np.array([[0, 1, 0, 0], [0, 0, 1 / STIFF, 0], [0, 0, 0, -1], [-LINE * omega**2, 0, 0, 0]], float)
        T = expm(LENGTH * A)
        shear = T[3, 2:] - m * omega**2 * T[0, 2:]  # V = kappa G A (w' - th) pulls the weight: m w.. = -V
        return np.linalg.det(np.array([T[2, 2:], shear]))

    for keys, bound in (({"modes": 8}, 1e-3), ({"modes": 3, "static_modes": True}, 1e-4)):
        sim = mb.Simulator(scene(urdf, "rod", flap(**keys)), warm_up=False)
        M, K, modes = modal_matrices(sim)
        got = np.sqrt(eigh(np.diag(K[modes]), M[np.ix_(modes, modes)], eigvals_only=True))[:2]
        for omega in got:
            signs = rest(0.97 * omega) * rest(1.03 * omega)
            assert signs < 0.0
            assert abs(omega / brentq(rest, 0.97 * omega, 1.03 * omega) - 1.0) < bound


def test_the_end_deflects_under_loads_as_statics_says():
    """F L^3 / 3 E I and F L^2 / 2 E I under a force at the end, q L^4 / 8 E I under weight, at rest."""
    tip, force = {"tip": (LENGTH, 0.0, 0.0)}, 0.02
    spec = flap(modes=2, static_modes=True, nodes=tip, damping_ratio=1.0, stiffening=False)
    sim = mb.Simulator(scene(CLAMPED, "rod", spec, time_step=0.01))
    sim.set_external_wrench("rod/tip", [0.0, 0.0, 0.0, 0.0, 0.0, force])
    for _ in range(200):
        sim.step()
    p, quaternion = sim.link_pose("rod/tip")
    assert np.isclose(p[2], force * LENGTH**3 / (3.0 * STIFF), rtol=1e-9)
    assert np.isclose(2.0 * np.arcsin(quaternion[1]), -force * LENGTH**2 / (2.0 * STIFF), rtol=1e-9)
    sim = mb.Simulator(scene(CLAMPED, "rod", spec, gravity=(0.0, 0.0, -1.0), time_step=0.01))
    for _ in range(200):
        sim.step()
    assert np.isclose(sim.link_pose("rod/tip")[0][2], -LINE * LENGTH**4 / (8.0 * STIFF), rtol=1e-4)


def test_a_rod_vibrates_at_its_frequency_and_is_damped_as_asked():
    """Runge and Kutta: after a whole period eta is back, times exp(-2 pi zeta) where there is damping."""
    period = 2.0 * np.pi / (1.87510407**2 * SPEED)
    for ratio in (0.0, 0.05):
        made = scene(CLAMPED, "rod", flap(modes=1, damping_ratio=ratio), integrator="rk4", time_step=period / 400.0)
        sim = mb.Simulator(made)
        sim.set_joints(["rod/mode_1"], positions=[1e-4])
        late = np.sqrt(1.0 - ratio**2)
        for _ in range(400):
            sim.step()
        want = np.exp(-2.0 * np.pi * ratio) * (np.cos(2.0 * np.pi * late) + ratio / late * np.sin(2.0 * np.pi * late))
        assert np.isclose(sim.joint_positions()[0], 1e-4 * want, rtol=1e-6)


def rotating(omega, **keys):
    """Squares of the angular frequencies of the rod's modes at the speed ``omega`` of the hinge about z."""
    robot = mb.model.SceneModel(TURNING, flexible_links={"rod": flexible(**keys)})
    world = mb.build_world(mb.Scene(models=(robot,), gravity=(0.0, 0.0, 0.0)))
    modes, still, h = np.arange(1, len(world.v0)), np.zeros(len(world.v0)), 1e-5
    spin = np.concatenate([[omega], still[1:]])
    columns = []
    for d in modes:
        q = still.copy()
        q[d] = h
        ahead, behind = (mb.inverse_dynamics(world, s * q, spin, still, np.zeros(3)) for s in (1, -1))
        columns.append((ahead - behind)[modes] / (2.0 * h))
    K = np.array(columns).T + np.diag(world.joints.stiffness[modes])
    return eigh(0.5 * (K + K.T), mb.mass_matrix(world, still)[np.ix_(modes, modes)], eigvals_only=True)


def stiffened(speed):
    """Lowest flapping frequency of a rotating beam, over sqrt(E I / rho A) / L^2, by collocation of

    w'''' - (speed^2 / 2 (1 - x^2) w')' = lambda^2 w, w(0) = w'(0) = 0 = w''(1) = w'''(1).
    """
    n = 40
    x = np.polynomial.legendre.leggauss(n)[0]
    basis = [np.polynomial.Polynomial([0.0] * (k + 2) + [1.0], domain=[0, 1], window=[0, 1]) for k in range(9)]
    at, weight = 0.5 * (x + 1.0), 0.5 * np.polynomial.legendre.leggauss(n)[1]
    w, rate, bend = (np.array([p.deriv(d)(at) if d else p(at) for p in basis]) for d in (0, 1, 2))
    K = (bend * weight) @ bend.T + 0.5 * speed**2 * (rate * weight * (1.0 - at**2)) @ rate.T
    return np.sqrt(eigh(K, (w * weight) @ w.T, eigvals_only=True)[0])


def test_a_rotating_rod_stiffens():
    """Frequencies of the literature (Wright et al. 1982: 3.6816, 4.1373, 6.4495); along the hinge's plane less Omega^2.

    Without ``stiffening`` the bare mode stays as it is across the plane of rotation, and grows softer in it.
    """
    for speed, printed in ((1.0, 3.6816), (2.0, 4.1373), (5.0, 6.4495)):
        assert np.isclose(stiffened(speed), printed, atol=2e-4)
        got = np.sqrt(rotating(speed * SPEED, motions=("bending_z",), modes=6)[0]) / SPEED
        assert np.isclose(got, printed, rtol=1e-3)
        bare = np.sqrt(rotating(speed * SPEED, motions=("bending_z",), modes=6, stiffening=False)[0]) / SPEED
        assert np.isclose(bare, 3.51601527, rtol=1e-7)
        side = {"motions": ("bending_y",), "modes": 6, "size": (HEIGHT, WIDTH)}  # the same strip, turned
        assert np.isclose(rotating(speed * SPEED, **side)[0] / SPEED**2, got**2 - speed**2, rtol=1e-6)
        soft = rotating(speed * SPEED, **side, stiffening=False)[0] / SPEED**2
        assert np.isclose(soft, 3.51601527**2 - speed**2, rtol=1e-6)


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_momentum_and_energy_of_a_rod_in_free_flight(integrator):
    """Spinning, bent and vibrating: linear and angular momentum and the energy stay."""
    made = scene(LOOSE, "rod", flexible(modes=4), base="free", integrator=integrator, time_step=5e-5)
    sim = mb.Simulator(made)
    q, v = sim.q, sim.v
    q[7:9] = 5e-3, -4e-3
    v[:] = 1.0, -2.0, 3.0, 0.1, 0.2, -0.1, 0.05, 0.1, 0.0, 0.0
    sim.set_state(q, v)
    before, energy = mb.dynamics.momentum(sim.world, sim.q, sim.v), sim.energy()
    for _ in range(200):
        sim.step()
    assert np.allclose(mb.dynamics.momentum(sim.world, sim.q, sim.v), before, atol=2e-8 * np.abs(before).max())
    assert abs(sim.energy() / energy - 1.0) < 1e-6
    assert np.abs(sim.q[7:9] - q[7:9]).max() > 1e-3  # it does vibrate


def pressing(**settings):
    """A finger of 0.5 m on a slide that moves along -z, a ball at its end, above a table that stands still."""
    ball = '<collision><geometry><sphere radius="0.01"/></geometry></collision>'
    urdf = (
        '<robot name="finger"><link name="wall"/><link name="finger"/>'
        f'<link name="pad">{ball}</link>'
        + joint("slide", "wall", "finger", "prismatic", "0 0 0.0105", "0 0 -1")
        + joint("glue", "finger", "pad", "fixed", f"{LENGTH} 0 0")
        + "</robot>"
    )
    spec = flap(modes=2, static_modes=True, damping_ratio=0.5, stiffening=False)
    servo = {"slide": mb.model.Actuator("position", stiffness=1e7, damping=1e3)}
    robot = mb.model.SceneModel(urdf, flexible_links={"finger": spec}, actuators=servo)
    made = {"materials": {"wax": mb.model.Material(0.0)}, "ground": mb.model.Ground(material="wax"), **settings}
    return mb.Scene(models=(robot,), gravity=(0.0, 0.0, 0.0), **made)


def test_a_flexible_finger_presses_on_a_table():
    """Moved 4 mm in, the ball presses with 3 E I / L^3 times what the finger is bent by, and does not go in."""
    sim = mb.Simulator(pressing(time_step=2e-3))
    sim.set_targets(["slide"], positions=[4.5e-3])
    for _ in range(400):
        step = sim.step()
    assert step.certificate.contacts == 1 and step.certificate.complementarity_gap < 1e-9
    bent = sim.link_pose("pad")[0][2] - sim.link_pose("finger")[0][2]
    force = np.linalg.norm(sim.contact_impulse("pad")[3:]) / sim.time_step  # in the axes of the ball, which has turned
    assert np.isclose(bent, 4e-3, rtol=1e-3) and np.isclose(force, 3.0 * STIFF / LENGTH**3 * bent, rtol=1e-6)
    assert abs(sim.link_pose("pad")[0][2] - 0.01) < 1e-5


def test_a_flexible_finger_bounces_without_gaining_energy():
    """Restitution 1 without friction: the impulse acts on all modes; the energy stays."""
    hard = {"hard": mb.model.Material(0.0, restitution=1.0)}
    made = pressing(integrator="rk4", time_step=1e-4, materials=hard, ground=mb.model.Ground(material="hard"))
    robot = dataclasses.replace(
        made.models[0], materials=mb.model.ModelMaterials("hard"), actuators={}, velocities={"slide": 0.5},
        flexible_links={"finger": flap(modes=2, stiffening=False)},
    )  # fmt: skip
    sim = mb.Simulator(dataclasses.replace(made, models=(robot,)))
    energy, deepest, bent = sim.energy(), 1.0, 0.0
    for _ in range(200):
        sim.step()
        deepest = min(deepest, sim.link_pose("pad")[0][2])
        bent = max(bent, abs(sim.joint_positions()[1]))
    assert 0.00999 < deepest < 0.0101 and bent > 1e-3 and sim.link_pose("pad")[0][2] > 0.0101
    assert energy * (1.0 - 2e-3) < sim.energy() < energy * (1.0 + 1e-6)


def test_files_of_modal_data_say_the_same_as_the_beam(tmp_path):
    """A strip written as points with their modes, read again, npz and YAML: the same frequencies and accelerations."""
    body, _ = beam_body(strip(stiffening=False), 0.0, [np.array([LENGTH, 0.01, 0.02])], np.zeros(3))
    write_modal_body(tmp_path / "strip.npz", body)
    with np.load(tmp_path / "strip.npz") as file:
        content = {name: file[name].tolist() for name in file.files}
    (tmp_path / "strip.yaml").write_text(yaml.safe_dump(content))
    glue = joint("glue", "hand", "weight", "fixed", "0 0 0")
    urdf = ARM.replace(joint("glue", "fore", "weight", "fixed", "0.2 0 0.05"), glue)
    urdf = urdf.replace("0.5 0.01 0.02", "0.5 0 0")
    beam = mb.load_urdf(urdf, flexible_links={"fore": mb.model.FlexibleLink(beam=strip(stiffening=False))})
    rng = np.random.default_rng(3)
    q, v, effort = 0.01 * rng.normal(size=beam.N), rng.normal(size=beam.N), rng.normal(size=beam.N)
    want = mb.forward_dynamics(beam, q, v, effort)
    for name in ("strip.npz", "strip.yaml"):
        spec = mb.model.FlexibleLink(file=str(tmp_path / name))
        model = mb.load_urdf(urdf, flexible_links={"fore": spec})
        assert np.allclose(model.flexible[0].omega, beam.flexible[0].omega)
        assert np.allclose(mb.forward_dynamics(model, q, v, effort), want, rtol=1e-7, atol=1e-6)


def test_a_scene_file_with_a_flexible_link(tmp_path):
    """Read, written and read again; modes are joints ``fore/mode_1`` ... with names, and not actuated."""
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "arm.yaml").write_text(
        "models:\n  - urdf: arm.urdf\n    joints: {fore/mode_2: 0.001}\n    flexible_links:\n      fore:\n"
        "        damping_ratio: 0.02\n"
        "        nodes: {mid: [0.25, 0, 0]}\n        beam: {end: [0.5, 0, 0], section: rectangle, size: [0.02, 0.004], "
        "young_modulus: 7.0e+10, density: 2700, modes: 3, theory: timoshenko}\n"
    )
    made = mb.load_scene(tmp_path / "arm.yaml")
    mb.model.save_scene(made, tmp_path / "again.yaml")
    assert mb.load_scene(tmp_path / "again.yaml").models == made.models
    world = mb.build_world(made)
    assert world.joint_names == ("shoulder", "elbow", "fore/mode_1", "fore/mode_2", "fore/mode_3", "wrist")
    assert np.allclose(world.q0[2:5], [0.0, 0.001, 0.0]) and not world.effort_limit[2:5].any()
    assert {"fore", "fore/mid", "fore/node_1"} <= set(world.frames)


def test_many_worlds_move_as_one():
    """The arm in Worlds: each goes as a Simulator from the same state, to the last bit."""
    robot = mb.model.SceneModel(ARM, flexible_links={"fore": flexible()})
    made = mb.Scene(models=(robot,))
    sim, worlds = mb.Simulator(made), mb.Worlds(made, 2)
    for _ in range(20):
        sim.step()
    worlds.step(steps=20)
    assert np.array_equal(worlds.q[0], sim.q) and np.array_equal(worlds.q[1], sim.q)


@pytest.mark.parametrize(("settings", "message"), [
    ({"integrator": "midpoint"}, "flexible_links: needs integrator semi_implicit_euler, rk4 or adaptive, got midpoint"),
    ({"solver": "lemke"}, "rigid bodies only"),
])  # fmt: skip
def test_what_cannot_be_used_with_flexible_links_is_refused(settings, message):
    with pytest.raises(SceneError, match=message):
        mb.build_world(scene(CLAMPED, "rod", flexible(), **settings))


def test_rk4_is_refused_where_it_would_blow_up():
    """omega dt above 2.83 makes its steps grow; the message says which step is short enough."""
    made = scene(CLAMPED, "rod", flap(modes=4), integrator="rk4", time_step=1e-3)
    with pytest.raises(SceneError, match="take a time_step below 0.00095 s"):
        mb.Simulator(made)


@pytest.mark.parametrize(("spec", "message"), [
    (mb.model.FlexibleLink(), "give beam or file"),
    (flexible(section="plate"), "'plate' is not known"),
    (flexible(size=(0.1,)), "size \\[width, height\\]"),
    (flexible(up=(1.0, 0.0, 0.0)), "along the beam"),
    (flexible(modes=11), "from 1 to 10"),
    (flexible(motions=("sway",)), "'sway' is not known"),
    (flexible(root="free", static_modes=True), "of root free has no static_modes; leave it out, or set root: clamped"),
])  # fmt: skip
def test_wrong_flexible_links_are_refused(spec, message):
    with pytest.raises(SceneError, match=message):
        mb.build_world(scene(CLAMPED, "rod", spec))


def test_links_that_cannot_be_flexible_are_refused(tmp_path):
    with pytest.raises(ModelError, match="no link 'bar' that could be flexible"):
        mb.build_world(scene(CLAMPED, "bar", flexible()))
    with pytest.raises(ModelError, match="stands on the world"):
        mb.build_world(scene(LOOSE, "rod", flexible()))
    with pytest.raises(ModelError, match="has no mass; give its beam a density"):
        mb.build_world(scene(CLAMPED, "rod", flexible(density=None)))
    body, _ = beam_body(strip(), 0.0, [], np.zeros(3))
    write_modal_body(tmp_path / "strip.npz", body)
    with pytest.raises(ModelError, match="where no point is"):
        mb.load_urdf(ARM, flexible_links={"fore": mb.model.FlexibleLink(file=str(tmp_path / "strip.npz"))})
    (tmp_path / "bad.yaml").write_text("mass: [1.0]\n")
    with pytest.raises(ModelError, match="'position' is missing"):
        mb.load_urdf(ARM, flexible_links={"fore": mb.model.FlexibleLink(file=str(tmp_path / "bad.yaml"))})
