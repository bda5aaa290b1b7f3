# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a step hands out: contacts as a structured array, the certificate, the result."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.core.workspace import (
    BY_EULER,
    COLUMNS,
    DEEPEST_PAIR,
    FEATURE,
    GAP,
    HEAD,
    IMPULSE,
    LOOP_ROWS,
    NEWTON_STEPS,
    NORMAL,
    PAIR,
    PAIRS_HELD,
    PAIRS_MET,
    PAIRS_PASSED,
    PIECES,
    POINT,
    POINTS,
    RELEASED,
    SLIDING,
    SOLVER,
    STATE,
    TIED_ROWS,
)
from mb_contact.simulation.attachments import Attachment, Hold
from mb_contact.types import CONTACT_STATE_NAMES, SLIP

NUMBERS = BY_EULER + 1  #: fields of a Certificate that ``record`` has

#: numbers of a record that are counts
COUNTS = (
    NEWTON_STEPS, POINTS, LOOP_ROWS, RELEASED, PAIRS_MET, PAIRS_PASSED, PAIRS_HELD, TIED_ROWS, PIECES, BY_EULER,
)  # fmt: skip

NOTHING: Mapping[str, Any] = MappingProxyType({})

CONTACT_DTYPE = np.dtype(
    [
        ("link_a", object),
        ("link_b", object),
        ("feature", np.int64),
        ("point", float, 3),
        ("normal", float, 3),
        ("gap", float),
        ("impulse", float, 3),
        ("state", object),
        ("sigma", float),
    ]
)


class Certificate(NamedTuple):
    """How exactly a step solved its contact problem, recomputed from W, q and the impulses (SI units).

    Complementary pairs are measured in sqrt(N s m/s): z sqrt(W_ii) against w / sqrt(W_ii).

    Examples
    --------
    >>> sim = mb.Simulator(mb.load_scene("package://mb_contact/config/box_on_table.yaml"))
    >>> certificate = sim.step().certificate
    >>> certificate.contacts, certificate.residual < 1e-9, abs(certificate.energy_balance) < 1e-9
    (4, True, True)
    """

    complementarity_gap: float  #: largest min(z, w) over all complementary pairs
    infeasibility: float  #: largest negative part of any velocity, slack or normal impulse
    cone_violation: float  #: largest friction impulse beyond the pyramid or the cone [N s]
    penetration: float  #: deepest penetration at the start of the step [m]
    solver: str  #: how the step was solved: warm_start, newton, levelled, no_push_out or over_budget (docs/contact.md)
    iterations: int  #: Newton steps with every exchange of contacts; of a flow or a step in parts, of its last solve
    contacts: int  #: contact points
    energy: float  #: mechanical energy after the step [J]
    energy_balance: float  #: energy minus initial energy minus all work done since the start [J]
    kinetic_energy: float  #: part of ``energy`` [J]
    contact_energy: float  #: kinetic energy that this step's impulses add to the free motion, T(v+) - T(v_free) [J]
    push_out_energy: float  #: bound of it: normal impulses times push-out, friction times the slip it asks for [J]
    contact_error: float = 0.0  #: work of this step's contacts and loops beyond what their laws allow [J]
    energy_gained: float = 0.0  #: what this step gained without any work, if above 1e-6 of its kinetic energy [J]
    energy_removed: float = 0.0  #: the part of that which was taken out of the motion again [J]
    loop_residual: float = 0.0  #: worst residual of the rows of loops and gears after the step [sqrt(N s m/s)]
    loop_velocity: float = 0.0  #: the same without the scale: how far G v+ + k is from zero [m/s, rad/s]
    closure_error: float = 0.0  #: worst closure error of loops and gears at the new positions [m, rad]
    loop_rows: int = 0  #: rows of loops and gears
    ray: float = 0.0  #: of no_push_out: largest scaled velocity of unit impulses that ask for the push-out; 0 proves it
    ray_gain: float = 0.0  #: and what they ask for, below zero: no motion fulfils the rows [m/s]
    time_stepped: float = 0.0  #: end of the step that the event scheme left to time stepping, without restitution [s]
    released: int = 0  #: threads that came off their ends, and welds that broke, when the step ended
    end_gap: float = math.inf  #: smallest distance of all near pairs at the new poses [m]
    deepest_pair: str = ""  #: links of the pair that has it, where it is below what the step may miss
    pairs_met: int = 0  #: pairs with a gap that had the contact of the moment at which they meet in the step
    pairs_passed: int = 0  #: pairs that the step's first contacts would hold back, and that pass without touching
    pairs_held: int = 0  #: pairs about which no decision was found: held back by the contact of the step's start
    tied_rows: int = 0  #: rows of loops and of contacts without slip that were tied to others, from which they follow
    tied_residual: float = 0.0  #: worst residual of these, which no other counts [sqrt(N s m/s)]
    pieces: int = 1  #: in which the step was taken: more than one where as a whole it would have made energy
    by_euler: int = 0  #: of these, by Euler's rule and with the rest of their gain taken out of the motion
    holds: Mapping[str, Hold] = NOTHING  #: of each pad what it holds, with which shares of its bound
    attachments: Mapping[str, Attachment] = NOTHING  #: the same of each weld that comes on and off

    @property
    def residual(self) -> float:
        """The worst of gap, infeasibility and the residual of loops and gears.

        Returns
        -------
        float
            [sqrt(N s m/s)]
        """
        return max(self.complementarity_gap, self.infeasibility, self.loop_residual)


