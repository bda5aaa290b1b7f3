# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The scene key ``elimination: modified_abm``: simulations whose small inertias keep their digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, SceneModel
from paths import CONFIG

LIGHT = 1e-12  #: of the first link beside its load [kg]


def stiff_chain(rpy, **settings):
    """A link of 1e-12 kg with one of 1 kg on a hinge in line with its own, without gravity, turned as a whole."""
    def link(name, mass):
        moments = " ".join(f'{axis}="{0.01 * mass}"' for axis in ("ixx", "iyy", "izz"))
        return (
            f'<link name="{name}"><inertial><origin xyz="0 0 0.25"/><mass value="{mass}"/>'
            f"<inertia {moments}/></inertial></link>"
        )

    hinge = (
        '<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/><origin xyz="0 0 {3}"/>'
        '<axis xyz="0 0 1"/></joint>'
    )
    text = (
        f'<robot name="r"><link name="base"/>{link("a", LIGHT)}{link("b", 1.0)}{hinge.format("j1", "base", "a", 0.0)}'
        f'{hinge.format("j2", "a", "b", 0.5)}</robot>'
    )
    start = {"joints": {"j2": 0.7}, "velocities": {"j1": 1.0, "j2": -2.0}}
    model = SceneModel(text, pose=Pose(rpy=rpy), **start)
    return Scene(models=(model,), gravity=(0.0, 0.0, 0.0), **settings)


def motion(rpy, **settings):
    """Angles and rates over 100 steps under an effort that the light link feels."""
    sim = mb.Simulator(stiff_chain(rpy, **settings))
    out = []
    for _ in range(100):
        sim.step([1e-14, 0.0])
        out.append(np.concatenate((sim.q, sim.v)))
    return np.array(out)


def test_a_turned_chain_moves_as_the_one_along_the_axes():
    """Nothing but rounding tells the two apart: along the world's axes no entry is a difference of large ones."""
    straight = motion((0.0, 0.0, 0.0))
    turned = (0.4, 0.7, -1.1)
    plain, robust = (np.abs(motion(turned, elimination=name) - straight).max() for name in ("abm", "modified_abm"))
    scale = np.abs(straight).max()
    assert robust <= 1e-9 * scale and plain > 100.0 * robust, (plain / scale, robust / scale)


@pytest.mark.parametrize("name", ["box_on_table", "four_bar_gripper", "dual_arm_lift"])
def test_usual_scenes_move_as_ever(name):
    """Contacts, loops, springs and joint friction behind the other sweep."""
    scene = mb.load_scene(CONFIG / f"{name}.yaml")
    usual, robust = mb.Simulator(scene), mb.Simulator(replace(scene, elimination="modified_abm"))
    for _ in range(60):
        usual.step()
        certificate = robust.step().certificate
        assert certificate.residual <= 1e-9
    np.testing.assert_allclose(robust.q, usual.q, atol=1e-9)
    np.testing.assert_allclose(robust.v, usual.v, atol=1e-7)


def test_what_takes_the_plain_sweep_is_refused():
    with pytest.raises(mb.SceneError, match="'modified_abm' needs integrator semi_implicit_euler, got"):
        mb.Simulator(stiff_chain((0.0, 0.0, 0.0), elimination="modified_abm", integrator="rk4"))
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 1.0)), "free", 1.0, material="rubber")
    bouncing = Scene(primitives=(ball,), ground=Ground(0.0, "rubber"), materials={"rubber": Material(restitution=0.5)})
    with pytest.raises(mb.SceneError, match="impacts need the rows and the sweep of the usual steps"):
        mb.Simulator(replace(bouncing, elimination="modified_abm"))
