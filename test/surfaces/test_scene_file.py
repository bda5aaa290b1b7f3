# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of smooth surfaces: the file, its errors, and the simulator behind the node's interface.

Covers simulation/surfaces/simulator.py, simulation/surfaces/world.py, surfaces/scene_build.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact import cli
from mb_contact.errors import InputError, SceneError
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.simulation.surfaces.simulator import SurfaceSimulator, surface_simulator
from mb_contact.surfaces.scene_build import build_tree, describe_surface_scene
from mb_contact.surfaces.scene_file import is_surface_scene, load_surface_scene
from scenes.surface_scene_files import GOOD, TREE, WRONG, WRONG_TREE

PATCH = "package://mb_contact/config/bezier_patch.yaml"


def write(folder, text):
    """A scene file."""
    file = folder / "scene.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_shipped_scene_is_figure_2():
    assert is_surface_scene(PATCH)
    tree = build_tree(load_surface_scene(PATCH))
    assert tree.mode_name("upper") == "sliding" and tree.contacts[0].friction == 0.0
    assert tree.contact_wrench("upper")[1] > 0.0 and abs(tree.gap("upper")) < 1e-14
    assert any("touches" in line for line in describe_surface_scene(PATCH))


def test_a_scene_is_built_as_it_says(tmp_path):
    tree = build_tree(load_surface_scene(write(tmp_path, GOOD)))
    _, p, w, v = tree.body_motion("ball")
    np.testing.assert_allclose(w, (0.0, 3.0, 0.0), atol=1e-13)
    assert np.linalg.norm(p - (0.0, 0.0, 1.0)) == pytest.approx(0.9, rel=1e-14) and p[0] == pytest.approx(0.3)
    arm = tree.contact_point("ball")[0] - p
    np.testing.assert_allclose(v + np.cross(w, arm), 0.0, atol=1e-13)  # it rolls
    sliding = build_tree(load_surface_scene(write(tmp_path, GOOD.replace("rolling", "sliding"))))
    _, p, w, v = sliding.body_motion("ball")
    normal = sliding.contact_point("ball")[1]
    np.testing.assert_allclose(w, (0.0, 3.0, 0.0), atol=1e-13)
    np.testing.assert_allclose(v, normal * (normal @ v), atol=1e-13)  # its centre was given no velocity
    flying = build_tree(load_surface_scene(write(tmp_path, GOOD.replace("rolling", "free"))))
    assert flying.mode_name("ball") == "free" and flying.gap("ball") == pytest.approx(0.9 - np.hypot(0.3, 0.2))


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_scene_names_file_line_and_key(tmp_path, case):
    old, new, words = WRONG[case]
    assert old in GOOD
    with pytest.raises(SceneError, match=words) as error:
        build_tree(load_surface_scene(write(tmp_path, GOOD.replace(old, new))))
    assert "scene.yaml" in str(error.value)


def test_simulator_hands_out_what_the_node_needs(tmp_path):
    simulator = SurfaceSimulator(write(tmp_path, GOOD))
    assert set(simulator.world.objects) == {"ball", "bowl"} and simulator.scene.contact_wrench_links == ("ball",)
    start = simulator.link_pose("ball")
    for _ in range(50):
        step = simulator.step()
    assert simulator.time == pytest.approx(0.1) and step.time == simulator.time
    (contact,) = step.contacts
    assert (contact["link_a"], contact["link_b"], contact["state"]) == ("ball", "bowl", "stick")
    assert step.certificate.residual < 1e-7 and step.certificate.penetration < 1e-14
    assert step.certificate.energy_balance == pytest.approx(0.0, abs=1e-9)
    position, quaternion = simulator.link_pose("ball")
    impulse = simulator.contact_impulse("ball")
    R = quat_to_matrix(quaternion)
    np.testing.assert_allclose(R @ impulse[3:], contact["impulse"], rtol=0.05, atol=1e-3)
    np.testing.assert_allclose(simulator.contact_impulse("bowl")[3:], -R @ impulse[3:], atol=1e-13)
    arm = contact["point"] - position
    np.testing.assert_allclose(R @ impulse[:3], np.cross(arm, R @ impulse[3:]), atol=2e-4)
    simulator.reset()
    for was, now in zip(start, simulator.link_pose("ball")):
        np.testing.assert_array_equal(now, was)
    with pytest.raises(InputError, match="no joints"):
        simulator.step([1.0])
    with pytest.raises(InputError, match="no body"):
        simulator.link_pose("cup")


