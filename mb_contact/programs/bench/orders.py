# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How the set-up of J14's formulations grows: orders fitted to times of J14's pendulums, beside those of Table 1.

The time of a chain of n links is taken as fixed + growth n^order: what NumPy and SciPy cost at any size stands apart,
so that it does not flatten the order.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

from mb_contact.errors import InputError
from mb_contact.model.builtin.pendulum import pendulum
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.studies.formulations.catalogue import formulate
from mb_contact.studies.formulations.step_problem import ContactPoint, StepProblem
from mb_contact.types import WORLD

#: LCP assembly complexity as J14 Table 1 prints it, of links and of contacts; the table has no others
LINKS_PRINTED = {"nmc": "O(n)", "mc": "O(N^2)", "rmc": "O(N^3)", "os": "O(N)"}
CONTACTS_PRINTED = {"os": "O(n_c^2)"}
CONTACTS = (4, 8, 16, 32, 64)  #: numbers that are tried on a chain of SHORT links
SHORT = 30
REACH = 6.0  #: [m] radius of the spheres times the number of links (J14 section 8)
FEWEST = 4  #: lengths that a fit of three numbers needs
DEAREST = 0.1  #: [s] a formulation whose set-up takes longer is not measured on longer chains
ORDERS = np.linspace(0.0, 4.0, 401)  #: that are tried


class Order(NamedTuple):
    """Times fixed + growth n^order."""

    order: float
    fixed: float  #: [s]
    error: float  #: largest relative distance of a measured time from the fit


def fitted_order(lengths: ArrayLike, times: ArrayLike) -> Order:
    """The order that fits best, by least squares of relative distances with fixed and growth at or above zero.

    Parameters
    ----------
    lengths : array_like (k,)
        At least four.
    times : array_like (k,)
        [s]

    Raises
    ------
    InputError
        There are fewer.
    """
    n, t = np.asarray(lengths, float), np.asarray(times, float)
    if len(n) < FEWEST:
        raise InputError(f"an order needs {FEWEST} lengths or more, got {len(n)}")

    def fit(order):
        return scipy.optimize.nnls(np.stack([1.0 / t, (n / n[-1]) ** order / t], axis=1), np.ones(len(t)))

    order = min(ORDERS, key=lambda order: fit(order)[1])
    fixed, growth = fit(order)[0]
    return Order(float(order), float(fixed), float(np.abs((fixed + growth * (n / n[-1]) ** order) / t - 1.0).max()))


def setup_times(sizes: Sequence[int], names: Sequence[str], make: Any, repeats: int) -> dict[str, list[float]]:
    """CPU times [s] to set up each formulation for each size, the least of ``repeats`` taken by turns.

    ``make(size)`` gives the arguments and the options of a StepProblem.  The description of the step, which all
    formulations share, is not counted.
    """
    times: dict[str, list[float]] = {name: [] for name in names}
    for size in sizes:
        arguments, options = make(size)
        measured = [name for name in names if not times[name] or times[name][-1] <= DEAREST]
        least = dict.fromkeys(measured, np.inf)
        for _ in range(repeats + 1):  # the first one loads or compiles kernels
            for name in measured:
                problem = StepProblem(*arguments, **options)
                begin = time.process_time()
                formulate(problem, name)
                least[name] = min(least[name], time.process_time() - begin)
        for name in measured:
            times[name].append(least[name])
    return times


def pendulum_step(links: int, contacts: int, n_f: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments and options of a StepProblem: J14's pendulum, bent, touches the world with its last links."""
    random = np.random.default_rng(0)
    model = load_urdf(pendulum(links).urdf())
    q, v = random.uniform(-0.3, 0.3, links), random.normal(scale=0.3, size=links)
    R, p = model.body_poses(q)
    points = []
    for i in range(contacts):
        k, normal = links - 1 - i % links, random.normal(size=3)
        normal /= np.linalg.norm(normal)
        x = p[k] + R[k] @ model.tree.com[k] - REACH / links * normal
        points.append(ContactPoint(k, WORLD, x, normal))
    return (model, q, v, None, points), {"friction_directions": n_f, "implicit_damping": False}


def print_orders(lengths: Sequence[int], titles: dict[str, str], n_f: int, repeats: int) -> None:
    """Set-up times and their orders over ``lengths`` with J14's four contacts, and over CONTACTS."""
    print(f"\nset-up of J14's pendulum in CPU ms, least of {repeats}; the fit is fixed + c n^order")
    _print("links", lengths, titles, lambda n: pendulum_step(n, 4, n_f), repeats, LINKS_PRINTED)
    print(f"\nthe same of {SHORT} links")
    _print("contacts", CONTACTS, titles, lambda n: pendulum_step(SHORT, n, n_f), repeats, CONTACTS_PRINTED)


def _print(what, sizes, titles, make, repeats, printed):
    times = setup_times(sizes, list(titles), make, repeats)
    print(f"{what:<9}" + "".join(f"{n:>8}" for n in sizes) + f"{'fixed':>8}{'order':>7}{'within':>8}  J14 Table 1")
    for name, title in titles.items():
        row = times[name]
        line = f"{title:<9}" + "".join(f"{1e3 * t:>8.2f}" for t in row) + " " * (8 * (len(sizes) - len(row)))
        if len(row) >= FEWEST:
            fit = fitted_order(sizes[: len(row)], row)
            line += f"{1e3 * fit.fixed:>8.2f}{fit.order:>7.1f}{100.0 * fit.error:>7.0f}%"
        else:
            line += " " * 23
        print(f"{line}  {printed.get(name, '')}".rstrip())
