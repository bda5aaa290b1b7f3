# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Heaps of 10 to 200 bodies fall into a bin and come to rest: each step beside MuJoCo's, and how its time grows.

    python benchmarks/heaps.py [--bodies 10,20,36] [--shapes mixed|boxes] [--seconds 5] [--no-peer]
        [--tolerance 1e-9] [--json FILE]

The bodies are those of bin.py.  A whole ``Simulator.step`` is timed beside ``mj_step`` of a model made from the same
scene: elliptic cones, Newton solver, implicitfast, the same step length, all else at MuJoCo's defaults (soft contacts,
friction of a pair the larger of two equal ones, cones as meshes with a base of 32 corners).

Phases, from the kinetic energy T of each engine's own run and its maximum T_max over the run:

    moving     from the first contact on, all steps up to the maximum, and later ones with T > 1e-2 T_max
    settling   after the maximum, 1e-5 T_max < T <= 1e-2 T_max
    at rest    after the maximum, T <= 1e-5 T_max (a few mm/s; MuJoCo's soft contacts creep on at about 1e-6 T_max)

Steps before the first contact count in the line "all" only.  A run ends when all has been at rest for 0.3 s (--rest),
or after --seconds.  Exit code 1 where a residual is above the tolerance, a
step raises an error or a run is cut off (--patience).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import bin as bins
import numpy as np
from stepping import (
    Record,
    add_options,
    counted,
    follow,
    line,
    number,
    statistics,
    timed,
    with_model,
    write_json,
)

import mb_contact as mb
from mb_contact.model.scene import Scene

BODIES = (10, 20, 36, 50, 100, 200)
FITTED = (20, 200)  #: bodies from and up to which an exponent is fitted
MOVING, RESTING = 1e-2, 1e-5  #: parts of the largest kinetic energy that part the phases
PHASES = ("moving", "settling", "at rest")
SHAPES = {"mixed": bins.SHAPES, "boxes": (("box", (0.07, 0.06, 0.05)),)}
CORNERS = 32  #: of a cone's base in MuJoCo

HEAD = ("scene", "phase", "contacts", "steps", "unsolved", "residual", "ms median", "mean", "99 %", "worst",
        "mj contacts", "mj steps", "mj median", "mj mean", "median ratio", "mean ratio", "newton median", "99 %",
        "worst", "solvers")  # fmt: skip
WIDTHS = (10, 8, 8, 5, 8, 8, 9, 8, 8, 8, 11, 8, 9, 8, 12, 10, 13, 5, 5)


# --- MuJoCo ---------------------------------------------------------------------------------------


def _text(values):
    return " ".join(repr(float(x)) for x in values)


def _wxyz(R):
    """Quaternion w x y z of a rotation matrix."""
    import mujoco

    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, np.asarray(R).ravel())
    return quat


def _geom(primitive, friction):
    """MJCF of a primitive's shape; free ones bring their mass."""
    size, kind = primitive.kernel_size(), primitive.shape
    extent = {"sphere": size[:1], "cylinder": size[:2], "capsule": size[:2]}.get(kind, size)
    shape = f'type="mesh" mesh="{primitive.name}"' if kind == "cone" else f'type="{kind}" size="{_text(extent)}"'
    mass = "" if primitive.mass is None else f' mass="{primitive.mass!r}"'
    return f'<geom {shape}{mass} condim="3" friction="{friction!r} 0 0"/>'


def _cone(primitive):
    """MJCF of a cone's mesh: its apex up, its origin half-way."""
    radius, half = primitive.kernel_size()[:2]
    turn = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
    base = np.column_stack([radius * np.cos(turn), radius * np.sin(turn), np.full(CORNERS, -half)])
    return f'<mesh name="{primitive.name}" vertex="{_text(np.append(base.ravel(), [0.0, 0.0, half]))}"/>'


