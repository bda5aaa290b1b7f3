# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runs of the papers' pendulum, OS against NMC/OS, and when two of them part.

Two ways to take the same steps, both compiled, with the same collision detection, contact rows and solver:

    os       joint coordinates, the simulator as it is
    nmc_os   free bodies; hinge rows are unknowns of the solver, in a dense problem, as in the papers

Times are the process's own CPU seconds for all steps, detection and Python included.  Chains of more than LONG links
whip too fast for semi-implicit Euler in joint coordinates at 1 ms; there OS takes the energy-keeping midpoint rule.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mb_contact.checks import Floats, as_choice
from mb_contact.errors import DynamicsError
from mb_contact.model.builtin.pendulum import Pendulum
from mb_contact.simulation.simulator import Simulator
from mb_contact.studies.closure_step import ClosureStep

WAYS = ("os", "nmc_os")
RUNAWAY = 100.0  #: times its initial energy: a run that has that is over
BUDGET = 30.0  #: [s] CPU time for one run; what is cut off is scaled up
LONG = 30  #: links, as in the papers; with more OS takes another integrator
PARTED = (1e-3, 1e-2, 1e-1)  #: [m] heights of the last link that differ by more have parted


class Run(NamedTuple):
    """One simulation: arrays over the steps, and what it cost."""

    time: np.ndarray  #: (steps,) [s]
    last: np.ndarray  #: (steps, 4), x, z, and their rates of the last link's sphere [m, m/s]
    contacts: np.ndarray  #: int (steps,)
    energy: np.ndarray  #: (steps,) [J]
    seconds: float  #: CPU time of all steps, scaled up if cut off
    cut: bool  #: whether the budget ended it
    finite: bool
    solvers: Counter
    residual: float  #: worst of the certificates and of the impacts
    rise: float  #: largest energy above the initial one, as a part of that
    opening: float  #: worst opening of a hinge, zero in joint coordinates [m]
    frames: np.ndarray  #: (pictures, n, 2), sphere centres at the asked times


def integrator_of(links: int, way: str, integrator: str | None = None) -> str:
    """Integrator of a way: NMC/OS has semi-implicit Euler alone, OS the given one or what its length needs."""
    if way != "os":
        return "semi_implicit_euler"
    return integrator or ("semi_implicit_euler" if links <= LONG else "midpoint")


def simulator(chain: Pendulum, way: str, **settings: Any) -> Simulator:
    """Simulator of a Pendulum in one of WAYS."""
    as_choice(way, WAYS, "way", " to step a pendulum")
    if way == "os":
        return Simulator(chain.scene(**settings))
    return Simulator(chain.free_scene(**settings), step=ClosureStep)


def sphere_states(chain: Pendulum, sim: Simulator) -> Floats:
    """Centres and velocities (n, 4) of the spheres: x, z, and their rates."""
    if not sim.world.joint_names:
        q, v = sim.q.reshape(-1, 7), sim.v.reshape(-1, 6)
        return np.hstack([q[:, [0, 2]], v[:, [3, 5]]])
    return np.hstack([chain.centres(sim.q), chain.centre_velocities(sim.q, sim.v)])


def run(
    chain: Pendulum,
    way: str,
    seconds: float,
    pictures: Sequence[float] | Floats = (),
    budget: float = BUDGET,
    integrator: str | None = None,
) -> Run:
    """Simulate a Pendulum and time it.

    Parameters
    ----------
    chain : Pendulum
    way : str
        One of WAYS.
    seconds : float
        Simulated time.
    pictures : sequence of float
        Times at which all spheres are recorded [s].
    budget : float
        CPU seconds after which the run is cut off.
    integrator : str, optional
        Of OS; by default what ``integrator_of`` names.

    Returns
    -------
    Run
    """
    sim = simulator(chain, way, integrator=integrator_of(chain.links, way, integrator))
    initial = sim.energy()
    steps = round(seconds / chain.time_step)
    wanted = np.round(np.asarray(pictures, dtype=float) / chain.time_step).astype(int)
    frames = np.full((len(wanted), chain.links, 2), np.nan)
    states, certificates, cost, opening, residual, finite = [], [], 0.0, 0.0, 0.0, True
    for step in range(steps + 1):
        state = sphere_states(chain, sim)
        frames[wanted == step] = state[:, :2]
        states.append(state[-1])
        if step == steps or cost > budget:
            break
        start = time.process_time()
        try:
            result = sim.step()
        except DynamicsError:
            finite = False
            break
        cost += time.process_time() - start
        if result.certificate.energy > RUNAWAY * abs(initial):
            finite = False
            break
        certificates.append(result.certificate)
        opening = max(opening, result.certificate.closure_error)
        residual = max(residual, result.certificate.residual, *(event.residual for event in result.events))
    done = len(certificates)
    return Run(
        time=chain.time_step * np.arange(1, done + 1),
        last=np.array(states[1 : done + 1]).reshape(done, 4),
        contacts=np.array([c.contacts for c in certificates], dtype=int),
        energy=np.array([c.energy for c in certificates]),
        seconds=cost * steps / max(done, 1),
        cut=done < steps and finite,
        finite=finite,
        solvers=Counter(c.solver for c in certificates),
        residual=residual,
        rise=max([0.0, *(c.energy - initial for c in certificates)]) / abs(initial),
        opening=opening,
        frames=frames,
    )


def height_difference(one: Run, other: Run) -> tuple[Floats, Floats]:
    """Times [s] of the coarser of two Runs, and there the distance of the last link's heights [m]."""
    coarse, fine = (one, other) if one.time[0] >= other.time[0] else (other, one)
    every = round(coarse.time[0] / fine.time[0])
    heights = fine.last[every - 1 :: every, 1]
    m = min(len(heights), len(coarse.time))
    return coarse.time[:m], np.abs(heights[:m] - coarse.last[:m, 1])


def parted(one: Run, other: Run, limit: float = PARTED[1]) -> float | None:
    """Time [s] at which the last link's heights of two Runs differ by more than ``limit`` for the first time.

    The runs may have different steps; the coarser one's times count.  None if they never do.
    """
    time, apart = height_difference(one, other)
    beyond = np.flatnonzero(~(apart <= limit))
    return float(time[beyond[0]]) if len(beyond) else None
