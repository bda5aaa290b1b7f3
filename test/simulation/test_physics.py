# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Laws of physics as acceptance tests: rest, slope, stopping distance, momentum, energy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, MaterialPair, Pose, Primitive, Scene, Velocity
from paths import ROOT

BOX_ON_TABLE = ROOT / "config" / "box_on_table.yaml"
G = 9.81
DT = 0.001


def free(name, shape, size, position, rpy=(0.0, 0.0, 0.0), mass=1.0, **options):
    """A free body."""
    return Primitive(name, shape, tuple(size), Pose(tuple(position), tuple(rpy)), "free", mass, **options)


def world(*bodies, mu=0.5, gravity=(0.0, 0.0, -G), ground=True, **options):
    """A simulator of free bodies above a ground, all of one material."""
    named = tuple(Primitive(**{**vars(body), "material": "stuff"}) for body in bodies)
    floor = Ground(material="stuff") if ground else None
    materials = {"stuff": Material(mu)}
    return mb.Simulator(
        Scene(primitives=named, ground=floor, materials=materials, gravity=gravity, **options)
    )


def run(sim, seconds):
    """Step on; the last Step."""
    for _ in range(round(seconds / sim.time_step)):
        step = sim.step()
    return step


def tilted(angle, heading=0.0):
    """Gravity of a slope that falls by ``angle`` towards ``heading``; the ground stays level instead."""
    down = np.sin(angle)
    return (G * down * np.cos(heading), G * down * np.sin(heading), -G * np.cos(angle))


def velocities(sim, *values):
    """Set the velocities [omega; v] of the bodies, one after the other."""
    sim.set_state(sim.q, np.concatenate(values).astype(float))


def turn(quaternion_a, quaternion_b):
    """Angle between two attitudes [rad]."""
    return (Rotation.from_quat(quaternion_a) * Rotation.from_quat(quaternion_b).inv()).magnitude()


# --- rest -----------------------------------------------------------------------------------------


def test_box_rests_on_a_table_for_10_s():
    """No drift, no sinking, and four equal, steady corner forces (the least-norm ones)."""
    sim = mb.Simulator(BOX_ON_TABLE)
    p0, quaternion0 = sim.link_pose("box")
    weight = 2.0 * G * DT
    forces, drift, angle, penetration = [], 0.0, 0.0, 0.0
    for i in range(10_000):
        step = sim.step()
        p, quaternion = sim.link_pose("box")
        drift = max(drift, np.abs(p - p0).max())
        if i % 10 == 0:
            angle = max(angle, turn(quaternion, quaternion0))
        penetration = max(penetration, step.certificate.penetration)
        assert len(step.contacts) == 4
        assert set(step.contacts["link_a"]) == {"table"}
        forces.append(-step.contacts["impulse"])  # on the box
    forces = np.array(forces)
    assert drift < 1e-4 and penetration < 1e-4 and np.degrees(angle) < 0.01
    np.testing.assert_allclose(forces[:, :, 2], weight / 4, rtol=1e-6)
    np.testing.assert_allclose(forces[:, :, :2], 0.0, atol=1e-6 * weight)
    assert np.ptp(forces[:, :, 2], axis=0).max() <= 1e-6 * weight / 4


SHAPES = [
    # shape, size, attitude, height of the centre, contact points, each with an equal share
    ("sphere", (0.1,), (0.3, 0.2, 0.1), 0.1, 1),
    ("capsule", (0.05, 0.2), (np.pi / 2, 0.0, 0.4), 0.05, 2),
    ("cylinder", (0.08, 0.2), (0.0, 0.0, 0.3), 0.1, 4),
    ("cylinder", (0.08, 0.2), (np.pi / 2, 0.0, 0.7), 0.08, 2),
    ("box", (0.2, 0.3, 0.1), (0.0, 0.0, 0.5), 0.05, 4),
    ("box", (0.2, 0.3, 0.1), (np.pi / 2, 0.0, 0.5), 0.15, 4),
]


