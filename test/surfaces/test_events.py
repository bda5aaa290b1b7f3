# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Events in a tree of contacts: breaking, flight, landing, slipping, sticking, joint limits; against formulas.

Covers core/surfaces/watch.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.surfaces import ContactJoint, SurfaceTree, bezier, plane, sphere
from scenes.arm_of_two_hinges import arm
from scenes.surface_cases import G, ball, rotation

LIFT = """<robot name="lift"><link name="shaft"/>
  <link name="table"><inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="lift" type="prismatic"><parent link="shaft"/><child link="table"/><axis xyz="0 0 1"/>
    <limit lower="-0.2" upper="0.5" effort="1000" velocity="10"/></joint>
</robot>"""
STEP = 2e-3


def one_ball(surface, kind="sliding", radius=0.1, **options):
    """A ball on a surface of the world."""
    return SurfaceTree([ContactJoint("ball", None, surface, ball(radius), kind, **options)])


def lift(tmp_path, kind="rolling", mass=3.0, **options):
    """A ball on the table of a lift, its effort holding both."""
    file = tmp_path / "lift.urdf"
    file.write_text(LIFT.format(mass=mass), encoding="utf-8")
    tree = SurfaceTree([ContactJoint("ball", "table", plane(), ball(0.1), kind, **options)], load_urdf(file))
    return tree, [(mass + 1.0) * G]


@pytest.mark.parametrize("start", [0.1, 0.5])
def test_ball_sliding_off_a_sphere_leaves_where_it_must(start):
    """At cos theta = 2/3 cos theta_0, and then flies a parabola."""
    tree = one_ball(sphere(1.0), radius=0.3)
    q, _ = tree.first_touch("ball", np.eye(3), 1.4 * np.array([np.sin(start), 0.0, np.cos(start)]),
                            (-np.sin(start), 0.0, -np.cos(start)))  # fmt: skip
    tree.slide("ball", q)
    energy = tree.energy()
    tree.run(1.5, STEP)
    (event,) = tree.events
    assert (event.kind, event.mode, event.name) == ("breaks", "free", "ball") and tree.mode_name("ball") == "free"
    assert tree.energy() == pytest.approx(energy, rel=1e-9)
    cosine = motion_cosine(start, event.time)
    assert cosine == pytest.approx(2.0 / 3.0 * np.cos(start), abs=1e-6)


def motion_cosine(start, time):
    """cos theta of the ball at the instant of the event: the pendulum's quadrature, inverted by its own energy."""
    from scipy.integrate import solve_ivp

    run = solve_ivp(
        lambda _, y: (y[1], G / 1.3 * np.sin(y[0])), (0.0, time), (start, 0.0), "DOP853", rtol=1e-12, atol=1e-13
    )
    return np.cos(run.y[0, -1])


def test_sliding_ball_starts_to_roll_at_five_sevenths():
    mu, speed = 0.3, 2.0
    tree = one_ball(plane(), friction=mu)
    q, _ = tree.first_touch("ball", np.eye(3), (0.0, 0.0, 1.0))
    tree.slide("ball", q, tree.pairs[0].rates(q) @ (0.0, 0.0, 0.0, speed, 0.0))
    wrench, normal = tree.contact_wrench("ball")
    np.testing.assert_allclose(wrench, (0.0, 0.0, 0.0, -mu * G, 0.0, G), atol=1e-12)
    tree.run(1.0, STEP)
    (event,) = tree.events
    assert (event.kind, event.mode) == ("sticks", "rolling")
    assert event.time == pytest.approx(2.0 * speed / (7.0 * mu * G), rel=1e-9)
    assert tree.velocity("ball")[1][0] == pytest.approx(5.0 / 7.0 * speed, rel=1e-9)


