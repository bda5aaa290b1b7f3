# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The papers' pendulums: geometry, scene files, NMC/OS in body coordinates against OS, and their bench."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import mb_contact as mb
from mb_contact import cli
from mb_contact.bench import pendulum as bench
from mb_contact.model.pendulum import SCENE_FILES, VARIANTS
from mb_contact.studies.hinged_bodies.simulator import SOLVERS, HingedBodies
from paths import ROOT


def bent(n, variant="first_impact", **changes):
    """A pendulum, and joint angles and rates away from anything special."""
    random = np.random.default_rng(n)
    return mb.pendulum(n, variant, **changes), random.uniform(-0.3, 0.3, n), random.normal(scale=0.5, size=n)


def bodies_at(chain, q, v, **options):
    """HingedBodies in the state of joint angles and rates."""
    sim = HingedBodies(chain, **options)
    bend, rate = np.cumsum(q), np.cumsum(v)
    centre, speed = chain.centres(q), chain.centre_velocities(q, v)
    zero = np.zeros(chain.links)
    pose = np.stack([centre[:, 0], zero, centre[:, 1], zero, np.sin(0.5 * bend), zero, np.cos(0.5 * bend)], axis=1)
    twist = np.stack([zero, rate, zero, speed[:, 0], zero, speed[:, 1]], axis=1)
    sim.set_state(pose.ravel(), twist.ravel())
    return sim


# --- geometry ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_spheres_stand_where_the_papers_put_them(variant):
    chain = mb.pendulum(5, variant)
    assert chain.spacing == pytest.approx((6.0 if variant == "j12" else 12.0) / 5)
    assert chain.radius == pytest.approx(0.5 * chain.spacing) and chain.base_height == 10.0
    world = mb.build_world(chain.scene())
    assert world.tree.mass == pytest.approx(1.0)
    assert world.tree.com == pytest.approx(np.tile([0.0, 0.0, -0.5 * chain.spacing], (5, 1)))
    assert world.tree.inertia == pytest.approx(np.tile(0.4 * chain.radius**2 * np.eye(3), (5, 1, 1)))
    assert world.q0[0] == chain.angle and world.v0[0] == chain.rate and not world.q0[1:].any()
    assert world.gravity[2] == -chain.gravity


def test_sphere_states_are_those_of_the_simulator():
    chain, q, v = bent(6)
    sim = mb.Simulator(chain.scene())
    sim.set_state(q, v)
    height = sum(chain.mass * chain.gravity * chain.centres(q)[:, 1])
    spin = 0.5 * 0.4 * chain.mass * chain.radius**2 * (np.cumsum(v) ** 2).sum()
    kinetic = 0.5 * chain.mass * (chain.centre_velocities(q, v) ** 2).sum() + spin
    assert sim.energy() == pytest.approx(height + kinetic, rel=1e-13)
    for body, (x, z) in zip(chain.bodies, chain.centres(q)):
        at, (_, y, _, w) = sim.link_pose(body)
        turn = 2.0 * np.arctan2(y, w)
        half = 0.5 * chain.spacing
        assert (at[0] - half * np.sin(turn), at[2] - half * np.cos(turn)) == pytest.approx((x, z), abs=1e-12)


def test_free_bodies_start_where_the_joints_are():
    chain = mb.pendulum(4, "j12")
    assert HingedBodies(chain).energy() == pytest.approx(mb.Simulator(chain.scene()).energy(), rel=1e-13)
    assert HingedBodies(chain).hinge_opening() < 1e-14


@pytest.mark.parametrize("name, links, variant, title", SCENE_FILES)
def test_scene_files_are_those_of_the_generator(name, links, variant, title):
    written, made = mb.load_scene(ROOT / "config" / f"{name}.yaml"), mb.pendulum(links, variant).scene()
    for field in fields(made):
        if field.name == "models":
            ours, theirs = made.models[0], written.models[0]
            assert ours.urdf.split() == theirs.urdf.split() and ours.joints == theirs.joints
            assert ours.velocities == theirs.velocities and ours.pose == theirs.pose
        elif field.name not in ("path", "lines"):
            assert getattr(written, field.name) == getattr(made, field.name), field.name


def test_the_bench_writes_the_scene_files(tmp_path, capsys):
    assert cli.main(["bench", "pendulum", "--scenes", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.split()) == len(SCENE_FILES)
    for name, *_ in SCENE_FILES:
        assert (tmp_path / f"{name}.yaml").read_bytes() == (ROOT / "config" / f"{name}.yaml").read_bytes()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: mb.pendulum(0), "links must be a whole number from 1 on"),
        (lambda: mb.pendulum(3, "j13"), "there is no pendulum 'j13'; choose one of j14"),
        (lambda: mb.pendulum(3, colour="red"), "a pendulum cannot be changed so"),
        (lambda: mb.pendulum(3, mass=-1.0), "mass must be above zero"),
        (lambda: HingedBodies(mb.pendulum(3), "magic"), "there is no solver 'magic'"),
        (lambda: HingedBodies(mb.pendulum(3), gamma=2.0), "gamma must be from 0 to 1"),
    ],
)
def test_wrong_pendulums_are_refused(make, message):
    with pytest.raises(mb.InputError, match=message):
        make()