@pytest.mark.parametrize("shape, size, attitude, height, points", SHAPES)
def test_shapes_rest_on_the_ground(shape, size, attitude, height, points):
    """Dropped from 1 mm: they stay where they land, and the points share the weight equally."""
    sim = world(free("body", shape, size, (0.1, 0.2, height + 1e-3), attitude, 2.0))
    p0, quaternion0 = sim.link_pose("body")
    step = run(sim, 2.0)
    p, quaternion = sim.link_pose("body")
    np.testing.assert_allclose(p, [p0[0], p0[1], height], atol=1e-4)
    assert np.degrees(turn(quaternion, quaternion0)) < 0.01
    pressing = step.contacts["impulse"][:, 2]
    assert len(pressing) == points
    np.testing.assert_allclose(pressing, 2.0 * G * DT / points, rtol=1e-6)
    assert step.certificate.penetration < 1e-4


def test_a_stack_of_three_boxes_stands():
    boxes = [
        free(f"box_{i}", "box", (0.2, 0.2, 0.1), (0.0, 0.0, 0.05 + 0.1 * i), mass=1.0 + i) for i in range(3)
    ]
    sim = world(*boxes)
    start = [sim.link_pose(f"box_{i}") for i in range(3)]
    step = run(sim, 3.0)
    for i, (p0, quaternion0) in enumerate(start):
        p, quaternion = sim.link_pose(f"box_{i}")
        np.testing.assert_allclose(p, p0, atol=1e-4)
        assert np.degrees(turn(quaternion, quaternion0)) < 0.01
    # every layer carries what is above it
    for lower, mass in ((frozenset(("box_0", "ground")), 6.0), (frozenset(("box_1", "box_0")), 5.0),
                        (frozenset(("box_2", "box_1")), 3.0)):  # fmt: skip
        own = [c for c in step.contacts if frozenset((c["link_a"], c["link_b"])) == lower]
        assert len(own) == 4
        np.testing.assert_allclose([abs(c["impulse"][2]) for c in own], mass * G * DT / 4, rtol=1e-6)


def test_a_box_dropped_flat_neither_sinks_nor_bounces():
    """From 0.2 m: it stops in the step that would pass the ground (the impact is inelastic)."""
    sim = world(free("box", "box", (0.2, 0.3, 0.1), (0.0, 0.0, 0.25), mass=2.0))
    lowest, highest_after = 1.0, 0.0
    landed = False
    for _ in range(1000):
        sim.step()
        z = sim.link_pose("box")[0][2] - 0.05
        lowest = min(lowest, z)
        landed = landed or z < 1e-6
        if landed:
            highest_after = max(highest_after, z)
    assert landed and lowest > -1e-9 and highest_after < 1e-6


# --- free flight ----------------------------------------------------------------------------------


def test_free_fall():
    """Semi-implicit Euler: z = -g dt^2 k (k + 1) / 2 exactly, g t^2 / 2 to first order."""
    sim = world(free("ball", "sphere", (0.1,), (0.0, 0.0, 10.0)))
    velocities(sim, [0, 0, 0, 1.0, 0, 0])
    run(sim, 1.0)
    p = sim.link_pose("ball")[0]
    np.testing.assert_allclose(p, [1.0, 0.0, 10.0 - G * DT**2 * 1000 * 1001 / 2], atol=1e-11)
    assert p[2] == pytest.approx(10.0 - G / 2, abs=0.01)
    assert sim.v[5] == pytest.approx(-G, rel=1e-12)


def momenta(sim):
    """Linear and angular momentum (about the world's origin) of all free bodies."""
    tree, P, L = sim.world.tree, np.zeros(3), np.zeros(3)
    for name, k in sim.world.objects.items():
        p, quaternion = sim.link_pose(name)
        R = Rotation.from_quat(quaternion).as_matrix()
        w, u = sim.v[6 * k : 6 * k + 3], sim.v[6 * k + 3 : 6 * k + 6]
        P = P + tree.mass[k] * u
        L = L + tree.mass[k] * np.cross(p, u) + R @ tree.inertia[k] @ R.T @ w
    return P, L


