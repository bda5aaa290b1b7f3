# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""J14's Table 1: its sizes, and orders of cost that are fitted and not written down.

Covers programs/bench/formulations.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.cli import main
from mb_contact.errors import InputError
from mb_contact.programs.bench import orders
from mb_contact.programs.bench.formulations import run_bench
from mb_contact.programs.bench.orders import fitted_order, pendulum_step, setup_times
from mb_contact.studies.formulations.step_problem import StepProblem

LINKS = np.array([10, 20, 40, 80, 150, 300])


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
def test_an_order_is_found_beside_a_fixed_cost(order):
    times = (2e-3 + 1e-3 * (LINKS / 300) ** order) * (1.0 + 0.005 * np.cos(LINKS))
    fit = fitted_order(LINKS, times)
    assert fit.order == pytest.approx(order, abs=0.15)
    assert fit.fixed == pytest.approx(2e-3, rel=0.02) and fit.error < 0.01


def test_the_error_of_a_fit_is_that_of_its_worst_time():
    times = 1e-4 * LINKS.astype(float)
    times[2] *= 1.5  # no power law with a fixed cost passes through it
    fit = fitted_order(LINKS, times)
    curve = fit.fixed + (times[-1] - fit.fixed) * (LINKS / 300.0) ** fit.order
    assert 0.1 < fit.error < 0.5 and abs(curve[2] / times[2] - 1.0) > 0.1


def test_three_lengths_are_too_few(capsys):
    with pytest.raises(InputError, match="an order needs 4 lengths or more, got 3"):
        fitted_order([1, 2, 3], [1.0, 2.0, 3.0])
    assert main(["bench", "formulations", "--links", "10,20,30"]) != 0
    assert "--links needs 4 lengths or more" in capsys.readouterr().err


def test_the_contacts_stand_on_the_spheres_of_different_links():
    (model, q, v, _, points), options = pendulum_step(12, 4, 4)
    R, p = model.body_poses(q)
    for i, point in enumerate(points):
        k = 11 - i
        assert point.body_a == k
        assert np.linalg.norm(point.point - (p[k] + R[k] @ model.tree.com[k])) == pytest.approx(0.5)
    assert StepProblem(model, q, v, None, points, **options).n_u == 4


def test_what_takes_long_is_not_measured_on_longer_chains(monkeypatch):
    def make(n):
        return pendulum_step(n, 1, 4)

    assert len(setup_times((2, 3), ["os"], make, 1)["os"]) == 2
    monkeypatch.setattr(orders, "DEAREST", 0.0)
    assert len(setup_times((2, 3), ["os"], make, 1)["os"]) == 1


@pytest.mark.long
def test_the_table_has_the_sizes_of_the_paper_and_measured_orders(capsys, monkeypatch):
    monkeypatch.setattr(orders, "CONTACTS", (1, 2, 3, 4))
    assert run_bench(repeats=1, links=(2, 3, 4, 5)) == 0
    robot, _, links, contacts = capsys.readouterr().out.split("\n\n")
    sizes = {line.split()[0]: int(line[26:32]) for line in robot.splitlines()[2:8]}
    assert sizes == {"NMC": 310, "MC": 50, "RMC": 24, "OS": 24, "NMC/OS": 154, "hybrid": 284}
    assert links.splitlines()[3].endswith("O(N^2)") and "O(" not in robot
    assert [line.split()[0] for line in links.splitlines()[2:]] == list(sizes)
    assert [line.endswith("O(n_c^2)") for line in contacts.splitlines()[2:8]] == [False] * 3 + [True] + [False] * 2
