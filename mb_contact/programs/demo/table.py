# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The table at the end of a demonstration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mb_contact.programs.demo.watch import WatchedSimulator


def common_rows(summary: Any, simulator: WatchedSimulator) -> list[tuple[str, str]]:
    """Rows (what, value) about the simulation itself.

    Parameters
    ----------
    summary : Summary
        Of the node.
    simulator : WatchedSimulator
    """
    energy, balance = simulator.energy(), simulator.energy_balance
    work = energy - simulator.energy_start - balance
    stages = ", ".join(f"{name} {count}" for name, count in summary.solvers.most_common())
    lost = summary.steps - summary.accepted
    return [
        ("simulated, wall time", f"{summary.simulated:.2f} s, {summary.wall:.2f} s"),
        ("real-time factor", f"{summary.real_time_factor:.2f}"),
        ("worst complementarity residual", f"{max(summary.complementarity_gap, summary.infeasibility):.1e}"),
        ("worst penetration", f"{1e3 * summary.penetration:.1e} mm"),
        ("energy", f"{simulator.energy_start:.3f} J at first, {energy:.3f} J at last"),
        ("work done, not accounted for", f"{work:.3f} J, {balance:.1e} J"),
        ("contacts at most", f"{summary.contacts}"),
        ("steps per solver", stages),
        ("commands", f"{summary.accepted} taken, {max(lost, 0)} lost, {summary.rejected} rejected"),
    ]


def print_table(rows: Sequence[tuple[str, str]]) -> None:
    """Two aligned columns on standard output."""
    width = max(len(what) for what, _ in rows)
    for what, value in rows:
        print(f"  {what:<{width}}  {value}")