def torque_free(dt):
    """Relative drifts of a tumbling box in 1 s: linear momentum, angular momentum, energy."""
    sim = world(free("box", "box", (0.1, 0.2, 0.4), (0, 0, 1), (0.3, 0.5, 0.7)), gravity=(0.0, 0.0, 0.0),
                ground=False, time_step=dt, rates={})  # fmt: skip
    velocities(sim, [1.0, 2.0, -1.5, 0.3, -0.2, 0.1])
    (P0, L0), E0 = momenta(sim), sim.energy()
    run(sim, 1.0)
    P, L = momenta(sim)
    return np.abs(P - P0).max(), np.linalg.norm(L - L0) / np.linalg.norm(L0), abs(sim.energy() / E0 - 1.0)


def test_torque_free_box_keeps_its_momentum():
    """Linear momentum to the last digits, angular momentum and energy to first order in the time step."""
    linear, angular, energy = torque_free(1e-3)
    assert linear <= 1e-14 and angular <= 2e-3 and energy <= 2e-3
    _, finer, finer_energy = torque_free(1e-4)
    assert finer == pytest.approx(angular / 10, rel=0.2)
    assert finer_energy == pytest.approx(energy / 10, rel=0.2)


# --- friction -------------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", [0.0, np.pi / 2, 2.0, -0.4])
def test_a_block_sticks_below_the_critical_angle(heading):
    """Below atan(mu cos(pi / n_f)), the pyramid's inner angle, a block on a slope does not creep."""
    angle = np.arctan(0.5 * np.cos(np.pi / 8)) - 0.002
    sim = world(free("block", "box", (0.2, 0.2, 0.05), (0, 0, 0.025)), gravity=tilted(angle, heading))
    p0 = sim.link_pose("block")[0]
    step = run(sim, 2.0)
    assert np.abs(sim.link_pose("block")[0] - p0).max() < 1e-9
    assert (
        step.contacts["sigma"].max() < 1e-12
    )  # the lightly loaded corners are on the edge of their pyramids