def mjcf(scene):
    """MuJoCo's model of a scene of primitives on a ground."""
    meshes, bodies = [], []
    for primitive in scene.primitives:
        if primitive.inertia is not None or primitive.velocity is not None:
            raise ValueError(f"{primitive.name}: the peer knows homogeneous bodies that start at rest")
        if primitive.shape == "cone":
            meshes.append(_cone(primitive))
        place = f'pos="{_text(primitive.pose.origin())}" quat="{_text(_wxyz(primitive.pose.rotation()))}"'
        joint = "<freejoint/>" if primitive.base == "free" else ""
        geom = _geom(primitive, scene.materials[primitive.material].friction)
        bodies.append(f'<body name="{primitive.name}" {place}>{joint}{geom}</body>')
    friction = scene.materials[scene.ground.material].friction
    ground = f'<geom type="plane" size="0 0 1" pos="0 0 {scene.ground.height!r}" friction="{friction!r} 0 0"/>'
    return f"""<mujoco><option timestep="{scene.time_step!r}" gravity="{_text(scene.gravity)}" cone="elliptic"
        solver="Newton" integrator="implicitfast"/><asset>{''.join(meshes)}</asset>
        <worldbody>{ground}{''.join(bodies)}</worldbody></mujoco>"""


def run_mujoco(scene, seconds, until, patience):
    """Record of MuJoCo's run: times, contacts and kinetic energies."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(mjcf(scene))
    data = mujoco.MjData(model)
    record, start = Record(), time.perf_counter()
    for _ in range(round(seconds / scene.time_step)):
        _, spent = timed(mujoco.mj_step, model, data)
        mujoco.mj_energyVel(model, data)
        record.seconds.append(spent)
        record.contacts.append(int(data.ncon))
        record.kinetic.append(float(data.energy[1]))
        if until(record):
            break
        if time.perf_counter() - start > patience:
            record.ended = f"MuJoCo cut off at {data.time:.3f} s"
            break
    if any(warning.number for warning in data.warning):
        record.ended = "MuJoCo warned"
    return record


# --- phases ---------------------------------------------------------------------------------------


def phases(record):
    """Masks of the steps of each phase, by its name."""
    kinetic, steps = np.array(record.kinetic), np.arange(len(record.kinetic))
    if not len(steps):
        return {phase: np.zeros(0, bool) for phase in PHASES}
    touching = np.maximum.accumulate(np.array(record.contacts)) > 0
    after, most = steps > int(kinetic.argmax()), kinetic.max()
    rest = after & (kinetic <= RESTING * most)
    settling = after & ~rest & (kinetic <= MOVING * most)
    return {"moving": touching & ~settling & ~rest, "settling": touching & settling, "at rest": touching & rest}


class AtRest:
    """Whether the last steps of a record, ``seconds`` long, were all at rest."""

    def __init__(self, seconds, time_step):
        self._needed, self._most, self._still = max(1, round(seconds / time_step)), 0.0, 0

    def __call__(self, record):
        now = record.kinetic[-1]
        self._most = max(self._most, now)
        self._still = self._still + 1 if record.contacts[-1] and now <= RESTING * self._most else 0
        return self._still >= self._needed


# --- the runs -------------------------------------------------------------------------------------


def run(shapes, bodies, arguments, peer):
    """Rows of one heap, a dictionary a phase."""
    model = arguments.friction_model or Scene().friction_model
    scene = with_model(replace(bins.scene_of(bodies, SHAPES[shapes]), path=None), model)
    sim = mb.Simulator(scene)
    if arguments.tolerance is not None:
        sim.solver_tolerance = arguments.tolerance
    ours = follow(sim, arguments.seconds, None, AtRest(arguments.rest, sim.time_step), arguments.patience)
    theirs = Record()
    if peer:
        until = AtRest(arguments.rest, scene.time_step)
        theirs = run_mujoco(scene, arguments.seconds, until, arguments.patience)
    rows, mine, other = [], phases(ours), phases(theirs)
    for phase in (*PHASES, "all"):
        row = {"shapes": shapes, "bodies": bodies, "friction_model": model, "phase": phase}
        row |= statistics(ours, mine.get(phase, slice(None)), sim.solver_tolerance)
        row |= _peer_statistics(theirs, other.get(phase, slice(None)))
        for ratio in ("median", "mean"):
            a, b = row[f"{ratio}_ms"], row[f"peer_{ratio}_ms"]
            row[f"{ratio}_ratio"] = None if a is None or not b else a / b
        row["ended"] = "; ".join(text for text in (ours.ended, theirs.ended) if text)
        row["failed"] = ours.failed
        row["tolerance"], row["fastest"] = sim.solver_tolerance, float(np.abs(sim.v).max())
        rows.append(row)
    return rows


def _peer_statistics(record, chosen):
    ms, contacts = 1e3 * np.array(record.seconds)[chosen], np.array(record.contacts)[chosen]
    some = len(ms) > 0
    return {
        "peer_steps": len(ms),
        "peer_contacts": int(contacts.max()) if some else None,
        "peer_median_ms": float(np.median(ms)) if some else None,
        "peer_mean_ms": float(ms.mean()) if some else None,
    }


def cells(row):
    """Texts of a row."""
    times = (number(row[f"{name}_ms"]) for name in ("median", "mean", "most", "worst"))
    return (
        f"{row['shapes']} {row['bodies']}", row["phase"], f"{row['contacts']}", f"{row['steps']}",
        f"{row['unsolved']}", number(row["residual"], "{:.1e}"), *times,
        number(row["peer_contacts"], "{}"), f"{row['peer_steps']}", number(row["peer_median_ms"]),
        number(row["peer_mean_ms"]), number(row["median_ratio"]), number(row["mean_ratio"]),
        *(number(row[f"newton_{name}"], "{:.0f}") for name in ("median", "most", "worst")), counted(row["solvers"]),
    )  # fmt: skip


def exponent(rows, key):
    """Exponent p of key = c bodies^p, by least squares of the logarithms; None with fewer than two sizes."""
    points = [(row["bodies"], row[key]) for row in rows if FITTED[0] <= row["bodies"] <= FITTED[1] and row[key]]
    if len({bodies for bodies, _ in points}) < 2:
        return None
    bodies, ms = np.log(points).T
    return float(np.polyfit(bodies, ms, 1)[0])


def exponents(rows):
    """Rows of exponents, a dictionary for each kind of shapes and phase."""
    found = []
    for shapes in SHAPES:
        for phase in PHASES:
            chosen = [row for row in rows if (row["shapes"], row["phase"]) == (shapes, phase)]
            ours, theirs = exponent(chosen, "median_ms"), exponent(chosen, "peer_median_ms")
            if ours is not None:
                found.append({"shapes": shapes, "phase": phase, "exponent": ours, "peer_exponent": theirs})
    return found


def _peer_version():
    """Version of MuJoCo, None where it is missing."""
    try:
        import mujoco
    except ImportError:
        return None
    return mujoco.__version__


def main(argv=None):
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bodies", default=",".join(map(str, BODIES)), metavar="N,N", help="sizes (%(default)s)")
    parser.add_argument("--shapes", choices=tuple(SHAPES), help="without it both")
    parser.add_argument("--seconds", type=float, default=5.0, help="longest simulated time of a heap (%(default)s)")
    parser.add_argument("--rest", type=float, default=0.3, metavar="S", help="time at rest that ends a run")
    parser.add_argument("--tolerance", type=float, help="residual asked of the solver; without it the default")
    parser.add_argument("--no-peer", action="store_true", help="without MuJoCo")
    add_options(parser)
    arguments = parser.parse_args(argv)
    sizes = [int(n) for n in arguments.bodies.split(",")]
    kinds = [arguments.shapes] if arguments.shapes else list(SHAPES)
    if arguments.quick:
        sizes, kinds, arguments.seconds = [4], ["boxes"], min(arguments.seconds, 0.4)
    version = None if arguments.no_peer else _peer_version()
    print(f"friction model {arguments.friction_model or Scene().friction_model}; " + (
        f"MuJoCo {version}: elliptic cone, Newton, implicitfast" if version else "without MuJoCo"))  # fmt: skip
    print(line(HEAD, WIDTHS), flush=True)
    rows = []
    for shapes in kinds:
        for bodies in sizes:
            found = run(shapes, bodies, arguments, version is not None)
            rows += found
            for row in found:
                print(line(cells(row), WIDTHS), flush=True)
            print(f"{shapes} {bodies}: fastest at the end {found[-1]['fastest']:.1e} m/s or rad/s", flush=True)
            if found[-1]["ended"]:
                print(f"{shapes} {bodies}: {found[-1]['ended']}", flush=True)
    fitted = exponents(rows)
    for row in fitted:
        print(f"{row['shapes']}, {row['phase']}: median time grows as bodies^{row['exponent']:.2f}, "
              f"MuJoCo's as bodies^{number(row['peer_exponent'], '{:.2f}')}")  # fmt: skip
    write_json(arguments.json, arguments, rows + fitted)
    return 1 if any(row["unsolved"] or row["failed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