@pytest.mark.parametrize(("mu", "mode"), [(0.15, "sliding"), (0.25, "rolling")])
def test_ball_on_a_slope_rolls_where_friction_is_enough(mu, mode):
    angle = np.arctan(0.7)
    tree = one_ball(plane().placed(rotation((0, 1, 0), angle)), "rolling", friction=mu)
    tree.roll("ball", tree.first_touch("ball", np.eye(3), (0.0, 0.0, 1.0))[0])
    tree.run(0.5, STEP)
    assert tree.mode_name("ball") == mode
    rate = G * np.sin(angle) * 5 / 7 if mode == "rolling" else G * (np.sin(angle) - mu * np.cos(angle))
    assert np.linalg.norm(tree.velocity("ball")[1]) == pytest.approx(0.5 * rate, rel=1e-8)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_dropped_ball_lands_when_it_must(restitution):
    r, height = 0.1, 0.5
    tree = one_ball(plane(), "free", friction=0.2, restitution=restitution)
    tree.fly("ball", np.eye(3), (0.0, 0.0, r + height))
    tree.run(0.5, STEP)
    fall = np.sqrt(2 * height / G)
    assert tree.events[0].kind == "lands" and tree.events[0].time == pytest.approx(fall, rel=1e-10)
    if restitution:
        speed, left = restitution * G * fall, 0.5 - fall
        assert tree.mode_name("ball") == "free"
        assert tree.pose("ball")[1][2] == pytest.approx(r + speed * left - 0.5 * G * left**2, abs=1e-9)
    else:
        assert tree.mode_name("ball") == "rolling" and abs(tree.gap("ball")) < 1e-12


def turning_momentum(tree, names):
    """Angular momentum about the world's z axis [kg m^2/s]."""
    total = 0.0
    for k, name in enumerate(names):
        R, p = tree.pose(name)
        w, v = tree.velocity(name)
        arm_to = R @ tree.tree.com[k]
        inertia = R @ tree.tree.inertia[k] @ R.T
        total += (inertia @ w + tree.tree.mass[k] * np.cross(p + arm_to, v + np.cross(w, arm_to)))[2]
    return total


@pytest.mark.parametrize(("mu", "restitution"), [(0.0, 0.0), (0.05, 0.0), (0.4, 0.5), (np.inf, 0.0)])
def test_ball_dropped_on_the_plate_of_a_turning_arm(tmp_path, mu, restitution):
    """Impact, sliding, rolling and flight leave the moment of momentum about the upright hinge."""
    sheet = plane().placed(p=(0.1, 0.0, 0.02))
    joint = ContactJoint("ball", "plate", sheet, ball(0.05, 0.5), "free", friction=mu, restitution=restitution)
    tree = SurfaceTree([joint], arm(tmp_path))
    tree.q[:2], tree.v[:2] = (0.2, 0.1), (1.5, 0.3)
    R, p = tree.pose("plate")
    tree.fly("ball", np.eye(3), p + R @ (0.15, 0.05, 0.3), (1.0, 2.0, -3.0), (0.1, 0.4, 0.0))
    names = ("upper", "plate", "ball")
    before, energy = turning_momentum(tree, names), tree.energy()
    while not tree.events:
        tree.run(1e-3, 1e-3)
    assert tree.events[0].kind == "lands"
    assert turning_momentum(tree, names) == pytest.approx(before, rel=1e-9)
    assert tree.mode_name("ball") == {0.0: "sliding", 0.05: "sliding", 0.4: "free", np.inf: "rolling"}[mu]
    assert tree.energy() < energy
    tree.run(0.15, 1e-3)
    assert turning_momentum(tree, names) == pytest.approx(before, rel=1e-9)
    assert abs(tree.gap("ball")) < 1e-9 or tree.mode_name("ball") == "free"


def test_landing_obeys_newton_and_keeps_the_momentum_of_both(tmp_path):
    """A ball on a free table of a lift without weight effort: two masses, one direction."""
    tree, _ = lift(tmp_path, "free", 3.0, restitution=0.5)
    tree.fly("ball", np.eye(3), (0.2, 0.1, 0.1), velocity=(0.0, 0.0, -2.0))
    tree.run(1e-9, 1e-9)  # it touches already: lands at once
    table, body = tree.v[0], tree.velocity("ball")[1][2]
    assert body - table == pytest.approx(0.5 * 2.0, rel=1e-7)
    assert 3.0 * table + body == pytest.approx(-2.0, rel=1e-7)


