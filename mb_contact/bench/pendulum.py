# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The papers' pendulum experiments: OS against NMC/OS, J14 Table 2 and J12 Table I, and Figure 6's comparison.

Three ways to take the same steps, all compiled, all with the same collision detection, contact rows and solvers:

    OS          joint coordinates, the simulator as it is
    mixed       NMC/OS: free bodies; hinge rows are unknowns of the same solver, dense, as in the papers
    eliminated  NMC/OS: hinge rows by a band factor first, then the solver of OS: the strongest opponent

Times are the process's own CPU seconds for all steps, detection and Python included.  Chains of more than LONG links
whip too fast for semi-implicit Euler in joint coordinates at 1 ms; there OS takes the energy-keeping midpoint rule.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.pendulum import pendulum, write_scenes
from mb_contact.simulation.simulator import Simulator
from mb_contact.studies.hinged_bodies.simulator import HingedBodies

LINKS = (3, 6, 12, 15, 24, 30)  #: of both papers
WAYS = ("os", "mixed", "eliminated")
CONTACTS = 4  #: for which J14 gives its sizes
RUNAWAY = 100.0  #: times its initial energy: a run that has that is over
BUDGET = 30.0  #: [s] CPU time for one run; what is cut off is scaled up
LONG = 30  #: links, as in the papers; with more OS takes another integrator
PARTED = (1e-3, 1e-2, 1e-1)  #: [m] heights of the last link that differ by more have parted

#: J14 Table 2: seconds of OS and of NMC/OS.
J14_TABLE = {
    3: (0.63, 2.2), 6: (1.0, 4.44), 12: (1.88, 15.7), 15: (2.91, 33.59), 24: (4.76, 127.94), 30: (5.13, 257.72),
}  # fmt: skip
#: J12 Table I: seconds of TA (joint coordinates) and FA (free bodies).
J12_TABLE = {
    3: (1.326214, 5.035574), 6: (1.572062, 7.585271), 12: (3.231113, 21.002845), 15: (2.930593, 40.110204),
    24: (5.989333, 117.906592), 30: (4.766953, 212.037019),
}  # fmt: skip
TITLES = {
    "j14": "J14 section 8 (12 m, start pi/4, +1 rad/s)",
    "j12": "J12 as printed (6 m, meets the wall only; start pi/2, -1 rad/s)",
    "j12_12m": "J12 at 12 m (start pi/2, -1 rad/s)",
}


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


def integrator_of(links, way, integrator=None):
    """Integrator of a way: NMC/OS has semi-implicit Euler alone, OS the given one or what its length needs."""
    if way != "os":
        return "semi_implicit_euler"
    return integrator or ("semi_implicit_euler" if links <= LONG else "midpoint")


def simulator(chain, way, **settings):
    """Simulator of a Pendulum in one of WAYS."""
    if way not in WAYS:
        raise InputError(f"there is no way '{way}' to step a pendulum; choose one of {', '.join(WAYS)}")
    return Simulator(chain.scene(**settings)) if way == "os" else HingedBodies(chain, way, **settings)


def sphere_states(chain, sim):
    """Centres and velocities (n, 4) of the spheres: x, z, and their rates."""
    if isinstance(sim, HingedBodies):
        q, v = sim.q.reshape(-1, 7), sim.v.reshape(-1, 6)
        return np.hstack([q[:, [0, 2]], v[:, [3, 5]]])
    return np.hstack([chain.centres(sim.q), chain.centre_velocities(sim.q, sim.v)])


def run(chain, way, seconds, pictures=(), budget=BUDGET, integrator=None):
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
        if way != "os":
            opening = max(opening, sim.hinge_opening())
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


def sizes(links, contacts, n_f=4):
    """Unknowns of OS, NMC/OS and NMC for a chain of pins (J14 Table 2)."""
    unknowns = contacts * (n_f + 2)
    return unknowns, 5 * links + unknowns, 11 * links + unknowns


def height_difference(one, other):
    """Times [s] of the coarser of two Runs, and there the distance of the last link's heights [m]."""
    coarse, fine = (one, other) if one.time[0] >= other.time[0] else (other, one)
    every = round(coarse.time[0] / fine.time[0])
    heights = fine.last[every - 1 :: every, 1]
    m = min(len(heights), len(coarse.time))
    return coarse.time[:m], np.abs(heights[:m] - coarse.last[:m, 1])


def parted(one, other, limit=PARTED[1]):
    """Time [s] at which the last link's heights of two Runs differ by more than ``limit`` for the first time.

    The runs may have different steps; the coarser one's times count.  None if they never do.
    """
    time, apart = height_difference(one, other)
    beyond = np.flatnonzero(~(apart <= limit))
    return float(time[beyond[0]]) if len(beyond) else None


# --- the command --------------------------------------------------------------------------------------