# --- NMC/OS -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_bodies_take_the_step_of_the_nmc_os_formulation(solver):
    """In the air, against the sparse Python formulation, with the velocity product, no drift yet to take back."""
    chain, q, v = bent(5, floor=-20.0, wall=50.0)
    joints = mb.Simulator(chain.scene())
    joints.set_state(q, v)
    solution = mb.studies.formulate(mb.studies.step_problem(joints, friction_directions=4), "nmc_os").solve()
    sim = bodies_at(chain, q, v, solver=solver, velocity_product=True)
    sim.step()
    rates = sim.v.reshape(-1, 6)[:, 1]
    assert np.diff(rates, prepend=0.0) == pytest.approx(solution.v_next, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_step_with_contacts_satisfies_the_formulation(solver, friction):
    """A chain let go on floor and wall: the velocities after the step are those of the other formulations.

    At rest, because a moving one has its contact rows in other coordinates: they differ by dt D' V.
    """
    changes = {"base_height": 2.9, "length": 4.0, "wall": 0.95, "friction": friction, "angle": 0.0}
    chain = mb.pendulum(4, "first_impact", **changes)
    q, v = np.array([-0.1, -0.2, 1.2, 0.6]), np.zeros(4)
    low = chain.centres(q)[:, 1].min() - chain.radius
    right = chain.centres(q)[:, 0].max() + chain.radius
    chain = mb.pendulum(4, "first_impact", **{**changes, "floor": low, "wall": right})
    joints = mb.Simulator(chain.scene())
    joints.set_state(q, v)
    problem = mb.studies.step_problem(joints)
    assert problem.n_u == 2
    expected = mb.studies.formulate(problem, "os").solve()
    sim = bodies_at(chain, q, v, solver=solver, velocity_product=True)
    certificate = sim.step().certificate
    assert certificate.contacts == 2 and certificate.residual <= 1e-9
    assert np.diff(sim.v.reshape(-1, 6)[:, 1], prepend=0.0) == pytest.approx(expected.v_next, abs=1e-9)
    assert np.abs(expected.impulses).max() > 1e-3


@pytest.mark.parametrize("solver", SOLVERS)
def test_impacts_of_free_bodies_are_those_of_joints(solver):
    """The same state, a sphere about to hit the floor: both phases leave the same energy and impulse."""
    chain, q, v = bent(5, restitution=0.5, floor=-20.0, wall=50.0)
    low = chain.centres(q)[:, 1].min() - chain.radius
    chain, q, v = bent(5, restitution=0.5, floor=low - 1e-9, wall=50.0, time_step=1e-9)  # or both fall differently
    lowest = int(np.argmin(chain.centres(q)[:, 1]))
    v = v - 4.0 * np.sign(chain.centre_velocities(q, np.ones(5))[lowest, 1]) * np.ones(5)
    joints = mb.Simulator(chain.scene())
    joints.set_state(q, v)
    (expected,) = joints.step().events
    (impact,) = bodies_at(chain, q, v, solver=solver).step().events
    assert expected.speeds.min() < -1.0 and impact.links == expected.links
    assert impact.residual <= 1e-9
    for name in ("energy_before", "energy_compressed", "energy_after"):
        assert getattr(impact, name) == pytest.approx(getattr(expected, name), rel=1e-8)
    assert impact.compression == pytest.approx(expected.compression, rel=1e-7)
    assert impact.decompression == pytest.approx(expected.decompression, rel=1e-7, abs=1e-8)


def test_both_solvers_of_nmc_os_agree_through_impacts():
    chain = mb.pendulum(6, time_step=2e-3, restitution=0.0)
    one, other = (bench.run(chain, way, 3.0) for way in ("mixed", "eliminated"))
    assert one.contacts.max() > 0 and max(one.residual, other.residual) <= 1e-9
    assert one.last[:1200] == pytest.approx(other.last[:1200], abs=1e-6)


@pytest.mark.parametrize("gamma, low, high", [(0.0, 1e-4, 1e-1), (0.2, 0.0, 1e-4)])
def test_open_hinges_are_taken_back(gamma, low, high):
    """Without stabilisation body coordinates drift; with it an opening stays below a tenth of a millimetre."""
    sim = HingedBodies(mb.pendulum(6, "first_impact"), gamma=gamma)
    for _ in range(1300):
        sim.step()
    assert low <= sim.hinge_opening() <= high


def test_os_and_nmc_os_agree_longer_with_smaller_steps():
    """Figure 6: before the first contact the difference falls with the step, to first order."""
    apart = []
    for dt in (2e-3, 1e-3, 5e-4):
        chain = mb.pendulum(12, time_step=dt, restitution=0.0)
        one, other = (bench.run(chain, way, 2.0) for way in ("os", "eliminated"))
        assert not one.contacts.any()
        apart.append(np.abs(one.last[:, 1] - other.last[:, 1]).max())
    assert 1.8 < apart[0] / apart[1] < 2.2 and 1.8 < apart[1] / apart[2] < 2.2


@pytest.mark.parametrize("links", [3, 6])
def test_smaller_steps_agree_longer_through_impacts(links):
    """Figure 6, with the floor and restitution 0.5: the heights of the last link part later with every halved step."""
    times = []
    for dt in (4e-3, 2e-3, 1e-3):
        chain = mb.pendulum(links, time_step=dt, contact_margin=0.1)
        one, other = (bench.run(chain, way, 3.5) for way in ("os", "eliminated"))
        assert one.contacts.any() and max(one.residual, other.residual) <= 1e-9
        times.append([bench.parted(one, other, limit) or np.inf for limit in (1e-3, 3e-3, 1e-2)])
    for sooner, later in zip(times, times[1:]):
        assert all(t < u for t, u in zip(sooner, later))


# --- the bench ----------------------------------------------------------------------------------------------


def test_long_chains_take_an_integrator_that_carries_them():
    assert bench.integrator_of(30, "os") == "semi_implicit_euler" and bench.integrator_of(100, "os") == "midpoint"
    assert bench.integrator_of(100, "os", "rk4") == "rk4"
    assert bench.integrator_of(100, "mixed", "rk4") == "semi_implicit_euler"
    assert bench.run(mb.pendulum(31), "os", 0.01).rise <= 1e-13  # of E0: the midpoint rule; Euler's would be 4e-5


@pytest.mark.parametrize("way", ["os", "eliminated"])
def test_a_chain_that_folds_onto_itself_is_solved_in_every_step(way):
    """30 links at 12 m: contacts of compliance 1e-12 beside others of 1, and rows that hinges leave rounding of."""
    result = bench.run(mb.pendulum(30, "j12_12m"), way, 3.1)
    # 1e-6 in units of a compliance of 1e-12 is 1e-12 m/s: what the impulse sweep's rounding leaves
    assert result.finite and result.residual <= 1e-6 and result.rise <= 1e-2
    assert result.solvers["over_budget"] <= 3 and "no_push_out" not in result.solvers


@pytest.mark.parametrize("links", [3, 6, 30])
def test_sizes_are_those_of_j14_table_2(links):
    table = {3: (24, 39, 57), 6: (24, 54, 90), 30: (24, 174, 354)}
    assert bench.sizes(links, 4) == table[links]
    chain, q, v = bent(links)
    contacts = [mb.studies.ContactPoint(0, -1, np.zeros(3), np.array([0.0, 0.0, 1.0]))] * 4
    problem = mb.studies.StepProblem(mb.build_world(chain.scene()), q, v, None, contacts, friction_directions=4)
    assert tuple(mb.studies.formulate(problem, name).size for name in ("os", "nmc_os", "nmc")) == table[links]


def test_runs_record_what_they_say():
    chain = mb.pendulum(3, restitution=0.0)
    result = bench.run(chain, "os", 0.05, pictures=(0.0, 0.05))
    assert len(result.time) == 50 and result.time[-1] == pytest.approx(0.05) and result.finite and not result.cut
    assert result.frames[0] == pytest.approx(chain.centres(np.array([chain.angle, 0.0, 0.0])))
    assert result.frames[1, -1] == pytest.approx(result.last[-1, :2])
    rate = np.diff(result.last[:, 1]) / chain.time_step
    assert rate == pytest.approx(result.last[1:, 3], abs=0.05)


def test_parted_finds_the_first_difference():
    run = bench.run(mb.pendulum(2, restitution=0.0), "os", 0.02)
    moved = run.last.copy()
    moved[12:, 1] += 0.02
    assert bench.parted(run, run) is None
    assert bench.parted(run, run._replace(last=moved)) == pytest.approx(0.013)


def test_the_command_prints_the_tables(capsys):
    assert cli.main(["bench", "pendulum", "--links", "3", "--seconds", "0.02"]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("J14 section 8", "J12 as printed", "OS and NMC/OS"))
    assert cli.main(["bench", "pendulum", "--links", "0"]) == 2


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    from mb_contact.bench.pendulum_plots import draw_comparison, draw_sequence

    chain = mb.pendulum(3, restitution=0.0)
    for path in (
        draw_sequence(tmp_path / "sequence.png", chain, "three", 0.02, 3),
        draw_comparison(tmp_path / "heights.png", chain, ("height", "velocity"), "three", 0.02),
    ):
        assert path.read_bytes()[:4] == b"\x89PNG"
