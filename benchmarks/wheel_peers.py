# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The change of the wheel in MuJoCo: same bodies, shapes, friction, controller and gains; the table of docs/wheel.md.

    pip install mujoco
    python benchmarks/wheel_peers.py [--hold 60] [--seconds S] [--only NAME]

The world is turned into MJCF (mb_contact/model/mjcf).  The controller's operational-space terms come from
this package at MuJoCo's positions and velocities, all else from MuJoCo.  Each engine holds the wheel in the air for a
while before it goes on; times are CPU times of the engines' steps alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from quick import need, options_of

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples"))

import mb_contact as mb  # noqa: E402
from mb_contact.model.rotations import quat_to_matrix  # noqa: E402
from mb_contact.types import JOINT_FLOATING  # noqa: E402

USUAL = 'cone="elliptic" solver="Newton" integrator="Euler"'
ENGINES = {  #: name in the table: MuJoCo's options, None: this package
    "mb_contact": None,
    "MuJoCo, usual settings": 'integrator="Euler"',
    "MuJoCo, elliptic cone, impratio 10": USUAL + ' impratio="10"',
}


class Ours:
    """This package's simulator, timed, with what the table asks."""

    def __init__(self, scene):
        self.sim = mb.Simulator(scene)
        self.spent = 0.0

    def __getattr__(self, name):
        return getattr(self.sim, name)

    def step(self, effort):
        """One step."""
        start = time.process_time()
        result = self.sim.step(effort)
        self.spent += time.process_time() - start
        self.last = result
        return result

    def depth(self):
        """Deepest overlap of wheel and hub in the last step [m]."""
        found = self.last.contacts
        gaps = [c["gap"] for c in found if {c["link_a"], c["link_b"]} == {"wheel", "wheel_hub"}]
        return max(0.0, -min(gaps, default=0.0))


class Peer:
    """MuJoCo's world behind the calls of a Simulator; a simulator of ours mirrors its state for what is kinematics."""

    def __init__(self, scene, options):
        import mujoco

        from mb_contact.model.mjcf.compiled import Names
        from mb_contact.model.mjcf.exporter import joint_names
        from mb_contact.programs.bench.mujoco_world import degrees, model_of

        self._mujoco, self._mirror, self.spent = mujoco, mb.Simulator(scene), 0.0
        self.model, self.data = model_of(self._mirror, options)
        self._dofs, _ = degrees(self._mirror, self.model)
        self.step_count = 0
        world, names = self._mirror.world, Names()
        self._links = {names.unique(name): link for name, link in zip(world.geometry_names, world.geometry_links)}
        joints = [mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in joint_names(world)]
        self._places = [(int(self.model.jnt_qposadr[j]), int(self.model.jnt_dofadr[j])) for j in joints]
        mujoco.mj_forward(self.model, self.data)

    def __getattr__(self, name):
        return getattr(self._mirror, name)

    @property
    def time(self):
        """Simulated time [s]."""
        return float(self.data.time)

    def step(self, effort):
        """One step of MuJoCo; then the mirror has its state."""
        self.data.qfrc_applied[self._dofs] = effort
        start = time.process_time()
        self._mujoco.mj_step(self.model, self.data)
        self.spent += time.process_time() - start
        self.step_count += 1
        self._mirror.set_state(*self._state())
        return SimpleNamespace()

    def _state(self):
        """q and v of the mirror."""
        tree = self._mirror.world.tree
        q, v = self._mirror.q.copy(), self._mirror.v.copy()
        for k, (at, to) in enumerate(self._places):
            i, d = int(tree.q_start[k]), int(tree.v_start[k])
            if tree.joint_type[k] == JOINT_FLOATING:
                w, x, y, z = self.data.qpos[at + 3 : at + 7]
                q[i : i + 3], q[i + 3 : i + 7] = self.data.qpos[at : at + 3], (x, y, z, w)
                v[d + 3 : d + 6] = self.data.qvel[to : to + 3]
                v[d : d + 3] = quat_to_matrix((x, y, z, w)) @ self.data.qvel[to + 3 : to + 6]
            else:
                q[i], v[d] = self.data.qpos[at], self.data.qvel[to]
        return q, v

    def _contacts(self):
        """(link 1, link 2, distance [m], force on the second [N], world axes) of each contact."""
        wrench = np.zeros(6)
        for i in range(self.data.ncon):
            contact = self.data.contact[i]
            names = [self._links[self.model.geom(g).name] for g in contact.geom]
            self._mujoco.mj_contactForce(self.model, self.data, i, wrench)
            yield *names, float(contact.dist), contact.frame.reshape(3, 3).T @ wrench[:3]

    def contact_impulse(self, link):
        """Impulse of the contacts on a link, as a Simulator's, but for its angular part."""
        total = np.zeros(6)
        for first, second, _, force in self._contacts():
            total[3:] += self._mirror.time_step * force * ((second == link) - (first == link))
        return total

    def depth(self):
        """Deepest overlap of wheel and hub [m]."""
        gaps = [gap for first, second, gap, _ in self._contacts() if {first, second} == {"wheel", "wheel_hub"}]
        return max(0.0, -min(gaps, default=0.0))


def measure(name, scene, hold, seconds):
    """One engine; a dict."""
    from lift_controller import FRAMES, LiftError
    from wheel_controller import WheelTask
    from wheel_in_process import change

    options = ENGINES[name]
    sim = Ours(scene) if options is None else Peer(scene, options)
    found = SimpleNamespace(resting=0.0, deepest=0.0, off=0.0, places=[], phases=[], end="done")
    start = sim.link_pose("wheel")[0]

    def watch(controller, effort, step):
        if sim.step_count % 10 == 0:
            if controller.phase not in found.phases:
                found.phases.append(controller.phase)
            p, depth = sim.link_pose("wheel")[0], sim.depth()
            found.deepest = max(found.deepest, depth)
            found.resting = depth if controller.phase == "approach" else found.resting
            found.off = max(found.off, float(start[0] - p[0]))
            if controller.phase == "hold":
                hands = [sim.link_pose(frame) for frame in FRAMES]
                found.places.append([quat_to_matrix(turn).T @ (p - hand) for hand, turn in hands])
        controller.done = controller.done or (seconds is not None and sim.time >= seconds)

    try:
        change(sim, WheelTask(hold=hold), watch=watch)
    except (LiftError, mb.MbContactError) as error:
        found.end = f"{sim.time:.1f} s, {found.phases[-1]}: {error}"
    places = np.array(found.places)
    creep = np.linalg.norm(places[-1] - places[0], axis=1).max() if len(places) > 1 else np.nan
    back = np.linalg.norm(sim.link_pose("wheel")[0] - start)
    lengths = " | ".join(f"{1e3 * x:.2g}" for x in (found.off, creep, found.resting, found.deepest, back))
    return f"| {name} | {lengths} | {sim.step_count / sim.spent:.0f} | {found.end} |"


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hold", type=float, default=60.0, help="simulated seconds in the air")
    parser.add_argument("--seconds", type=float, help="simulated seconds in all; without it the whole task")
    parser.add_argument("--only", choices=tuple(ENGINES), action="append")
    options = options_of(parser, seconds=0.05, hold=0.0)
    need("mujoco")
    from wheel_in_process import SCENE

    print(f"| engine | off by [mm] | creep in {options.hold:g} s [mm] | studs in holes at rest [mm] | at most [mm] | "
          "back within [mm] | steps/s | end |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    for name in options.only or ENGINES:
        print(measure(name, SCENE, options.hold, options.seconds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
