# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo's models of a folder: turned into scenes, compared with MuJoCo, and dropped.

    python benchmarks/mjcf_models.py [FOLDER ...] [--seconds 2] [--drive 60] [--markdown]

Every ``.xml`` below the folders that is a whole model.  For each: whether it is loaded, or who refuses it with which
sentence; the largest entry of the difference of both mass matrices and of both inverse dynamics at random states, over
the largest entry; of lengths and moment arms of tendons the largest difference; and a run from its start, without
control: contacts at most, steps whose residual is above 1e-9.  With ``--drive`` the servos of models with tendons hold
parts of their ranges for so long, without contacts and friction; then lengths of tendons, what equalities couple and
the servos' joints are compared with MuJoCo's.
By default the models that gymnasium ships.  The exit code is 1 where a model that MuJoCo reads is refused, differs by
more than 1e-10 (driven 1e-6), or has a step that is not solved.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from quick import need, options_of

import mb_contact as mb

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test"))

SOLVED = 1e-9  #: residual of a step that is solved
FINE = 1e-4  #: MuJoCo's step where its limits are to be stiff [s]
COUPLED_ALIKE = 1e-6  #: difference of tendons, couplings and joints at rest [m, rad]
AFFINE, TENDON, SCALAR, COUPLED = 1, 3, 2, 2  #: of MuJoCo: mjtBias, mjtTrn, the first of mjtJoint with one, mjtEq
SAME = 1e-10  #: difference of matrices that are the same, relative to the largest entry
HEAD = ("model", "bodies", "N", "shapes", "pairs", "left out", "mass matrix", "efforts", "contacts", "steps",
        "unsolved", "largest residual")  # fmt: skip


