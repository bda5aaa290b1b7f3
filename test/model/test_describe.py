# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What `mb-contact info` prints about a robot: tree, segments, sparsity, masses, warnings."""

from __future__ import annotations

import re

import pytest

import mb_contact as mb
from mb_contact import cli
from mb_contact.model.describe import describe_model
from scenes.robots import DUAL_ARM, ROBOTS, SOLID, chain, load, path_of


def info(capsys, *arguments):
    code = cli.main(["info", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert code == 0 and not err
    return out.splitlines()


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
    file.write_text(chain(1, '<inertial><mass value="1"/></inertial>'))
    assert cli.main(["info", str(file)]) == 2
    assert "joint 'j1' moves link 'l1', which has no inertia along that motion" in capsys.readouterr().err


def test_joints_that_move_no_mass_are_held_and_named(capsys, tmp_path):
    file = tmp_path / "ghosts.urdf"
    file.write_text(chain(2, ""))
    assert info(capsys, file)[-1].endswith("load_urdf(..., massless='merge')")


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
