# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of smooth surfaces: the file, its errors, and the simulator behind the node's interface."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact import cli
from mb_contact.errors import InputError, SceneError
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.simulation.surface_simulator import SurfaceSimulator
from mb_contact.surfaces.scene_file import (
    build_motion,
    describe_surface_scene,
    is_surface_scene,
    load_surface_scene,
)

PATCH = "package://mb_contact/config/bezier_patch.yaml"
GOOD = """time_step: 0.002
gravity: [0, 0, -9.81]
surface_contact:
  friction: 0.4
  restitution: 0.5
  base:
    name: bowl
    surface: {sphere: 1.0, side: inner}
    pose: {position: [0, 0, 1.0]}
  body:
    name: ball
    surface: {sphere: 0.1}
    mass: 2.0
    inertia: [0.008, 0.008, 0.008]
    pose: {position: [0.3, 0, 0.8]}
    velocity: {angular: [0, 3, 0]}
    start: rolling
"""


def write(folder, text):
    """A scene file."""
    file = folder / "scene.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_shipped_scene_is_figure_2():
    assert is_surface_scene(PATCH)
    motion = build_motion(load_surface_scene(PATCH))
    assert motion.mode_name == "sliding" and motion.friction == 0.0
    assert motion.contact_force().normal_force > 0.0 and abs(motion.gap()) < 1e-14
    assert any("touches" in line for line in describe_surface_scene(PATCH))


def test_a_scene_is_built_as_it_says(tmp_path):
    motion = build_motion(load_surface_scene(write(tmp_path, GOOD)))
    p, w, v = motion.centre_of_mass()
    np.testing.assert_allclose(w, (0.0, 3.0, 0.0), atol=1e-13)
    assert np.linalg.norm(p - (0.0, 0.0, 1.0)) == pytest.approx(0.9, rel=1e-14) and p[0] == pytest.approx(0.3)
    arm = motion.contact_force().point - p
    np.testing.assert_allclose(v + np.cross(w, arm), 0.0, atol=1e-13)  # it rolls
    sliding = build_motion(load_surface_scene(write(tmp_path, GOOD.replace("rolling", "sliding"))))
    p, w, v = sliding.centre_of_mass()
    normal = sliding.contact_force().normal
    np.testing.assert_allclose(w, (0.0, 3.0, 0.0), atol=1e-13)
    np.testing.assert_allclose(v, normal * (normal @ v), atol=1e-13)  # its centre was given no velocity
    flying = build_motion(load_surface_scene(write(tmp_path, GOOD.replace("rolling", "free"))))
    assert flying.mode_name == "free" and flying.gap() == pytest.approx(0.9 - np.hypot(0.3, 0.2))


WRONG = {
    "unknown key": ("friction: 0.4", "fiction: 0.4", r":4: surface_contact.fiction: unknown key"),
    "two shapes": ("{sphere: 0.1}", "{sphere: 0.1, cylinder: 1}", r":12: .*body.surface: needs exactly one of"),
    "no shape": ("{sphere: 0.1}", "{side: outer}", r":12: .*body.surface: needs exactly one of"),
    "no inertia": ("    inertia: [0.008, 0.008, 0.008]\n", "", r"'inertia' is missing"),
    "bad inertia": ("[0.008, 0.008, 0.008]", "[0.008, 0.008, -1]", r":10: .*inertia must be symmetric"),
    "no net": ("{sphere: 0.1}", "{net: nowhere.yaml}", r":12: .*net"),
    "negative": ("mass: 2.0", "mass: -2.0", r":13: .*mass: must be greater than 0"),
    "does not touch": ("[0.3, 0, 0.8]", "[3, 0, 0.8]", r":10: .*no point in common"),
    "rolls on ice": ("friction: 0.4", "friction: 0", r":10: .*start it with slide"),
    "no body": (GOOD[GOOD.index("  body:") :], "", r":3: surface_contact: the key 'body' is missing"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_scene_names_file_line_and_key(tmp_path, case):
    old, new, words = WRONG[case]
    assert old in GOOD
    with pytest.raises(SceneError, match=words) as error:
        build_motion(load_surface_scene(write(tmp_path, GOOD.replace(old, new))))
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
