# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The papers' pendulum experiments: OS against NMC/OS, J14 Table 2 and J12 Table I."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mb_contact.errors import InputError
from mb_contact.model.builtin.pendulum import pendulum, write_scenes
from mb_contact.programs.bench.pendulum_plots import write_pictures
from mb_contact.programs.bench.pendulum_runs import BUDGET, LONG, PARTED, WAYS, integrator_of, parted, run

LINKS = (3, 6, 12, 15, 24, 30)  #: of both papers
CONTACTS = 4  #: for which J14 gives its sizes

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


def sizes(links: int, contacts: int, n_f: int = 4) -> tuple[int, int, int]:
    """Unknowns of OS, NMC/OS and NMC for a chain of pins (J14 Table 2)."""
    unknowns = contacts * (n_f + 2)
    return unknowns, 5 * links + unknowns, 11 * links + unknowns


def run_bench(
    links: Sequence[int] | None = None,
    seconds: float = 5.0,
    variants: Sequence[str] = ("j14", "j12", "j12_12m"),
    budget: float = BUDGET,
    plot: str | Path | None = None,
    scenes: str | Path | None = None,
    integrator: str | None = None,
) -> int:
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
        "        size, 4 contacts  most contacts  CPU seconds       speed-up  highest E/E0 - 1  "
        + ("J14 Table 2" if variant == "j14" else "J12 Table I")
        + "\nlinks   OS NMC/OS   NMC    OS  NMC/OS       OS  NMC/OS                  OS  NMC/OS  "
        + ("   OS  NMC/OS" if variant == "j14" else "   TA      FA")
        + "  speed-up   integrator of OS"
    )
    good, worst, opening = True, [0.0, 0.0], 0.0
    for n in links:
        runs = [run(pendulum(n, variant), way, seconds, budget=budget, integrator=integrator) for way in WAYS]
        good &= runs[0].finite
        worst = [max(worst[i], run.residual) for i, run in enumerate(runs)]
        opening = max(opening, runs[1].opening)
        print(_row(n, runs, paper.get(n), integrator_of(n, "os", integrator)), flush=True)
    print(
        "~ cut off and scaled up; ! not finite; worst certificates of OS and of NMC/OS "
        f"{worst[0]:.1e}, {worst[1]:.1e}; hinges of NMC/OS open by {1e3 * opening:.1f} mm at most"
    )
    return good


def _row(n, runs, paper, integrator):
    seconds = [run.seconds for run in runs]
    marks = ["~" if run.cut else " " if run.finite else "!" for run in runs]
    most = [int(run.contacts.max(initial=0)) for run in runs]
    line = "{:5d}{:5d}{:7d}{:6d}".format(n, *sizes(n, CONTACTS)) + "{:6d}{:8d}".format(*most)
    line += "".join(f"{s:{w}.3f}{m}" for s, w, m in zip(seconds, (8, 7), marks))
    line += f"{seconds[1] / seconds[0]:9.1f}{runs[0].rise:10.0e}{runs[1].rise:8.0e}"
    line += f"{paper[0]:7.2f}{paper[1]:8.2f}{paper[1] / paper[0]:10.1f}" if paper is not None else f"{'':25s}"
    return f"{line}   {integrator}"


def _agreement(seconds, links=12, steps=(1e-3, 5e-4, 2.5e-4, 1.25e-4)):
    """Figure 6: until when the two formulations agree, and how far apart they are before anything touches."""
    print(f"\nJ14 Figure 6: {links} links, OS and NMC/OS: times at which the last link's heights have parted [s]")
    columns = "".join(f"{f'by {1e3 * limit:g} mm':>12}" for limit in PARTED)
    print(f"step [ms]{columns}   largest difference before the first contact [mm]")
    for dt in steps:
        chain = pendulum(links, time_step=dt)
        one, other = (run(chain, way, seconds) for way in ("os", "nmc_os"))
        when = [parted(one, other, limit) for limit in PARTED]
        free = int(np.argmax(one.contacts > 0)) if one.contacts.any() else len(one.time)
        before = 1e3 * np.abs(one.last[:free, 1] - other.last[:free, 1]).max(initial=0.0)
        times = "".join("       never" if t is None else f"{t:12.4f}" for t in when)
        print(f"{1e3 * dt:9.3f}{times}   {before:.4f}")
