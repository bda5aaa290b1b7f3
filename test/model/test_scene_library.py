# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The scenes of config/: each says what it shows, names its schema, and does what it says."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.builtin.wheel import ALUMINIUM, FILES, RUBBER
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.shapes.looks import read_painted
from paths import ROOT
from scenes.mesh_bodies import gear, mug
from scenes.shipped_scenes import CONFIG, SCENES

TOLERANCE = 1e-9  #: residual of a solved step [sqrt(N s m/s)]
G = 9.81

sys.path.insert(0, str(ROOT / "benchmarks"))
from bin import outside, run, scene_text, side_of  # noqa: E402 (a program, not a package)


def simulate(name, seconds, watch=None):
    """The simulator after so many seconds, every step of them solved."""
    sim = mb.Simulator(CONFIG / name)
    for _ in range(round(seconds / sim.time_step)):
        step = sim.step()
        certificate = step.certificate
        assert max(certificate.complementarity_gap, certificate.infeasibility) <= TOLERANCE, (sim.time, certificate)
        if watch is not None:
            watch(sim, step)
    return sim


def place(sim, link):
    return sim.link_pose(link)[0]


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_names_its_schema_and_says_what_it_shows(name):
    head = [line for line in (CONFIG / name).read_text().splitlines()[:8] if line.startswith("#")]
    assert "# yaml-language-server: $schema=scene.schema.json" in head
    assert len(" ".join(head[4:])) > 40


@pytest.mark.parametrize("file", sorted(FILES))
def test_the_pieces_of_the_wheel_are_those_of_their_program(file):
    assert (ROOT / "urdf" / file).read_text() == FILES[file](), "python -m mb_contact.model.builtin.wheel urdf"


@pytest.mark.parametrize("file, colour", [("wheel_tyre.obj", RUBBER), ("wheel_rim.obj", ALUMINIUM)])
def test_meshes_of_the_wheel_have_their_colours_for_viewers_that_do_without_the_urdfs(file, colour):
    (part,), missing = read_painted(ROOT / "urdf" / file)
    assert not missing
    np.testing.assert_allclose(part.colour[:3], colour, atol=0.5 / 255.0)


def vertices_of(name):
    """Vertices (v, 3) of a mesh file of the library."""
    lines = (CONFIG / "meshes" / name).read_text().splitlines()
    return np.array([line.split()[1:] for line in lines if line.startswith("v ")], dtype=float)


def test_mugs_hang_on_their_hooks():
    """Each handle stays around its hook; the mesh is that of its function."""
    np.testing.assert_allclose(vertices_of("mug.obj"), np.unique(mug().reshape(-1, 3).round(5), axis=0), atol=1e-12)

    def watch(sim, _):
        if sim.step_count % 20 == 0:
            for side, x in (("left", -0.21), ("middle", 0.0), ("right", 0.21)):
                p, quaternion = sim.link_pose(f"{side}_mug")
                hook = quat_to_matrix(quaternion).T @ ((x, 0.0, 0.24) - p)
                assert np.hypot(hook[0] - 0.038, hook[2] - 0.047) < 0.0205  # of the handle's hole, 25 mm less 5

    sim = simulate("mugs_on_hooks.yaml", 1.0, watch)
    assert np.abs(sim.v).max() > 0.5  # they still swing


def test_a_mug_that_starts_deep_in_its_hook_says_so_and_comes_out():
    """The shipped ones start beside their hooks and end in them by no more than 10 nm."""
    sim = mb.Simulator(CONFIG / "mugs_on_hooks.yaml")
    assert min(sim.step().certificate.end_gap for _ in range(50)) > -1e-8
    sim = mb.Simulator(CONFIG / "mugs_on_hooks.yaml")
    sim.set_object("right_mug", ((0.18596, 0.0, 0.16505), (0.0, np.sin(-0.1354), 0.0, np.cos(-0.1354))))
    ends = []
    for _ in range(20):
        certificate = sim.step().certificate
        ends.append(certificate.end_gap)
        assert certificate.deepest_pair == ("right_hook, right_mug" if ends[-1] < -1e-6 else "")
    assert -1.8e-3 < ends[0] < -1.6e-3 and np.all(np.diff(ends[:15]) > 0.0) and ends[-1] > -1e-8


def test_wheels_with_teeth_keep_their_ratio():
    """The meshes are those of their function; wheels turn as their teeth say, but for the play between them."""
    for teeth in (18, 27):
        expected = np.unique(gear(teeth).round(6).reshape(-1, 3), axis=0)
        np.testing.assert_allclose(vertices_of(f"gear_{teeth}.obj"), expected, atol=1e-12)
    apart = []

    def watch(sim, _):
        first, second, third = sim.q
        apart.append((first + second * 18 / 27, first - third))

    sim = simulate("gears.yaml", 0.4, watch)
    assert sim.q[0] < 0.0 < sim.q[1]  # the pendulum has gone through its lowest place
    play = 4e-4 / 0.045  # of involutes, as an angle of the first [rad]; two chords a flank, 0.2 mm inside, add to it
    assert play < np.ptp(np.array(apart)[:, 0]) < 2.0 * play and np.ptp(np.array(apart)[:, 1]) < 4.0 * play


def test_everything_stays_on_the_table_and_comes_to_rest():
    sim = simulate("table_top.yaml", 2.5)
    for name in sim.world.objects:
        x, y, z = place(sim, name)
        assert abs(x) < 0.45 and abs(y) < 0.3 and z > 0.72
    assert np.abs(sim.v).max() < 1e-3
    assert place(sim, "ball")[0] < 0.15  # it has rolled