def test_friction_in_a_chain_obeys_coulomb(tmp_path):
    """Sliding on the moving plate: the force stands against the slip, mu times the normal force."""
    mu = 0.2
    joint = ContactJoint("ball", "plate", plane().placed(p=(0.0, 0.0, 0.02)), ball(0.05, 0.5), friction=mu)
    tree = SurfaceTree([joint], arm(tmp_path))
    tree.q[:2], tree.v[:2] = (0.2, 0.1), (2.5, 0.3)
    q = (0.02, 0.05, 0.3, 0.2, 0.4)
    tree.slide("ball", q, tree.pairs[0].rates(np.array(q)) @ (1.0, 2.0, 0.5, 1.5, -0.8))
    names, energy = ("upper", "plate", "ball"), tree.energy()
    before = turning_momentum(tree, names)
    for _ in range(5):
        wrench, normal = tree.contact_wrench("ball")
        point, n = tree.contact_point("ball")
        (w, v), (plate_w, plate_v) = tree.velocity("ball"), tree.velocity("plate")
        slip = v + np.cross(w, point - tree.pose("ball")[1]) - plate_v
        slip -= np.cross(plate_w, point - tree.pose("plate")[1])
        assert np.linalg.norm(slip) == pytest.approx(np.linalg.norm(tree.slip("ball")), rel=1e-12)
        np.testing.assert_allclose(wrench[3:], normal * (n - mu * slip / np.linalg.norm(slip)), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(wrench[:3], 0.0, atol=1e-12)
        tree.run(0.01, 1e-3)
        assert tree.mode_name("ball") == "sliding" and tree.energy() < energy
        energy = tree.energy()
    assert turning_momentum(tree, names) == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize("kind", ["rolling", "sliding"])
def test_a_lift_that_stops_throws_the_ball(tmp_path, kind):
    """The table stops at its limit; the ball flies on, v^2 / 2 g high, lands 2 v / g later and takes the table down."""
    tree, effort = lift(tmp_path, kind)
    tree.set_contact("ball", tree.first_touch("ball", np.eye(3), (0.1, 0.2, 1.0))[0])
    speed = tree.v[0] = 1.5
    stop, landing = 0.5 / speed, 0.5 / speed + 2.0 * speed / G
    tree.run(0.5, STEP, effort)
    assert tree.q[0] == pytest.approx(0.5, abs=1e-12) and tree.v[0] == pytest.approx(0.0, abs=1e-12)
    assert tree.mode_name("ball") == "free"
    top = tree.pose("ball")[1][2] - 0.6
    assert top == pytest.approx(speed * (0.5 - stop) - 0.5 * G * (0.5 - stop) ** 2, abs=1e-10)
    tree.run(0.5, STEP, effort)
    kinds = [(event.kind, event.name) for event in tree.events]
    assert kinds == [("stops", "lift"), ("breaks", "ball"), ("lands", "ball"), ("releases", "lift")]
    assert tree.events[0].time == pytest.approx(stop, rel=1e-10)
    assert tree.events[2].time == pytest.approx(landing, rel=1e-9)
    assert tree.mode_name("ball") == kind
    assert tree.v[0] == pytest.approx(-speed / 4.0, rel=1e-9)  # 1 kg at 1.5 m/s onto a table of 3 kg
    assert tree.q[0] == pytest.approx(0.5 - speed / 4.0 * (1.0 - landing), abs=1e-9)


def test_a_joint_rests_at_its_limit_until_something_moves_it(tmp_path):
    """Without effort table and ball fall to the lower limit; more than their weight lifts them off it."""
    tree, effort = lift(tmp_path)
    tree.set_contact("ball", tree.first_touch("ball", np.eye(3), (0.1, 0.2, 1.0))[0])
    tree.run(0.5, STEP)
    assert [event.kind for event in tree.events] == ["stops"]
    assert tree.events[0].time == pytest.approx(np.sqrt(0.4 / G), rel=1e-9)
    np.testing.assert_allclose((tree.q[0], tree.v[0]), (-0.2, 0.0), atol=1e-12)
    assert tree.contact_wrench("ball")[1] == pytest.approx(G, rel=1e-9)
    tree.run(0.1, STEP, [0.9 * effort[0]])
    assert len(tree.events) == 1
    tree.run(0.1, STEP, [1.5 * effort[0]])
    assert tree.events[-1].kind == "releases" and tree.events[-1].time == pytest.approx(0.6, abs=1e-9)
    assert tree.q[0] == pytest.approx(-0.2 + 0.5 * 0.5 * G * 0.01, abs=1e-9)


def test_limits_can_be_left_aside(tmp_path):
    tree, effort = lift(tmp_path)
    free = SurfaceTree(tree.contacts, tree.model, limits=False)
    free.set_contact("ball", free.first_touch("ball", np.eye(3), (0.1, 0.2, 1.0))[0])
    free.v[0] = 1.5
    free.run(1.0, STEP, effort)
    assert not free.events and free.q[0] == pytest.approx(1.5, rel=1e-12)


def stack():
    """A ball in a bowl that slides on a plane: two contacts, the upper one rough."""
    bowl = sphere(0.5).flipped().placed(p=(0.0, 0.0, 0.5))
    sledge = ball(0.6, 2.0)._replace(com=np.array([0.0, 0.0, 0.3]))
    tree = SurfaceTree([
        ContactJoint("bowl", None, plane(), sledge._replace(surface=sphere(0.6).placed(p=(0.0, 0.0, 0.6)))),
        ContactJoint("ball", "bowl", bowl, ball(0.05, 0.3), "rolling", friction=0.1),
    ])  # fmt: skip
    tree.slide("bowl", tree.first_touch("bowl", np.eye(3), (0.0, 0.0, 0.5))[0])
    tree.roll("ball", tree.first_touch("ball", np.eye(3), (0.3, 0.1, 0.4))[0])
    return tree


def test_saved_state_goes_on_bit_for_bit():
    tree = stack()
    tree.run(0.2, STEP)
    assert tree.events
    state, before = tree.save(), len(tree.events)
    tree.run(0.3, STEP)
    want = tree.q.copy(), tree.v.copy(), tree.time, list(tree.events)
    since = len(want[3]) - before
    for again in (tree, stack()):
        again.restore(state)
        again.run(0.3, STEP)
        np.testing.assert_array_equal(again.q, want[0])
        np.testing.assert_array_equal(again.v, want[1])
        assert again.time == want[2] and again.events[-since:] == want[3][-since:]


def test_a_stack_that_is_thrown_flies_as_its_parts():
    """The lower contact breaks by a strong upward start: the centre of mass of both flies a parabola."""
    tree = stack()
    R, p = tree.pose("bowl")
    tree.fly("bowl", R, p + (0.0, 0.0, 1e-3), (0.0, 0.0, 0.0), (0.3, 0.0, 3.0))
    start, mass = tree.centre_of_mass(), tree.tree.mass
    velocity = np.zeros(3)
    for k, name in enumerate(("bowl", "ball")):
        w, v = tree.velocity(name)
        velocity += mass[k] / mass.sum() * (v + np.cross(w, tree.pose(name)[0] @ tree.tree.com[k]))
    tree.run(0.2, STEP)
    want = start + 0.2 * velocity + [0.0, 0.0, -0.5 * G * 0.04]
    np.testing.assert_allclose(tree.centre_of_mass(), want, atol=1e-9)
    assert tree.mode_name("bowl") == "free"


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda t: t.roll("ball", np.zeros(5)), InputError, "ball has no friction"),
        (lambda t: t.fly("ball", np.eye(3), (0.0, 0.0, 0.05)), DynamicsError, "inside plane"),
        (lambda t: t.slide("bell", np.zeros(5)), InputError, "no contact 'bell'"),
        (lambda t: t.run(1.0, 0.1, [1.0]), InputError, "effort must have 0 entries"),
        (lambda t: SurfaceTree([t.contacts[0]._replace(friction=-1.0)]), InputError, "friction of ball"),
        (lambda t: SurfaceTree([t.contacts[0]._replace(restitution=2.0)]), InputError, "restitution of ball"),
        (lambda t: SurfaceTree([t.contacts[0]._replace(friction=np.inf)]), InputError, "infinite"),
    ],
)
def test_what_is_refused_leaves_the_state(act, error, words):
    tree = one_ball(plane())
    tree.slide("ball", tree.first_touch("ball", np.eye(3), (0.0, 0.0, 1.0))[0], (1.0, 0.0, 0.0, 0.0, 0.0))
    before = tree.q.copy(), tree.v.copy(), tree.mode_name("ball")
    with pytest.raises(error, match=words):
        act(tree)
    np.testing.assert_array_equal(tree.q, before[0])
    np.testing.assert_array_equal(tree.v, before[1])
    assert tree.mode_name("ball") == before[2]


def test_the_edge_of_a_patch_is_an_error_with_the_place():
    sheet = bezier([[(x, y, 0.0) for y in (-1, 1)] for x in (-1, 1)], name="sheet")
    tree = one_ball(sheet, "rolling")
    tree.roll("ball", tree.first_touch("ball", np.eye(3), (0.0, 0.0, 1.0))[0], (0.0, 50.0, 0.0))
    with pytest.raises(DynamicsError, match="edge of sheet"):
        tree.run(1.0, STEP)
    assert np.isfinite(tree.q).all()
