# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The workspaces of one thread that steps worlds, and what its steps need beside their compiled call."""

from dataclasses import replace
from typing import Any, NamedTuple

from mb_contact.compile.decorated import entry_for
from mb_contact.core.declare import allocate
from mb_contact.core.handle import MEASURED, PROJECTION
from mb_contact.core.integrate.flow_step import ANSWERED, ANSWERED_AT_END
from mb_contact.core.workspace import MAY_SLEEP
from mb_contact.core.worlds import run as _run
from mb_contact.core.worlds.store import (
    LAST,
    LOADED,
    NO_COMMAND,
    NO_STATE,
    NO_STEP_LEFT,
    STAGE,
    STEP,
    STORE_TOO_SMALL,
    TAKEN,
    WORLD,
    Lane,
    make_lane_handle,
)
from mb_contact.errors import DynamicsError
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.state import SimulationState
from mb_contact.simulation.stepping.step import Stepper
from mb_contact.simulation.values import writable
from mb_contact.types import ASK_AT_END, ASK_ENGINE

#: why a world ends before a step is begun
REFUSED = {
    NO_STATE: "its coordinates or velocities are not finite: reset it",
    NO_COMMAND: "its controller has raised an exception: call it from Python with this world's state to see which",
}


class Held(NamedTuple):
    """Arrays, and the handle by which kernels take them."""

    arrays: Any
    handle: Any


class ThreadLane:
    """A Simulator through which worlds pass, one after the other.

    Parameters
    ----------
    scene : Scene
    progress : callable, optional
        As of Simulator.

    Attributes
    ----------
    context : StepContext
    world : World
        The scene's; ``context.world`` has the values of the world that was loaded last.
    state : SimulationState
        Of the loaded world; ``state.reset()`` puts the scene's initial one into the context.
    """

    def __init__(self, scene, progress=None):
        self._sim = Simulator(scene, progress, warm_up=False)
        self.context = context = self._sim.context
        context.sleep.rule[MAY_SLEEP] = 0.0  # workspaces are those of whatever world came last
        context.drift[MEASURED] = float(context.drift[PROJECTION] > 0.0)
        self.state = SimulationState(context)
        self._stepper = Stepper(self.state)
        self._compiled = self._stepper.in_one_call()
        world = context.world
        self.world = _as_built(world)
        own = {name: writable(getattr(world.tree, name)) for name in TREE_ARRAYS}
        own |= {"mu": writable(world.geoms.mu), "size": writable(world.geoms.size)}
        own |= {"total": context.joints.total, "restitution": writable(world.restitution)}
        own |= {"stiffness": writable(world.geoms.soft.stiffness)}
        scene_own = {"scene_mass": world.tree.mass.copy(), "scene_inertia": world.tree.inertia.copy()}
        own |= {name: getattr(context.arrays, name) for name in ("clock", "time_before")}
        self._lane = allocate(Lane, **own, **scene_own)
        self.handle = make_lane_handle(self._lane)
        self._entry = None

    def sizes(self, count):
        """Sizes of the store of ``count`` worlds, by their names there."""
        context, geoms = self.context, self.world.geoms
        return {
            "w": count, "nq": len(context.q), "N": context.N, "n": context.n, "g": len(geoms.kind),
            "joints": len(self.world.joint_names), "pairs": len(geoms.pairs), "words": context.layout.fixed.size,
        }  # fmt: skip

    def run(self, store, values, job, first, last, controller):
        """Take the steps of the job's worlds ``first`` to ``last``.

        Parameters
        ----------
        store, values, job : Held

        Returns
        -------
        failed : list of (int, str)
            Places in the job of the worlds whose steps have failed, and why.
        crowded : list of int
            Places of the worlds that have more contacts than the store has room for: they are as they were.
        """
        at, context, failed, crowded = self._lane.at, self.context, [], []
        at[:] = 0
        at[WORLD], at[LAST] = first, last
        while True:
            status = self._call(self.handle, store.handle, values.handle, job.handle, controller)
            if status == NO_STEP_LEFT:
                return failed, crowded
            w = int(job.arrays.worlds[at[WORLD]])
            if status == STORE_TOO_SMALL:
                crowded.append(int(at[WORLD]))
                self._leave()
            elif status in REFUSED:
                self._fail(store, w, failed, REFUSED[status])
            elif status == ASK_ENGINE:
                context.ask_engine()
                at[STAGE] = ANSWERED
            elif status == ASK_AT_END:
                context.integrator.ask_engine()
                at[STAGE] = ANSWERED_AT_END
            elif context.make_room(status):
                at[STAGE] = min(at[STAGE], ANSWERED)
            else:
                self._take_step(store, w, failed)

    def _leave(self):
        """On to the next world."""
        self._lane.at[LOADED] = 0
        self._lane.at[WORLD] += 1

    def _fail(self, store, w, failed, why):
        """End world w as it is, and tell why."""
        failed.append((int(self._lane.at[WORLD]), why))
        _run.keep_world(self.context.handle, self.handle, store.handle, w)
        self._leave()

    def _call(self, lane, store, values, job, controller):
        """The compiled steps, until all are taken or one needs more; its status."""
        arguments = self.context.handle, lane, store, values, job, self._compiled, controller
        if self._entry is None:
            self._entry = entry_for(_run.run_worlds, *arguments)
        return self._entry(*arguments)

    def _take_step(self, store, w, failed):
        """The step of world w that the compiled call cannot take, or the failure of that world."""
        lane, state, at = self._lane, self.state, self._lane.at
        state.step_count, state.even_steps = (lane.clock + at[STEP]).tolist()
        state.time_before = float(lane.time_before[0])
        try:
            self._stepper.step(state.time_step, self.context.command.copy())
            at[TAKEN] = 1
        except DynamicsError as error:
            self._fail(store, w, failed, str(error))


#: arrays of the tree that worlds have of their own
TREE_ARRAYS = "mass", "inertia", "damping", "body_gravity"


def _as_built(world):
    """The world with copies of all arrays that ``writable`` opens."""
    tree, geoms = world.tree, world.geoms
    own = {name: getattr(tree, name).copy() for name in TREE_ARRAYS}
    sizes = {name: getattr(geoms, name).copy() for name in ("mu", "size")}
    restitution, soft = world.restitution.copy(), geoms.soft
    sizes["soft"] = soft._replace(stiffness=soft.stiffness.copy())
    for array in (*own.values(), sizes["mu"], sizes["size"], restitution, sizes["soft"].stiffness):
        array.setflags(write=False)
    return replace(world, tree=tree._replace(**own), geoms=geoms._replace(**sizes), restitution=restitution)