def test_run_and_check_take_the_scene(capsys):
    assert cli.main(["check", PATCH]) == 0
    assert "Surface('upper'" in capsys.readouterr().out
    assert cli.main(["run", PATCH, "--duration", "0.05", "--as-fast-as-possible", "--backend", "embedded"]) == 0
    assert "simulated 0.050 s" in capsys.readouterr().err


def test_run_says_what_is_wrong(tmp_path, capsys):
    assert cli.main(["run", str(write(tmp_path, GOOD.replace("mass: 2.0", "mass: x")))]) == 2
    assert "scene.yaml:13" in capsys.readouterr().err


# --- contacts in a tree ------------------------------------------------------------------------------

DISH = "package://mb_contact/config/ball_in_dish.yaml"


def test_a_tree_is_built_as_its_scene_says(tmp_path):
    tree = build_tree(load_surface_scene(write(tmp_path, TREE)))
    np.testing.assert_allclose(tree.q[:2], (0.0, 0.1))
    np.testing.assert_allclose(tree.v[:2], (1.0, 0.0))
    assert [tree.mode_name(name) for name in ("tray", "ball")] == ["sliding", "rolling"]
    for name, w in (("tray", (0.0, 0.0, 2.0)), ("ball", (1.0, 2.0, 3.0))):
        np.testing.assert_allclose(tree.velocity(name)[0], w, atol=1e-12)
        R, p = tree.pose(name)
        np.testing.assert_allclose(R, np.eye(3), atol=1e-12)
        assert abs(tree.gap(name)) < 1e-13
    np.testing.assert_allclose(tree.pose("ball")[1][:2], (0.55, 0.05), atol=1e-12)
    point, normal = tree.contact_point("tray")
    w, v = tree.velocity("tray")
    plate_w, plate_v = tree.velocity("plate")
    arm = point - tree.pose("plate")[1]
    given = (0.3, 0.0, 0.0) - plate_v - np.cross(plate_w, point - tree.pose("plate")[1])
    along = np.eye(3) - np.outer(normal, normal)
    got = v - plate_v - np.cross(plate_w, arm)
    np.testing.assert_allclose(along @ got, along @ given, atol=1e-12)  # the part of its velocity along the surface
    np.testing.assert_allclose(tree.slip("ball"), 0.0)


@pytest.mark.parametrize("case", WRONG_TREE)
def test_a_wrong_tree_names_file_line_and_key(tmp_path, case):
    old, new, words = WRONG_TREE[case]
    assert old in TREE
    with pytest.raises(SceneError, match=words) as error:
        build_tree(load_surface_scene(write(tmp_path, TREE.replace(old, new))))
    assert "scene.yaml" in str(error.value)


