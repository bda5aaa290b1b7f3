# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A base on four wheels: as one of mecanum wheels it goes as its kinematics says, on a treadmill it stays in place."""

import itertools

import numpy as np
import pytest

import mb_contact as mb

m = mb.model
R, X, Y = 0.05, 0.2, 0.15  # radius of the wheels, and where they stand
WHEELS = {"fl": (X, Y), "fr": (X, -Y), "rl": (-X, Y), "rr": (-X, -Y)}
LEFT, RIGHT = ("fl", "rr"), ("fr", "rl")  #: wheels whose rollers lie along (1, -1), and along (1, 1)
DRIVE = {f"{name}_axle": m.Actuator("velocity", damping=50.0) for name in WHEELS}


def inertial(mass, moment):
    return (f'<inertial><mass value="{mass}"/><inertia ixx="{moment}" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" '
            'iyz="0"/></inertial>')  # fmt: skip


def base():
    """URDF text."""
    wheels = "".join(
        f'<link name="{name}">{inertial(0.5, 1e-3)}<collision><geometry><sphere radius="{R}"/></geometry></collision>'
        f'</link><joint name="{name}_axle" type="continuous"><parent link="base"/><child link="{name}"/>'
        f'<origin xyz="{x} {y} 0"/><axis xyz="0 1 0"/></joint>'
        for name, (x, y) in WHEELS.items()
    )
    return f'<robot name="base"><link name="base">{inertial(8.0, 0.2)}</link>{wheels}</robot>'


def simulator(materials, links, **more):
    model = m.SceneModel(base(), base="free", pose=m.Pose((0.0, 0.0, R)), actuators=DRIVE,
                         materials=m.scene.ModelMaterials(links=links))  # fmt: skip
    return mb.Simulator(mb.Scene(models=(model,), ground=m.Ground(material="floor"), materials=materials, **more))


@pytest.fixture(scope="module")
def mecanum():
    """Each wheel slides freely across the rollers that touch the ground, and holds along them, seen from the base."""
    rollers = {
        name: m.Material(anisotropic_friction=m.scene.AnisotropicFriction(0.0, 0.8, free, frame="base"))
        for name, free in (("left", (1.0, 1.0, 0.0)), ("right", (1.0, -1.0, 0.0)))
    }
    links = {**dict.fromkeys(LEFT, "left"), **dict.fromkeys(RIGHT, "right")}
    apart = m.scene.CollisionFilters(disable=tuple(itertools.combinations(WHEELS, 2)))
    return simulator({**rollers, "floor": m.Material(0.8)}, links, collision_filters=apart)


@pytest.mark.parametrize("vx, vy, turn", [(0.3, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 1.0), (0.2, -0.1, 0.5)])
def test_a_mecanum_base_drives_strafes_and_turns_by_its_kinematics(mecanum, vx, vy, turn):
    """Wheels turn by (v_x -+ v_y -+ (X + Y) w) / R, without slip along the rollers."""
    L = (X + Y) * turn
    rates = {"fl": vx - vy - L, "fr": vx + vy + L, "rl": vx + vy - L, "rr": vx - vy + L}
    mecanum.reset()
    mecanum.set_targets([f"{name}_axle" for name in rates], velocities=[rate / R for rate in rates.values()])
    mecanum.step(steps=500)
    yaw = 2.0 * np.arctan2(*mecanum.q[5:7])
    step = mecanum.step()  # whose contacts have the directions of its start
    c, s = np.cos(yaw), np.sin(yaw)
    v = np.array([[c, s], [-s, c]]) @ mecanum.v[3:5]
    assert [*v, mecanum.v[2]] == pytest.approx([vx, vy, turn], abs=1e-3 * max(abs(vx) + abs(vy), abs(turn)))
    assert len(step.contacts) == 4 and step.certificate.residual < 1e-9
    spins = dict(zip(mecanum.world.joint_names, mecanum.joint_velocities()))
    for name, (x, y) in WHEELS.items():
        slip = v + mecanum.v[2] * np.array([-y, x]) - (R * spins[f"{name}_axle"], 0.0)
        assert abs(slip @ ((1.0, -1.0) if name in LEFT else (1.0, 1.0))) < 1e-6


def test_on_a_treadmill_a_driving_base_stays_in_place():
    belt = m.MovingSurface("belt", "ground", linear=(-0.3, 0.0, 0.0), speed=0.0)
    sim = simulator({"floor": m.Material(0.8)}, {}, moving_surfaces=(belt,))
    axles = [f"{name}_axle" for name in WHEELS]
    for i in range(500):
        part = min(i / 250.0, 1.0)  # both come to their speeds together
        sim.set("surface_speed", part)
        sim.set_targets(axles, velocities=[part * 0.3 / R] * 4)
        step = sim.step()
    assert abs(sim.q[0]) < 2e-3 and abs(sim.v[3]) < 1e-6
    assert sim.joint_velocities() == pytest.approx([0.3 / R] * 4, abs=1e-6)
    assert all(contact["state"] == "stick" for contact in step.contacts)