def models_in(folder: Path, only: str | None) -> list[Path]:
    """Files that may be whole models; one that is itself a file stands for itself."""
    if folder.is_file():
        return [folder]
    found = []
    for path in sorted(folder.rglob("*.xml")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "<mujoco" in text and "<worldbody" in text and (only is None or only in str(path)):
            found.append(path)
    return found


def differences(peer, states: int) -> tuple[float, float]:
    """Largest relative differences of mass matrices and of efforts at random states."""
    rng, worst = np.random.default_rng(0), np.zeros(2)
    for _ in range(states if peer.m.nv else 0):
        qpos, qvel, qacc = peer.random_state(rng)
        q, T = peer.ours(qpos)
        M, bias = peer.at(qpos, qvel)
        ours = T.T @ mb.mass_matrix(peer.world, q) @ T
        effort = T.T @ mb.inverse_dynamics(peer.world, q, T @ qvel, T @ qacc, peer.world.gravity)
        apart = np.abs(effort - M @ qacc - bias).max()
        scale = np.abs(M @ qacc).max() + np.abs(bias).max()
        worst = np.maximum(worst, [np.abs(ours - M).max() / np.abs(M).max(), apart / scale])
    return float(worst[0]), float(worst[1])


def tendon_difference(peer, scene: Path, states: int) -> float:
    """Largest difference of lengths and moment arms of tendons at random states."""
    import mujoco

    m, d, rng, worst = peer.m, peer.d, np.random.default_rng(1), 0.0
    sim = mb.Simulator(replace(mb.load_scene(scene), loop_closures=(), gears=()))  # any state will do
    for _ in range(states):
        qpos, qvel, _ = peer.random_state(rng)
        q, T = peer.ours(qpos)
        peer.at(qpos, qvel)
        arms = np.zeros((m.ntendon, m.nv))
        mujoco.mju_sparse2dense(arms, d.ten_J, m.ten_J_rownnz, m.ten_J_rowadr, m.ten_J_colind)
        for dof in range(m.nv):
            sim.set_state(q, T[:, dof])
            told = list(sim.tendons().values())[: m.ntendon]
            worst = max(worst, *(abs(one.length - length) for one, length in zip(told, d.ten_length)),
                        *(abs(one.rate - arm) for one, arm in zip(told, arms[:, dof])))  # fmt: skip
    return worst


def without_contacts(path: Path, folder: Path) -> Path:
    """The model without contacts and friction, which leave open where it comes to rest, in a file of its own."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(path))
    flags = mujoco.mjtDisableBit
    spec.option.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_FRICTIONLOSS)
    spec.meshdir, spec.texturedir = (str((path.parent / f).resolve()) for f in (spec.meshdir, spec.texturedir))
    spec.compile()
    out = folder / "driven.xml"
    out.write_text(spec.to_xml())
    return out


def driven(path: Path, seconds: float) -> tuple[float, float, float]:
    """Servos hold parts of their ranges until all rests: distances of tendons, couplings and joints to MuJoCo's.

    Its limits and equalities are as stiff as it lets them be, at the end in steps of 0.1 ms.
    """
    import mujoco

    from oracles.mujoco_peer import MujocoPeer

    with tempfile.TemporaryDirectory() as folder:
        file = without_contacts(path, Path(folder))
        made = mb.model.import_mjcf(file, Path(folder) / "scene")
        sim = mb.Simulator(made.scene)
        peer = MujocoPeer(mujoco, file, sim.world, made.links, made.joints)
    m, d = peer.m, peer.d
    stiff = (m.jnt_solref, m.jnt_solimp), (m.tendon_solref_lim, m.tendon_solimp_lim), (m.eq_solref, m.eq_solimp)
    for reference, impedance in stiff:
        reference[:], impedance[:, :2] = (2.0 * m.opt.timestep, 1.0), 0.9999
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    servos = np.flatnonzero((m.actuator_biastype == AFFINE) & (m.actuator_biasprm[:, 1] < 0.0)).tolist()
    for i in servos:
        low, high = m.actuator_ctrlrange[i] if m.actuator_ctrllimited[i] else (0.0, 0.2)
        d.ctrl[i] = low + (0.3 + 0.4 * (i % 2)) * (high - low)
        goal = m.actuator_gainprm[i, 0] * d.ctrl[i] + m.actuator_biasprm[i, 0]
        goal /= -m.actuator_biasprm[i, 1] * m.actuator_gear[i, 0]
        if m.actuator_trntype[i] == TENDON:
            sim.set("rest_length", goal, of=[m.actuator(i).name or f"actuator_{i}"])
        else:
            sim.set_targets([made.joints[m.actuator_trnid[i, 0]]], positions=[goal])
    for length, step in ((seconds, m.opt.timestep), (0.1 * seconds, FINE)):
        m.opt.timestep = step
        for reference, _ in stiff:
            reference[:, 0] = 2.0 * step
        for _ in range(round(length / step)):
            mujoco.mj_step(m, d)
    sim.step(steps=round(1.1 * seconds / sim.time_step))
    told = list(sim.tendons().values())[: m.ntendon]
    lengths = max((abs(one.length - length) for one, length in zip(told, d.ten_length)), default=0.0)
    scalar = np.flatnonzero(m.jnt_type >= SCALAR).tolist()
    apart = {j: sim.q[peer.scalars[made.joints[j]][0]] - d.qpos[m.jnt_qposadr[j]] for j in scalar}
    pairs = np.flatnonzero((m.eq_type == COUPLED) & (m.eq_obj2id >= 0)).tolist()
    couplings = [apart[m.eq_obj1id[e]] - m.eq_data[e, 1] * apart[m.eq_obj2id[e]] for e in pairs]
    joints = [apart[m.actuator_trnid[i, 0]] for i in servos if m.actuator_trntype[i] != TENDON]
    return float(lengths), *(float(np.abs(of).max(initial=0.0)) for of in (couplings, joints))


def drop(scene: Path, seconds: float, limit: float) -> tuple[int, int, int, float, str]:
    """Most contacts, steps taken, unsolved ones, largest residual, and why the run ended early."""
    contacts, unsolved, worst, end = 0, 0, 0.0, time.perf_counter() + limit
    try:
        sim = mb.Simulator(scene)
    except mb.MbContactError as error:  # loops that cannot be closed
        return 0, 0, 1, 0.0, str(error)
    steps = round(seconds / sim.time_step)
    for taken in range(steps):
        if time.perf_counter() > end:
            return contacts, taken, unsolved, worst, f"stopped after {limit:g} s"
        try:
            certificate = sim.step().certificate
        except mb.MbContactError as error:
            return contacts, taken, unsolved + 1, worst, str(error)
        contacts, worst = max(contacts, certificate.contacts), max(worst, certificate.residual)
        unsolved += certificate.residual > SOLVED
    return contacts, steps, unsolved, worst, ""


def row_of(path: Path, options) -> tuple[list[str], str, bool]:
    """The row of a model, what is said of it beside, and whether all is well."""
    import mujoco

    from oracles.mujoco_peer import MujocoPeer

    with tempfile.TemporaryDirectory() as folder:
        try:
            made = mb.model.import_mjcf(path, folder)
            world = mb.build_world(mb.load_scene(made.scene))
        except mb.MbContactError as error:
            return [], str(error).replace(f"{path}: ", "").replace(folder, ""), "MuJoCo refuses it" in str(error)
        peer = MujocoPeer(mujoco, path, world, made.links, made.joints)
        mass, effort = differences(peer, options.states)
        contacts, steps, unsolved, worst, why = 0, 0, 0, 0.0, ""
        if peer.m.nv:
            contacts, steps, unsolved, worst, why = drop(made.scene, options.seconds, options.limit)
        pulls = tendon_difference(peer, made.scene, options.states) if peer.m.ntendon else 0.0
        why += f"{'; ' if why else ''}{peer.m.ntendon} tendons: {pulls:.0e}" if peer.m.ntendon else ""
    alike = True
    if options.drive and peer.m.ntendon:
        found = driven(path, options.drive)
        why += "; driven: tendons {:.0e} m, couplings {:.0e}, joints {:.0e} rad".format(*found)
        alike = max(found) < COUPLED_ALIKE
    values = [len(world.tree.parent), len(world.v0), len(world.geometry_names), len(world.geoms.pairs)]
    counts = [str(value) for value in (*values, len(made.left_out))]
    row = [*counts, f"{mass:.0e}", f"{effort:.0e}", str(contacts), str(steps), str(unsolved), f"{worst:.0e}"]
    return row, why, max(mass, effort, pulls) < SAME and not unsolved and alike


def main(argv=None) -> int:
    """Print the table; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="folders, or single files")
    parser.add_argument("--only", metavar="TEXT", help="files whose path has this in it")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run, simulated (2)")
    parser.add_argument("--drive", type=float, default=0.0, metavar="SECONDS", help="driven so long")
    parser.add_argument("--limit", type=float, default=60.0, help="wall seconds of each run (60)")
    parser.add_argument("--states", type=int, default=5, help="random states of each model (5)")
    parser.add_argument("--markdown", action="store_true", help="a table for the docs")
    options = options_of(parser, argv, only="hopper.xml", seconds=0.05, states=1)
    need("mujoco", "gymnasium")
    import gymnasium

    folders = options.folders or [Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"]
    bar = " | " if options.markdown else "  "
    print(bar.join(HEAD).strip())
    loaded = refused = bad = 0
    for folder in folders:
        for path in models_in(folder, options.only):
            row, said, well = row_of(path, options)
            name = str(path.relative_to(folder)) if folder.is_dir() else f"{path.parent.name}/{path.name}"
            print(bar.join([name, *row, said]).rstrip(), flush=True)
            loaded, refused, bad = loaded + bool(row), refused + (not row), bad + (not well)
    print(f"{loaded} loaded, {refused} refused, {bad} of them not as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