def test_simulator_of_a_tree_hands_out_joints_and_contacts(tmp_path):
    simulator = SurfaceSimulator(write(tmp_path, TREE))
    assert simulator.world.joint_names == ("shoulder", "wrist") and set(simulator.world.objects) == {"tray", "ball"}
    total, push = np.zeros(3), 0.0
    masses = {"tray": 1.0, "ball": 0.2}
    before = {name: momentum(simulator.tree, name, mass) for name, mass in masses.items()}
    for _ in range(20):
        step = simulator.step([0.1, -0.2])
        R = quat_to_matrix(simulator.link_pose("plate")[1])
        total += R @ simulator.contact_impulse("plate")[3:]
        push += simulator.contact_impulse("ball")[3:] @ (quat_to_matrix(simulator.link_pose("ball")[1]).T[:, 2])
    gained = sum(momentum(simulator.tree, name, mass) - before[name] for name, mass in masses.items())
    gained += [0.0, 0.0, 1.2 * 9.81 * simulator.time]
    np.testing.assert_allclose(total, -gained, atol=1e-12)  # the plate feels what both have taken up
    assert push > 0.0 and simulator.time == pytest.approx(0.04)
    assert {(row["link_a"], row["link_b"], row["state"]) for row in step.contacts} == {
        ("tray", "plate", "slip"), ("ball", "tray", "stick")}  # fmt: skip
    assert step.certificate.penetration < 1e-12 and step.certificate.residual < 1e-6
    M, C = simulator.mass_matrix(), simulator.nonlinear_effects()
    assert M.shape == (2, 2) and np.linalg.eigvalsh(M)[0] > 0.0 and np.isfinite(C).all()
    simulator.reset()
    assert simulator.time == 0.0 and simulator.joint_velocities()[0] == 1.0
    with pytest.raises(InputError, match="effort"):
        simulator.step([1.0])
    with pytest.raises(InputError, match="no body 'cup'"):
        simulator.link_pose("cup")


def momentum(tree, name, mass):
    """Of a body whose centre of mass is its origin."""
    return mass * tree.velocity(name)[1]


@pytest.mark.parametrize("text", [GOOD, TREE], ids=["motion", "tree"])
def test_a_saved_simulator_goes_on_bit_for_bit(tmp_path, text):
    scene = write(tmp_path, text)
    simulator = surface_simulator(scene)
    body = "ball"
    for _ in range(30):
        simulator.step()
    state = simulator.save()
    steps = [simulator.step() for _ in range(30)]
    want = *simulator.link_pose(body), simulator.contact_impulse(body), simulator.time, steps[-1].certificate
    for again in (simulator, surface_simulator(scene)):
        again.restore(state)
        for _ in range(30):
            last = again.step()
        for was, now in zip(want[:3], (*again.link_pose(body), again.contact_impulse(body))):
            np.testing.assert_array_equal(now, was)
        assert (again.time, last.certificate) == want[3:]


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (GOOD, "sphere: 0.1", "sphere: 0.2", "other surfaces"),
        (GOOD, "mass: 2.0", "mass: 2.5", "other masses"),
        (GOOD, "restitution: 0.5", "restitution: 0.4", "other restitution: it has 0.5, this one 0.4"),
        (TREE, "friction: 0.3", "friction: 0.4", "other contacts"),
        (TREE, "mass: 0.2", "mass: 0.3", "other masses"),
    ],
)
def test_a_state_of_another_scene_is_refused(tmp_path, text, old, new, words):
    state = surface_simulator(write(tmp_path, text)).save()
    other = surface_simulator(write(tmp_path, text.replace(old, new)))
    before = other.link_pose("ball")
    for wrong, message in ((state, words), (3, "needs a State"), (SurfaceSimulator(PATCH).save(), "other ")):
        with pytest.raises(InputError, match=message):
            other.restore(wrong)
    for was, now in zip(before, other.link_pose("ball")):
        np.testing.assert_array_equal(now, was)


PEBBLE = "package://mb_contact/config/rolling_pebble.yaml"


@pytest.mark.parametrize("scene", [DISH, "package://mb_contact/config/three_patches.yaml", PEBBLE])
def test_shipped_trees_are_checked_and_run(scene, capsys):
    assert is_surface_scene(scene) and cli.main(["check", scene]) == 0
    assert "friction" in capsys.readouterr().out
    assert cli.main(["run", scene, "--duration", "0.05", "--as-fast-as-possible", "--backend", "embedded"]) == 0
    assert "simulated 0.050 s" in capsys.readouterr().err


def test_ordinary_objects_beside_a_base_are_refused_with_the_remedy(tmp_path):
    file = write(tmp_path, GOOD + "\nprimitives: [{name: box, shape: box, size: [1, 1, 1]}]\n")
    with pytest.raises(SceneError, match="base: .* ordinary objects know none: leave 'primitives' out"):
        load_surface_scene(file)