@pytest.mark.parametrize("mu", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("heading", [0.0, 2.0, -0.4])
def test_a_block_slides_above_the_critical_angle(mu, heading):
    """a = g (sin - mu cos): d_1 follows the slip, so the pyramid's facets do not show."""
    angle = np.arctan(0.5) + 0.1
    sim = world(free("block", "box", (0.2, 0.2, 0.05), (0, 0, 0.025)), mu=mu, gravity=tilted(angle, heading))
    step = run(sim, 1.0)
    p, v = sim.link_pose("block")[0], sim.v[3:]
    a = G * (np.sin(angle) - mu * np.cos(angle))
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    np.testing.assert_allclose(v, a * along, atol=2e-3 * a)
    np.testing.assert_allclose(p, 0.5 * a * along + [0, 0, 0.025], atol=3e-3 * a)
    assert np.abs(sim.v[:3]).max() < 1e-3
    assert mu == 0.0 or set(step.contacts["state"]) == {"slip"}


@pytest.mark.parametrize("heading", [0.0, 1.0, -2.5])
@pytest.mark.parametrize("mu", [0.2, 0.5, 0.8])
def test_stopping_distance(mu, heading):
    """v^2 / (2 mu g) within one per cent, in a straight line, and then at rest."""
    sim = world(free("block", "box", (0.4, 0.4, 0.05), (0, 0, 0.025)), mu=mu)
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    velocities(sim, [0, 0, 0], 1.0 * along)
    run(sim, 1.0 / (mu * G) + 0.1)
    p = sim.link_pose("block")[0] - [0, 0, 0.025]
    assert p @ along == pytest.approx(1.0 / (2 * mu * G), rel=0.01)
    assert np.linalg.norm(p - (p @ along) * along) < 1e-4
    assert np.abs(sim.v).max() < 1e-9


def test_a_sliding_ball_ends_rolling_at_five_sevenths_of_its_speed():
    sim = world(free("ball", "sphere", (0.1,), (0, 0, 0.1)))
    velocities(sim, [0, 0, 0, 3.0, 0, 0])
    run(sim, 1.0)
    assert sim.v[3] == pytest.approx(3.0 * 5 / 7, rel=1e-3)
    assert sim.v[1] == pytest.approx(sim.v[3] / 0.1, rel=1e-3)
    before = sim.v[3]
    run(sim, 1.0)
    assert sim.v[3] == pytest.approx(before, rel=1e-6)  # rolling costs nothing
    assert sim.link_pose("ball")[0][2] == pytest.approx(0.1, abs=1e-6)  # and does not dig in


def test_friction_is_that_of_the_pair_of_materials():
    """An explicit pair wins over the geometric mean of the two."""
    block = Primitive("block", "box", (0.2, 0.2, 0.05), Pose((0, 0, 0.025)), "free", 1.0, material="a")
    base = dict(primitives=(block,), ground=Ground(material="b"), gravity=tilted(0.3))
    materials = {"a": Material(0.4), "b": Material(0.1)}
    speeds = []
    for pairs in ((), (MaterialPair(("a", "b"), 0.25),)):
        sim = mb.Simulator(Scene(**base, materials=materials, pairs=pairs))
        run(sim, 0.5)
        speeds.append(sim.v[3])
    for speed, mu in zip(speeds, (0.2, 0.25)):
        assert speed == pytest.approx(0.5 * G * (np.sin(0.3) - mu * np.cos(0.3)), rel=5e-3)


# --- collisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 0.05, 0.12])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_momentum_is_conserved_in_a_collision(mu, offset):
    """Two balls, head on or not: total momenta stay, the normal velocity is inelastic, energy is lost."""
    a = free("a", "sphere", (0.1,), (-0.5, 0.0, 0.0), mass=1.0)
    b = free("b", "sphere", (0.1,), (0.0, offset, 0.0), mass=3.0)
    sim = world(a, b, mu=mu, gravity=(0.0, 0.0, 0.0), ground=False)
    velocities(sim, [0, 0, 0, 2.0, 0, 0], [0, 0, 0, -1.0, 0, 0])
    (P0, L0), E0 = momenta(sim), sim.energy()
    hit = None
    for _ in range(400):
        step = sim.step()
        if len(step.contacts) and np.abs(step.contacts["impulse"]).max() > 1e-9:
            hit, v = step.contacts[0]["normal"], sim.v
        P, L = momenta(sim)
        np.testing.assert_allclose(P, P0, atol=1e-12)
        np.testing.assert_allclose(L, L0, atol=1e-5)
    assert hit is not None and sim.energy() < E0
    # of 3 m/s, after the last push (the first ones leave what closes the gap)
    assert abs((v[9:12] - v[3:6]) @ hit) < 0.02
    if offset == 0.0:
        np.testing.assert_allclose(v[[3, 9]], (1.0 * 2.0 - 3.0 * 1.0) / 4.0, atol=1e-9)
        assert E0 - sim.energy() == pytest.approx(0.5 * (1.0 * 3.0 / 4.0) * 3.0**2, rel=1e-9)


def test_a_push_goes_through_a_row_of_blocks():
    """Three blocks in a row on ice: one plastic collision after the other, the momentum stays."""
    blocks = [free(f"b{i}", "box", (0.1, 0.1, 0.1), (0.15 * i, 0, 0.05)) for i in range(3)]
    sim = world(*blocks, mu=0.0)
    velocities(sim, [0, 0, 0, 1.0, 0, 0], np.zeros(6), np.zeros(6))
    run(sim, 0.6)
    np.testing.assert_allclose(sim.v[[3, 9, 15]], 1.0 / 3.0, atol=1e-6)


# --- energy ---------------------------------------------------------------------------------------


def random_body(rng, name, height):
    shape = rng.choice(["sphere", "capsule", "cylinder", "box"])
    size = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}[shape]
    return free(name, str(shape), rng.uniform(0.08, 0.2, size), (*rng.uniform(-0.1, 0.1, 2), height),
                rng.uniform(-3, 3, 3), rng.uniform(0.5, 3.0))  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_energy_never_grows(seed):
    """Drops of shapes on the ground and on each other.

    For semi-implicit Euler and the contact law, exactly: E+ - E <= sum over penetrating contacts of p_n times
    their push-out velocity, plus dt^2 / 2 tau* I^-1 tau of the gyroscopic torques tau, which are explicit, plus the
    weights times what corrections of positions, and what rows of contacts that roll on, lift them by.
    """
    rng = np.random.default_rng(seed)
    sim = world(
        *[random_body(rng, f"body_{i}", 0.3 + 0.45 * i) for i in range(1 + seed % 3)], mu=rng.uniform(0, 1)
    )
    tree = sim.world.tree
    n = len(tree.parent)
    sim.set_state(
        sim.q, np.concatenate([np.r_[rng.normal(scale=5, size=3), rng.normal(size=3)] for _ in range(n)])
    )
    start = energy = sim.energy()
    allowance, touched, deepest = 0.0, 0, 0.0
    for _ in range(2000):
        gyroscopic = 0.0
        for name, k in sim.world.objects.items():
            R = Rotation.from_quat(sim.link_pose(name)[1]).as_matrix()
            w = R.T @ sim.v[6 * k : 6 * k + 3]
            torque = np.cross(w, tree.inertia[k] @ w)
            gyroscopic += 0.5 * DT**2 * torque @ np.linalg.solve(tree.inertia[k], torque)
        step = sim.step()
        gap = step.contacts["gap"]
        push = np.where(gap < 0, np.minimum(-0.2 * gap / DT, 0.1), 0.0)
        normal = np.einsum("ij,ij->i", step.contacts["impulse"], step.contacts["normal"])
        lifted = 9.81 * tree.mass @ sim.context.need.ahead[5::6]
        lifted = max(lifted, 0.0) - 9.81 * tree.mass.sum() * sim.context.work.gap_shift[: len(gap)].sum()
        allowed = gyroscopic + float(normal @ push) + lifted
        assert sim.energy() - energy <= allowed + 1e-10 * start
        energy = sim.energy()
        allowance += allowed
        touched += len(gap) > 0
        deepest = max(deepest, step.certificate.penetration)
        assert step.certificate.residual <= 1e-9
    assert touched > 500
    assert energy < start and allowance < 0.05 * start  # the allowance is no back door
    assert deepest < 5e-3  # contacts are seen from 2 mm on: what is faster than 2 m/s is inside by then