def test_the_stack_of_the_library_stands():
    sim = simulate("box_stack.yaml", 1.0)
    for i in range(10):
        assert np.abs(place(sim, f"box_{i + 1}") - [0.0, 0.0, 0.05 + 0.1 * i]).max() <= 1e-4


def test_on_the_ramp_each_goes_its_own_way():
    slope, seconds = np.radians(20.0), 0.5
    start = {name: place(mb.Simulator(CONFIG / "ramp.yaml"), name)
             for name in ("rubber_block", "wooden_block", "ice_block", "roller", "ball")}  # fmt: skip
    sim = simulate("ramp.yaml", seconds)
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    way = {name: float((place(sim, name) - p) @ down) for name, p in start.items()}
    fall = 0.5 * G * np.sin(slope) * seconds * (seconds + sim.time_step)
    assert abs(way["rubber_block"]) < 1e-4
    assert way["wooden_block"] == pytest.approx(fall * (1.0 - 0.3 / np.tan(slope)), rel=1e-3)
    assert way["ice_block"] == pytest.approx(fall, rel=1e-3)
    assert way["roller"] == pytest.approx(2.0 / 3.0 * fall, rel=1e-3)
    assert way["ball"] == pytest.approx(5.0 / 7.0 * fall, rel=1e-3)


def test_the_wedge_of_the_library_is_jammed():
    sim = simulate("wedge.yaml", 0.5)
    assert np.abs(place(sim, "wedge") - [0.0, 0.0, 0.08]).max() <= 1e-4
    force = quat_to_matrix(sim.link_pose("wedge")[1]) @ sim.contact_impulse("wedge")[3:] / sim.time_step
    np.testing.assert_allclose(force, [0.0, 0.0, 2.0 * G], atol=2e-3 * G)


def test_the_can_falls_and_lies_still_and_the_capsule_rolls_on():
    sim = simulate("falling_can.yaml", 2.0)
    p, quat = sim.link_pose("can")
    assert abs(quat_to_matrix(quat)[2, 2]) < 1e-3 and p[2] == pytest.approx(0.03, abs=1e-4)
    assert np.abs(sim.v[:6]).max() < 1e-3
    assert place(sim, "capsule") == pytest.approx([0.6, 0.2, 0.03], abs=1e-3)


def test_the_peg_goes_to_the_bottom_of_the_hole():
    sim = simulate("peg_in_hole.yaml", 1.5)
    x, y, z = sim.joint_positions()
    assert z == pytest.approx(-0.07, abs=1e-4)  # 10 mm of air, 60 mm of hole
    assert abs(x + 0.004) < 2.1e-4 and abs(y + 0.003) < 2.1e-4  # within the play of 0.2 mm
    assert np.abs(sim.v).max() < 1e-3


def test_the_drawer_opens_and_stops_where_friction_holds_the_spring():
    sim = simulate("drawer.yaml", 2.5)
    (opening,) = sim.joint_positions()
    assert abs(opening - 0.25) <= 3.0 / 80.0 + 1e-6
    assert abs(sim.joint_velocities()[0]) < 1e-6
    for name in ("box", "ball", "can"):
        x, y, z = place(sim, name) - place(sim, "drawer")
        assert -0.19 < x < 0.2 and abs(y) < 0.2 and 0.01 < z < 0.11


def test_the_quadruped_of_the_library_comes_to_rest_on_four_feet_that_carry_it():
    sim = simulate("standing_quadruped.yaml", 5.0)
    p, quat = sim.link_pose("trunk")
    assert quat_to_matrix(quat)[2, 2] > 0.999 and 0.38 < p[2] < 0.402  # its actuators give way a little
    assert np.abs(sim.v).max() < 2e-3
    feet = [(quat_to_matrix(sim.link_pose(f"{leg}_shank")[1]) @ sim.contact_impulse(f"{leg}_shank")[3:])[2]
            for leg in ("lf", "rf", "lh", "rh")]  # fmt: skip
    assert sum(feet) / sim.time_step == pytest.approx(20.0 * G, rel=1e-3)
    assert feet[0] == pytest.approx(feet[1], rel=1e-6) and feet[2] == pytest.approx(feet[3], rel=1e-6)


def test_the_wheel_hangs_on_its_studs_until_it_is_pulled_off():
    sim = simulate("wheel_and_hub.yaml", 0.5)
    start = mb.Simulator(CONFIG / "wheel_and_hub.yaml")
    for name in sim.world.objects:
        assert np.linalg.norm(place(sim, name) - place(start, name)) < 2e-3
    assert np.abs(sim.v).max() < 1e-2
    sim.set_external_wrench("wheel", [0.0, 0.0, 0.0, 150.0, 0.0, 0.0], duration=0.15)
    for _ in range(500):
        sim.step()
    assert place(sim, "wheel")[0] > 0.1
    assert all(place(sim, f"nut_{k}")[2] < 0.3 for k in range(1, 6))  # the wheel has swept the nuts off


def test_the_bin_is_what_its_program_writes():
    assert (CONFIG / "bin_of_200.yaml").read_text() == scene_text(200), "python benchmarks/bin.py --write FILE"


@pytest.mark.long
def test_mixed_bodies_fall_into_a_bin_and_lie_still_in_it():
    # Chaotic, and what rolls to and fro between two others loses next to nothing: still by 1.8 s, 2.0 s, 6.4 s.
    sim, worst, deepest, lost, solvers, _, rests = run(36, 15.0, say=lambda line: None)
    assert rests and not lost and not outside(sim, 0.06 * side_of(36))
    assert worst <= 10.0 * TOLERANCE
    assert solvers["over_budget"] <= 20  # 0 to 12 in all: a pile is chaotic (design.md, "The tolerance")
    assert solvers["newton"] > 10
    assert deepest < 4e-3
