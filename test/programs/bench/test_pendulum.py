# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The pendulums' bench: how long OS and NMC/OS agree, sizes, tables and pictures; what is refused.

Covers programs/bench/pendulum_*.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact import cli
from mb_contact.model.builtin.pendulum import SCENE_FILES
from mb_contact.programs.bench import pendulum as bench
from paths import ROOT
from scenes.pendulums import bent

pytestmark = pytest.mark.quick


def test_the_bench_writes_the_scene_files(tmp_path, capsys):
    assert cli.main(["bench", "pendulum", "--scenes", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.split()) == len(SCENE_FILES)
    for name, *_ in SCENE_FILES:
        assert (tmp_path / f"{name}.yaml").read_bytes() == (ROOT / "config" / f"{name}.yaml").read_bytes()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: mb.pendulum(0), "links must be a whole number from 1 on"),
        (lambda: mb.pendulum(3, "j13"), "there is no pendulum 'j13'; did you mean 'j14'"),
        (lambda: mb.pendulum(3, colour="red"), "a pendulum cannot be changed so"),
        (lambda: mb.pendulum(3, mass=-1.0), "mass must be above zero"),
        (lambda: bench.run(mb.pendulum(3), "magic", 0.1), "there is no way 'magic' to step a pendulum; choose one"),
    ],
)
def test_wrong_pendulums_are_refused(make, message):
    with pytest.raises(mb.InputError, match=message):
        make()


def test_os_and_nmc_os_agree_longer_with_smaller_steps():
    """Figure 6: before the first contact the difference falls with the step, to first order."""
    apart = []
    for dt in (2e-3, 1e-3, 5e-4):
        chain = mb.pendulum(12, time_step=dt, restitution=0.0)
        one, other = (bench.run(chain, way, 2.0) for way in ("os", "nmc_os"))
        assert not one.contacts.any()
        apart.append(np.abs(one.last[:, 1] - other.last[:, 1]).max())
    assert 1.8 < apart[0] / apart[1] < 2.2 and 1.8 < apart[1] / apart[2] < 2.2


@pytest.mark.parametrize("links", [3, 6])
def test_smaller_steps_agree_longer_through_impacts(links):
    """Figure 6, with the floor and restitution 0.5: the heights of the last link part later with every halved step."""
    times = []
    for dt in (4e-3, 2e-3, 1e-3):
        chain = mb.pendulum(links, time_step=dt, contact_margin=0.1)
        one, other = (bench.run(chain, way, 3.5) for way in ("os", "nmc_os"))
        assert one.contacts.any() and max(one.residual, other.residual) <= 1e-9
        times.append([bench.parted(one, other, limit) or np.inf for limit in (1e-3, 3e-3, 1e-2)])
    for sooner, later in zip(times, times[1:]):
        assert all(t < u for t, u in zip(sooner, later))


# --- the bench ----------------------------------------------------------------------------------------------


def test_long_chains_take_an_integrator_that_carries_them():
    assert bench.integrator_of(30, "os") == "semi_implicit_euler" and bench.integrator_of(100, "os") == "midpoint"
    assert bench.integrator_of(100, "os", "rk4") == "rk4"
    assert bench.integrator_of(100, "nmc_os", "rk4") == "semi_implicit_euler"
    assert bench.run(mb.pendulum(31), "os", 0.01).rise <= 1e-13  # of E0: the midpoint rule; Euler's would be 4e-5


@pytest.mark.parametrize("way, most", [("os", 3), pytest.param("nmc_os", 40, marks=pytest.mark.slow)])
def test_a_chain_that_folds_onto_itself_is_solved_in_every_step(way, most):
    """30 links at 12 m: contacts of compliance 1e-12 beside others of 1, and rows that hinges leave rounding of."""
    result = bench.run(mb.pendulum(30, "j12_12m"), way, 3.1)
    # 1e-6 in units of a compliance of 1e-12 is 1e-12 m/s: what the impulse sweep's rounding leaves
    assert result.finite and result.residual <= 1e-6 and result.rise <= 1e-2
    assert result.solvers["over_budget"] <= most and "no_push_out" not in result.solvers


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
    from mb_contact.programs.bench.pendulum_plots import draw_comparison, draw_sequence

    chain = mb.pendulum(3, restitution=0.0)
    for path in (
        draw_sequence(tmp_path / "sequence.png", chain, "three", 0.02, 3),
        draw_comparison(tmp_path / "heights.png", chain, ("height", "velocity"), "three", 0.02),
    ):
        assert path.read_bytes()[:4] == b"\x89PNG"