class Impact(NamedTuple):
    """One collision of k contact points: an event of a step (docs/impacts.md); world axes, SI units (J14 section 7).

    Examples
    --------
    >>> model = mb.model
    >>> rubber = {"rubber": model.Material(restitution=0.5)}
    >>> pose, fall = model.Pose((0.0, 0.0, 0.1)), model.Velocity(linear=(0.0, 0.0, -1.0))
    >>> ball = model.Primitive("ball", "sphere", (0.1,), pose, base="free", mass=2.0, material="rubber", velocity=fall)
    >>> ground = model.Ground(material="rubber")
    >>> sim = mb.Simulator(mb.Scene(primitives=(ball,), ground=ground, materials=rubber, gravity=(0.0, 0.0, 0.0)))
    >>> impact = sim.step().events[0]
    >>> impact.links, impact.speeds, impact.impulses  # 2 kg: from 1 m/s down to 0.5 m/s up
    ((('ball', 'ground'),), array([-1.]), array([[0., 0., 3.]]))
    """

    time: float  #: [s]
    links: tuple  #: of (link_a, link_b) for each point
    points: Floats  #: (k, 3) [m]
    normals: Floats  #: (k, 3), from B to A
    speeds: Floats  #: (k,), normal velocities just before, negative where the bodies approach [m/s]
    restitution: Floats  #: (k,), of the pairs
    compression: Floats  #: (k, 3), impulses on A of the first phase [N s]
    decompression: Floats  #: (k, 3), and of the second
    energy_before: float  #: mechanical energy [J]
    energy_compressed: float
    energy_after: float  #: recomputed from the new velocities
    law: str
    scale: float  #: common factor on all restitutions: 1, or less where the law would have created energy
    residual: float  #: the worse of both phases, judged on W, u and the impulses [sqrt(N s m/s)]

    @property
    def impulses(self) -> Floats:
        """Impulses on A of both phases.

        Returns
        -------
        ndarray (k, 3)
            World axes [N s].
        """
        return self.compression + self.decompression