def run_bench(
    links=None, seconds=5.0, variants=("j14", "j12", "j12_12m"), budget=BUDGET, plot=None, scenes=None, integrator=None
):
    """Print the tables; returns the exit code (1 if an OS run was not finite).

    Parameters
    ----------
    links : sequence of int, optional
        LINKS by default.
    seconds : float
        Simulated time of each run.
    variants : sequence of str
        Of the pendulum; a table each.
    budget : float
        CPU seconds after which a run is cut off and its time scaled up.
    plot : path, optional
        Folder for the pictures (needs matplotlib).
    scenes : path, optional
        Folder for the scene files; then nothing else is done.
    integrator : str, optional
        Of OS; by default what ``integrator_of`` names.
    """
    if scenes is not None:
        print("\n".join(str(path) for path in write_scenes(scenes)))
        return 0
    links = LINKS if not links else tuple(links)
    if any(n < 1 for n in links) or not 0.0 < seconds <= 1000.0 or not budget > 0.0:
        raise InputError("--links must be 1 or more, --seconds from 0 to 1000 and --budget above 0")
    _warm_up(max(links) > LONG, integrator)
    good = all([_table(variant, links, seconds, budget, integrator) for variant in variants])
    if min(links) <= LONG:
        _agreement(seconds)
    if plot is not None:
        from mb_contact.bench.pendulum_plots import write_pictures

        print("\n".join(f"wrote {path}" for path in write_pictures(Path(plot))))
    return 0 if good else 1


def _warm_up(long, integrator):
    """Compile or load everything before anything is timed: a chain that soon hits the floor, in every way."""
    chain = pendulum(3, floor=0.9, rate=-1.0)
    for way in WAYS:
        run(chain, way, 0.02, integrator=integrator)
    if long:
        run(chain, "os", 0.02, integrator=integrator_of(LONG + 1, "os", integrator))


def _table(variant, links, seconds, budget, integrator):
    chain = pendulum(links[0], variant)
    print(f"\n{TITLES[variant]}: {seconds:g} s at {1e3 * chain.time_step:g} ms, n_f = 4, e = {chain.restitution:g}")
    paper = J14_TABLE if variant == "j14" else J12_TABLE
    print(
        "        size, 4 contacts  most contacts  CPU seconds                     speed-up          highest E/E0 - 1  "
        + ("J14 Table 2" if variant == "j14" else "J12 Table I")
        + "\nlinks   OS NMC/OS   NMC    OS  NMC/OS       OS    mixed  eliminated  mixed eliminated      OS  NMC/OS  "
        + ("   OS  NMC/OS" if variant == "j14" else "   TA      FA")
        + "  speed-up   integrator of OS"
    )
    good, worst, opening = True, [0.0, 0.0], 0.0
    for n in links:
        runs = [run(pendulum(n, variant), way, seconds, budget=budget, integrator=integrator) for way in WAYS]
        good &= runs[0].finite
        worst = [max(worst[0], runs[0].residual), max(worst[1], runs[1].residual, runs[2].residual)]
        opening = max(opening, runs[2].opening)
        print(_row(n, runs, paper.get(n), integrator_of(n, "os", integrator)), flush=True)
    print(
        "~ cut off and scaled up; ! not finite; worst certificates of OS and of NMC/OS "
        f"{worst[0]:.1e}, {worst[1]:.1e}; hinges of NMC/OS open by {1e3 * opening:.1f} mm at most"
    )
    return good


def _row(n, runs, paper, integrator):
    seconds = [run.seconds for run in runs]
    marks = ["~" if run.cut else " " if run.finite else "!" for run in runs]
    most = [int(run.contacts.max(initial=0)) for run in (runs[0], runs[2])]
    line = "{:5d}{:5d}{:7d}{:6d}".format(n, *sizes(n, CONTACTS)) + "{:6d}{:8d}".format(*most)
    line += "".join(f"{s:{w}.3f}{m}" for s, w, m in zip(seconds, (8, 8, 11), marks))
    line += f"{seconds[1] / seconds[0]:6.1f}{seconds[2] / seconds[0]:11.1f}"
    line += f"{runs[0].rise:8.0e}{runs[2].rise:8.0e}"
    line += f"{paper[0]:7.2f}{paper[1]:8.2f}{paper[1] / paper[0]:10.1f}" if paper is not None else f"{'':25s}"
    return f"{line}   {integrator}"


def _agreement(seconds, links=12, steps=(1e-3, 5e-4, 2.5e-4, 1.25e-4)):
    """Figure 6: until when the two formulations agree, and how far apart they are before anything touches."""
    print(f"\nJ14 Figure 6: {links} links, OS and NMC/OS: times at which the last link's heights have parted [s]")
    columns = "".join(f"{f'by {1e3 * limit:g} mm':>12}" for limit in PARTED)
    print(f"step [ms]{columns}   largest difference before the first contact [mm]")
    for dt in steps:
        chain = pendulum(links, time_step=dt)
        one, other = (run(chain, way, seconds) for way in ("os", "eliminated"))
        when = [parted(one, other, limit) for limit in PARTED]
        free = int(np.argmax(one.contacts > 0)) if one.contacts.any() else len(one.time)
        before = 1e3 * np.abs(one.last[:free, 1] - other.last[:free, 1]).max(initial=0.0)
        times = "".join("       never" if t is None else f"{t:12.4f}" for t in when)
        print(f"{1e3 * dt:9.3f}{times}   {before:.4f}")
