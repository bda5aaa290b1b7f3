# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What `mb-contact info` prints about a robot: tree, segments, sparsity, masses, warnings."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mb_contact as mb
from mb_contact import cli
from mb_contact.model.describe import describe_model
from mb_contact.model.segments import depth, mass_matrix_nonzeros, segment_pattern, serial_segments
from mb_contact.studies.sko.digraph import TreeDigraph
from mb_contact.studies.sko.pattern import expand, mass_pattern
from oracles.pinocchio_peer import example_robots
from paths import ROOT

DUAL_ARM = ROOT / "urdf" / "dual_arm.urdf"
ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",  # mimic joint, meshes
    "tiago": "tiago_description/robots/tiago_dual.urdf",  # indefinite inertias, 101 joints
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",  # singular inertias
    "icub": "icub_description/robots/icub.urdf",
}
SOLID = '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'


def path_of(name):
    folder = example_robots()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    return folder / ROBOTS[name]


def load(path, floating=False):
    options = {"collision_meshes": "warn", "mimic": "independent", "inertia_errors": "warn"}
    return mb.load_urdf(path, floating=floating, **options)


def info(capsys, *arguments):
    code = cli.main(["info", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert code == 0 and not err
    return out.splitlines()


def chain(n, link=SOLID):
    """URDF text of n hinges in a row."""
    text = ['<robot name="chain"><link name="l0"/>']
    for k in range(1, n + 1):
        text.append(
            f'<link name="l{k}">{link}</link><joint name="j{k}" type="continuous"><parent link="l{k - 1}"/>'
            f'<child link="l{k}"/></joint>'
        )
    return "\n".join([*text, "</robot>"])


# --- segments: the same as the paper's operators say ---------------------------------------------------


@pytest.mark.parametrize("name", ["dual arm", *ROBOTS])
@pytest.mark.parametrize("floating", [False, True])
def test_segments_and_nonzeros_are_those_of_the_sko_model(name, floating):
    model = load(DUAL_ARM if name == "dual arm" else path_of(name), floating)
    digraph = TreeDigraph(model.tree.parent)
    segments = serial_segments(model.tree)
    assert tuple(segment.bodies for segment in segments) == digraph.segments
    assert depth(segments) == max(len(digraph.path(k)) for k in range(model.n))
    elements = expand(mass_pattern(digraph), model.tree.nv)
    assert mass_matrix_nonzeros(segments) == elements.sum()
    blocks = expand(segment_pattern(segments), [len(segment.bodies) for segment in segments])
    order = [k for segment in segments for k in segment.bodies]
    np.testing.assert_array_equal(blocks, mass_pattern(digraph)[np.ix_(order, order)])


def test_the_mass_matrix_has_no_entry_outside_the_prediction():
    model = load(path_of("panda"))
    M = mb.mass_matrix(model, np.linspace(0.1, 0.9, model.N))
    assert np.count_nonzero(M) <= mass_matrix_nonzeros(serial_segments(model.tree)) < M.size


# --- the text --------------------------------------------------------------------------------------------


def test_totals_sparsity_and_blocks_of_the_dual_arm(capsys):
    lines = info(capsys, DUAL_ARM)
    assert lines[0].startswith("robot 'dual_arm': 26 moving bodies, 26 degrees of freedom, 34 links")
    assert lines[1] == "mass: 39.740 kg moving, 65.000 kg on the inertial frame, 104.740 kg in all"
    assert "depth: 9 bodies; 9 serial-chain segments" in lines
    assert "mass matrix: 238 of 676 entries can differ from zero (35.2 %)" in lines
    assert "  2  . X X X X . . . .  7 dof" in lines
    assert lines[-1] == "no warnings"


def test_every_body_stands_below_its_segment(capsys):
    lines = info(capsys, path_of("panda"))
    tree = lines[lines.index("panda_link0 (welded)") + 1 :]
    assert tree[0] == "`- segment 1, 7 bodies"
    assert tree[1].startswith("   panda_link1 <- panda_joint1 (revolute -2.897 to 2.897 rad, 87 N m), 4.97 kg")
    assert tree[8] == "   |- segment 2, 1 body" and tree[9].startswith("   |  panda_leftfinger <- ")
    assert tree[10] == "   `- segment 3, 1 body" and tree[11].startswith("      panda_rightfinger <- ")


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("floating", [False, True])
def test_info_refuses_no_real_robot(capsys, name, floating):
    lines = info(capsys, path_of(name), *(["--floating"] if floating else []))
    model = load(path_of(name), floating)
    for body, joint in zip(model.body_names, model.body_joint_names):
        assert sum(f"{body} <- {joint} (" in line for line in lines) == 1
    total = float(re.search(r"kg on the inertial frame, (\S+) kg in all", lines[1]).group(1))
    both = [load(path_of(name), base) for base in (False, True)]
    assert total == pytest.approx(both[1].tree.mass.sum(), abs=1e-3)  # floating, every link moves
    assert both[0].tree.mass.sum() + both[0].still_mass == pytest.approx(both[1].tree.mass.sum(), rel=1e-12)


def test_warnings_come_last_grouped_and_with_the_remedy(capsys):
    lines = info(capsys, path_of("tiago"))
    start = next(i for i, line in enumerate(lines) if line.endswith("warnings:"))
    report = lines[start:]
    count = int(report[0].split()[0])
    assert count == len(load(path_of("tiago")).warnings) > 10
    assert len(report) < 20
    told = sum(int(re.match(r"warning \((\d+) like", line).group(1)) if "like this" in line else 1
               for line in report if line.startswith("warning"))
    assert told == count  # none is lost
    assert "the inertia is indefinite" in "\n".join(report)
    assert report[-1].endswith("load_urdf(..., inertia_errors='warn')")
    mb.load_urdf(path_of("tiago"), inertia_errors="warn")  # what it recommends works


def test_a_singular_inertia_is_a_warning_and_no_option_is_needed(capsys, tmp_path):
    file = tmp_path / "rod.urdf"
    file.write_text(chain(1, SOLID.replace('izz="0.1"', 'izz="0"')))
    lines = info(capsys, file)
    assert lines[-2] == "1 warning:"
    assert "rod.urdf:2: link 'l1': the inertia is singular, moments 0, 0.1, 0.1 kg m^2" in lines[-1]
    mb.load_urdf(file)


def test_a_file_that_cannot_be_used_is_still_an_error(capsys, tmp_path):
    file = tmp_path / "empty.urdf"
    file.write_text(chain(1, ""))
    assert cli.main(["info", str(file)]) == 2
    assert "joint 'j1' moves link 'l1', which has no mass and none below it" in capsys.readouterr().err


def test_a_chain_of_1500_bodies_prints(capsys, tmp_path):
    file = tmp_path / "chain.urdf"
    file.write_text(chain(1500))
    lines = info(capsys, file)
    assert "`- segment 1, 1500 bodies" in lines
    assert sum(" <- " in line for line in lines) == 1500
    assert max(map(len, lines)) < 120
    assert "mass matrix: 2250000 of 2250000 entries can differ from zero (100.0 %)" in lines


def test_a_tree_that_branches_at_every_body_prints():
    """No recursion: 1200 branchings above each other."""
    text = ['<robot name="comb"><link name="l0"/>']
    for k in range(1, 1201):
        for name, parent in ((f"l{k}", f"l{k - 1}"), (f"side{k}", f"l{k - 1}")):
            text.append(f'<link name="{name}">{SOLID}</link><joint name="j_{name}" type="continuous">'
                        f'<parent link="{parent}"/><child link="{name}"/></joint>')
    model = mb.load_urdf("".join([*text, "</robot>"]))
    lines = describe_model(model)
    assert sum(" <- " in line for line in lines) == 2400
    assert "depth: 1200 bodies; 2400 serial-chain segments" in lines
    assert "(no picture of the blocks: more than 40 segments)" in lines


def test_a_robot_without_joints_prints():
    model = mb.load_urdf(f'<robot name="block"><link name="base">{SOLID}</link></robot>')
    lines = describe_model(model)
    assert lines[1] == "mass: 0.000 kg moving, 2.000 kg on the inertial frame, 2.000 kg in all"
    assert "nothing moves" in lines and lines[-1] == "no warnings"