def test_energy_balance_of_the_certificate_counts_all_work():
    """A driven, damped robot amid contacts: energy minus all booked work stays put, to first order."""
    balances = []
    for dt in (1e-3, 2.5e-4):
        scene = mb.load_scene(BOX_ON_TABLE.with_name("dual_arm_lift.yaml"))
        fields = {name: getattr(scene, name) for name in scene.__dataclass_fields__}
        sim = mb.Simulator(Scene(**{**fields, "time_step": dt, "rates": {}}))
        limit = sim.world.effort_limit
        start, worst, turnover = sim.energy(), 0.0, 0.0
        for i in range(round(0.3 / dt)):
            step = sim.step(0.1 * limit * np.sin(20 * i * dt + np.arange(26)))
            worst = max(worst, abs(step.certificate.energy_balance))
            turnover = max(turnover, abs(step.certificate.energy - start))
        balances.append(worst / turnover)
    assert balances[0] < 0.05
    assert balances[1] < 0.4 * balances[0]


@pytest.mark.parametrize("engine", ["coal", "fcl"])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("speed", [20.0, 500.0, 3000.0])
def test_a_bullet_does_not_pass_a_thin_plate(speed, restitution, engine):
    """5 mm thick, while the bullet flies up to 3 m in a step."""
    plate = Primitive("plate", "box", (0.005, 1.0, 1.0), Pose((1.0, 0, 0)), material="steel")
    ahead = Velocity(linear=(speed, 0, 0))
    bullet = free("bullet", "sphere", (0.004,), (0, 0, 0), mass=0.01, material="steel", velocity=ahead)
    scene = Scene(
        primitives=(plate, bullet), materials={"steel": Material(0.2, restitution=restitution)}, gravity=(0, 0, 0),
        collision_engine=engine,
    )  # fmt: skip
    sim = mb.Simulator(scene)
    run(sim, 1.5 / speed + 2 * DT)
    assert sim.v[3] == pytest.approx(-restitution * speed, abs=1e-9)
    assert sim.q[0] <= 1.0 - 0.0025 - 0.004 + 1e-9