class Step:
    """Result of one step; its arrays are copies and stay valid.

    ``events`` are the collisions of the step in their order, Impact each; their impulses are not in ``contacts``.

    Parameters
    ----------
    time : float
        After the step [s].
    numbers : bytes of floats (32 + 14 k,)
        ``record`` of core.workspace.StepWork: those of the certificate, then rows of core.step.report, one a contact.
        Certificate and contacts are made of it when somebody asks for them.
    solver_names : sequence of str
        What the certificate calls the ways to a solution.
    pair_links : sequence of (str, str)
        Links of each pair of shapes.
    events : sequence of Impact
    held : Held, optional
        Of which the certificate has what pads and welds hold.

    Examples
    --------
    >>> sim = mb.Simulator(mb.load_scene("package://mb_contact/config/box_on_table.yaml"))
    >>> step = sim.step()
    >>> step.time, len(step.contacts), step.events
    (0.001, 4, ())
    >>> step.contacts["link_a"][0], step.contacts["link_b"][0], step.contacts["state"][0]
    ('table', 'box', 'stick')
    """

    def __init__(
        self,
        time: float,
        numbers: bytes,
        solver_names: Sequence[str],
        pair_links: Sequence[tuple[str, str]],
        events: Sequence[Impact] = (),
        held: Any = None,
    ) -> None:
        self.time, self.events, self._held = time, events, held
        self._numbers, self._solver_names, self._pair_links = numbers, solver_names, pair_links

    def __repr__(self) -> str:
        certificate = self.certificate
        told = f"contacts={certificate.contacts}, residual={certificate.residual:.1e}, solver='{certificate.solver}'"
        return f"Step(time={self.time:g}, {told})"

    @cached_property
    def certificate(self) -> Certificate:
        """How exactly the step solved its contact problem, and its energies.

        Returns
        -------
        Certificate
        """
        values: list[Any] = np.frombuffer(self._numbers)[:NUMBERS].tolist()
        values[SOLVER] = self._solver_names[int(values[SOLVER])]
        for count in COUNTS:
            values[count] = int(values[count])
        pair = int(values[DEEPEST_PAIR])
        values[DEEPEST_PAIR] = ", ".join(self._pair_links[pair]) if pair >= 0 else ""
        held = () if self._held is None else (self._held.holds(), self._held.attachments())
        return Certificate(*values, *held)

    def _rows(self):
        """A row (14,) of ``core.step.report`` for each contact."""
        return np.frombuffer(self._numbers)[HEAD:].reshape(-1, COLUMNS)

    @cached_property
    def contacts(self) -> npt.NDArray[np.void]:
        """Contact points as a structured array of ``CONTACT_DTYPE``.

        Returns
        -------
        ndarray (k,)
            World axes; impulses act on link_a [N s], points and gaps in m.
        """
        table = self._rows()
        out = np.empty(len(table), CONTACT_DTYPE)
        links = [self._pair_links[int(pair)] for pair in table[:, PAIR].tolist()]
        out["link_a"], out["link_b"] = [a for a, _ in links], [b for _, b in links]
        columns: dict[str, Any] = {"feature": FEATURE, "gap": GAP}
        columns |= {name: slice(k, k + 3) for name, k in (("point", POINT), ("normal", NORMAL), ("impulse", IMPULSE))}
        for name, column in columns.items():
            out[name] = table[:, column]
        codes = table[:, STATE].astype(int)
        out["state"] = [CONTACT_STATE_NAMES[code] for code in codes.tolist()]
        out["sigma"] = np.where(codes == SLIP, table[:, SLIDING], 0.0)
        return out


def contact_impulses(step: Step) -> tuple[Sequence[tuple[str, str]], Any, Floats]:
    """Links of all pairs of shapes; of each contact its pair (k,) and the impulse (k, 3) on its first link [N s]."""
    table = step._rows()
    return step._pair_links, table[:, PAIR].astype(np.int64), table[:, IMPULSE : IMPULSE + 3]


def record_of(certificate, rows):
    """The numbers of a Step from its Certificate and its contacts' rows; the solver is number 0."""
    numbers = np.zeros(HEAD + COLUMNS * len(rows))
    numbers[:NUMBERS] = certificate._replace(solver=0.0, deepest_pair=-1.0)[:NUMBERS]
    numbers[HEAD:] = np.array(rows).ravel()
    return numbers.tobytes()
