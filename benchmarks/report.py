# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Tables and the plot of benchmarks/dynamics.py."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np

HEADER = (f"{'case':<12} {'bodies':>6} {'dof':>5} {'algorithm':<9} {'peer':<22} {'worst':>8} | "
          f"{'ours':>9} {'peer':>9} {'ratio':>6} | {'ours':>9} {'peer':>9} {'ratio':>6}\n"
          f"{'':<12} {'':>6} {'':>5} {'':<9} {'':<22} {'dev.':>8} | "
          f"{'compiled loop [us]':>19} {'p/o':>6} | {'from Python [us]':>19} {'p/o':>6}")
SLOPE_FROM = 30  #: chains from here on enter the slope


def line(row):
    """One row of the table on the terminal."""
    parts = [f"{row['case']:<12} {row['bodies']:>6} {row['dof']:>5} {row['algorithm']:<9} {row['peer']:<22} "
             f"{row['deviation']:>8.1e}"]
    for mine, theirs in (("ours", "theirs"), ("ours_python", "theirs_python")):
        if mine in row:
            parts.append(f"{row[mine] * 1e6:>9.2f} {row[theirs] * 1e6:>9.2f} {row[theirs] / row[mine]:>6.2f}")
        else:
            parts.append(f"{'-':>9} {'-':>9} {'-':>6}")
    return " | ".join(parts)


def slopes(rows):
    """Slope of log time over log bodies from 30 bodies on: {(algorithm, peer): (ours, theirs)}."""
    out = {}
    for key, chosen in _by_algorithm(rows).items():
        points = [row for row in chosen if row["chain"] >= SLOPE_FROM and "ours" in row]
        if len(points) >= 2:
            x = np.log([row["chain"] for row in points])
            out[key] = tuple(np.polyfit(x, np.log([row[name] for row in points]), 1)[0] for name in ("ours", "theirs"))
    return out


def _by_algorithm(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["algorithm"], row["peer"]), []).append(row)
    return groups


def summary(rows, why):
    """Lines below the table."""
    lines = [f"least of interleaved repeats; ratio = peer / ours, above 1 ours is faster; {machine()}"]
    lines += [f"slope of {algorithm} from {SLOPE_FROM} bodies on: ours {mine:.3f}, {peer} {theirs:.3f}"
              for (algorithm, peer), (mine, theirs) in slopes(rows).items()]
    exact = [row["deviation"] for row in rows if "inverse" not in row["peer"]]  # the inverse loses digits to 1/mu
    if exact:
        lines.append(f"worst deviation of the results: {max(exact):.1e} (damped inverse left out)")
    for row in rows:
        loose = [f"{name} {value:.1e}" for name, value in row["deviations"].items() if value > 1e-9]
        if loose and "inverse" not in row["peer"]:
            lines.append(f"{row['case']}: these of Pinocchio's variants deviate by more than 1e-9: {', '.join(loose)}")
    if why:
        lines.append(f"no compiled loop: {why}")
    return lines


def machine():
    """Processor and versions, as text."""
    name = platform.processor() or platform.machine()
    try:
        for text in Path("/proc/cpuinfo").read_text().splitlines():
            if text.startswith("model name"):
                name = text.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    libraries = ", ".join(f"{package} {version(package)}" for package in ("pin", "numba", "numpy"))
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}, {libraries}"


def csv(rows):
    keys = ("case", "bodies", "dof", "chain", "algorithm", "peer", "rows", "deviation", "variant", "ours", "theirs",
            "ours_python", "theirs_python")
    return "\n".join([",".join(keys), *(",".join(str(row.get(key, "")) for key in keys) for row in rows), ""])


def markdown(rows, why):
    """Tables for docs/measurements/sweeps.md."""
    lines = ["| case | bodies | algorithm | peer | ours, loop [µs] | peer, loop [µs] | ratio | ours, Python [µs] | "
             "peer, Python [µs] | ratio | deviation |",
             "|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        cells = [row["case"], str(row["bodies"]), row["algorithm"], row["peer"]]
        for mine, theirs in (("ours", "theirs"), ("ours_python", "theirs_python")):
            if mine in row:
                cells += [f"{row[mine] * 1e6:.2f}", f"{row[theirs] * 1e6:.2f}", f"{row[theirs] / row[mine]:.2f}"]
            else:
                cells += ["–"] * 3
        lines.append("| " + " | ".join([*cells, f"{row['deviation']:.0e}"]) + " |")
    found = slopes(rows)
    if found:
        lines += ["", f"| algorithm | peer | slope of ours, chains from {SLOPE_FROM} bodies on | slope of the peer |",
                  "|---|---|--:|--:|"]
        lines += [f"| {algorithm} | {peer} | {mine:.3f} | {theirs:.3f} |"
                  for (algorithm, peer), (mine, theirs) in found.items()]
    lines += ["", f"{machine()}." + (f" No compiled loop: {why}." if why else ""), ""]
    return "\n".join(lines)


def plot(rows, file):
    """Time a call over the number of bodies, log-log: forward dynamics and compliance, ours and each peer."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
    for ax, algorithm in zip(axes, ("aba", "oscm")):
        drawn = False
        for (name, peer), chosen in _by_algorithm(rows).items():
            points = [row for row in chosen if row["chain"] and "ours" in row]
            if name != algorithm or not points:
                continue
            x = [row["chain"] for row in points]
            if not drawn:
                ax.loglog(x, [row["ours"] * 1e6 for row in points], "o-", label="mb_contact")
                drawn = True
            ax.loglog(x, [row["theirs"] * 1e6 for row in points], "s--", label=f"Pinocchio {peer}")
        ax.set(title={"aba": "forward dynamics", "oscm": "operational-space compliance, 6 rows"}[algorithm],
               xlabel="bodies of the chain")
        ax.grid(True, which="both", alpha=0.3)
        if drawn:
            ax.legend()
    axes[0].set_ylabel("time a call, compiled loop [µs]")
    figure.savefig(file, dpi=120)
