# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Many worlds of one scene: one model, their states in contiguous arrays, steps on threads in compiled code."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_positive, as_shape, as_whole
from mb_contact.compile.decorated import is_kept
from mb_contact.core.declare import allocate
from mb_contact.core.handle import TOLERANCE
from mb_contact.core.worlds.run import run_worlds
from mb_contact.core.worlds.store import Store
from mb_contact.errors import InputError
from mb_contact.model.scene import Scene, load_scene
from mb_contact.simulation.kernels.warm_up import WORLDS, compile_parts, compile_step
from mb_contact.worlds.chosen import Chosen
from mb_contact.worlds.controllers import Controllers
from mb_contact.worlds.jobs import Jobs
from mb_contact.worlds.lanes import Held, ThreadLane
from mb_contact.worlds.states import StatesOfWorlds, WorldStates, held_store
from mb_contact.worlds.values import OwnValues

FIRST_ROOM = 16  #: contacts that the store has room for in each world; doubled whenever one has more
LARGEST_BLOCK = 64  #: worlds that a thread takes at once


class Worlds(WorldStates):
    """``count`` worlds of one scene, each with a state of its own.

    Every world takes the very steps of a ``Simulator``, bit for bit, whatever the others do and whatever thread has it.

    Parameters
    ----------
    scene : Scene or path
    count : int
    threads : int, optional
        That share the steps; by default as many as there are processors.
    progress : callable, optional
        Called with one line of text for each stage while kernels are compiled.

    Attributes
    ----------
    world : World
        The scene's bodies, joints and shapes.
    scene : Scene
    count, threads : int
    time_step : float
        [s]
    failures : dict of int to str
        Worlds whose last step has failed, and why: they wait for a reset.

    Raises
    ------
    InputError
        The count or the threads are not whole numbers above zero.
    SceneError, ModelError
        The scene is impossible.

    Examples
    --------
    >>> worlds = mb.Worlds("package://mb_contact/config/box_on_table.yaml", 4, threads=2)
    >>> worlds.v[:, 3] = [0.0, 0.1, 0.2, 0.3]  # the boxes slide
    >>> worlds.step(steps=10)
    >>> worlds.q.shape, worlds.times()[0], worlds.certificates["contacts"]
    ((4, 7), 0.01, array([4., 4., 4., 4.]))
    >>> before = worlds.save()
    >>> worlds.reset([0, 3])
    >>> worlds.times()
    array([0.  , 0.01, 0.01, 0.  ])
    >>> worlds.restore(before)
    >>> worlds.set("friction", [0.1, 0.2, 0.3, 0.4])
    >>> worlds.randomise("mass", 0.5, 2.0, seed=7, mask=[1, 2, 3])
    >>> worlds.state(2).q.shape, worlds.failures, worlds.failed.any()
    ((7,), {}, False)
    >>> worlds.efforts.shape, worlds.joint_efforts.shape, worlds.targets.shape
    ((4, 0), (4, 6), (4, 6))
    >>> worlds.body_positions.shape, worlds.body_rotations.shape, worlds.link_poses("box")[0].shape
    ((4, 1, 3), (4, 1, 3, 3), (4, 3))
    >>> weight = worlds.contact_impulses[0, 1, 5] / worlds.time_step
    >>> bool(np.isclose(weight, 9.81 * worlds.world.tree.mass[0], rtol=1e-3))
    True
    >>> worlds.contacts(0).shape, worlds.worst_residuals.max() < 1e-9, worlds.bytes_per_world < 10_000
    ((4, 14), True, True)
    >>> rows, there, pairs = worlds.contact_rows()
    >>> there.sum(axis=1), pairs[int(rows[0, 0, 12])]
    (array([4, 4, 4, 4]), ('table', 'box'))
    >>> worlds.state[3] = worlds.state[0]  # a fork
    >>> worlds.state.shape[0], bool((worlds.q[3] == worlds.q[0]).all())
    (4, True)
    >>> worlds.v[1, 3] = 0.5
    >>> worlds.refresh([1])
    >>> job = worlds.job([1, 3], steps=5)
    >>> worlds.advance(job)
    >>> job.arrays.q.shape
    (2, 5, 7)
    >>> worlds.solver_tolerance
    1e-10
    >>> worlds.close()
    """

    def __init__(
        self,
        scene: Scene | str | Path,
        count: int,
        threads: int | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> None:
        self.scene = scene if isinstance(scene, Scene) else load_scene(scene)
        message = "worlds have none, since their rollouts are compiled and paths are Python's: a Simulator takes them"
        self.scene.refuse_if(len(self.scene.motions) > 0, "motions", message)
        for i, closure in enumerate(self.scene.loop_closures):
            self.scene.refuse_if(closure.end is not None, f"loop_closures[{i}].end", message)
        self.count = as_whole(count, "count")
        progress = progress or (lambda _line: None)
        if not is_kept(run_worlds):
            compile_step(progress, WORLDS)
        available = len(os.sched_getaffinity(0))
        self.threads = min(as_whole(available if threads is None else threads, "threads"), self.count)
        self._lanes = [ThreadLane(self.scene, progress) for _ in range(self.threads)]
        self._pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None
        context = self._lanes[0].context
        compile_parts(context, progress)
        self.world, self.time_step = self._lanes[0].world, context.dt
        self._sizes = self._lanes[0].sizes(self.count)
        self._closed = False
        self._controllers = Controllers(len(context.q), context.N, len(self.world.joint_names))
        self._own = OwnValues(self._lanes[0], self._sizes)
        self._layout = context.layout
        room = self._layout.width * FIRST_ROOM
        self._store = held_store(allocate(Store, c=FIRST_ROOM, room=room, **self._sizes))
        scene = self._lanes[0].state.record.scene
        #: states of all worlds (count, size), as ``Simulator.state`` (docs/state.md); ``state(number)`` is that of one
        self.state = StatesOfWorlds(self._layout, self, len(self.world.geoms.pairs), scene)
        self._jobs = Jobs(self.count, self._sizes)
        self.failures: dict[int, str] = {}
        self.reset()

    def __reduce__(self) -> Any:
        raise TypeError("Worlds cannot be copied or pickled; make others of their scene, and assign their state[:]")

    def __repr__(self) -> str:
        return f"Worlds({self.scene!r}, count={self.count}, threads={self.threads})"

    def close(self) -> None:
        """End the threads; the arrays stay."""
        self._closed = True
        if self._pool is not None:
            self._pool.shutdown()

    @property
    def solver_tolerance(self) -> float:
        """Natural map of every block that a step asks of its solver, in all worlds; settable.

        Returns
        -------
        float
            [sqrt(N s m/s)]
        """
        return float(self._lanes[0].context.solver[TOLERANCE])

    @solver_tolerance.setter
    def solver_tolerance(self, residual: float) -> None:
        for lane in self._lanes:
            lane.context.solver[TOLERANCE] = as_positive(residual, "solver_tolerance")

    # --- values -----------------------------------------------------------------------------

    @property
    def has_own_values(self) -> bool:
        """Whether ``set`` or ``randomise`` has given worlds values of their own.

        Returns
        -------
        bool

        Examples
        --------
        >>> mb.Worlds("package://mb_contact/config/box_on_table.yaml", 2).has_own_values
        False
        """
        return self._own.any()

    def set(self, name: str, values: ArrayLike | None, of: Sequence[Any] | None = None, mask: Chosen = None) -> None:
        """Give worlds values of their own.

        Parameters
        ----------
        name : str
            ``mass`` of bodies [kg], their inertias grow with it; ``friction`` and ``restitution`` of pairs of links,
            and ``stiffness`` of those that give way, in the unit of their softness; ``damping`` of joints; ``inertia``
            (6,) and ``gravity`` (3,) as of ``Simulator.set``; ``size`` (3,) of shapes as in a scene [m]: a box and an
            ellipsoid have three full lengths, a cylinder, capsule and cone radius and length, a sphere its radius, and
            numbers behind count for nothing; mass and inertia stay; and of the initial state, which counts from the
            next reset: ``position`` of joints, within their limits, ``pose`` of free objects: (7,) position and
            quaternion x y z w.
        values : array_like
            Broadcast to (worlds, ``of``), with the numbers of one behind.  None for the gravity of single bodies: that
            of the scene again.
        of : sequence, optional
            Names; pairs of links as (link_a, link_b).  All of the scene if left out.
        mask : array_like, optional
            The worlds; all if left out.

        Raises
        ------
        InputError
            An unknown name, impossible numbers, or a value that the scene cannot have; nothing has changed.
        """
        self._own.set(name, values, of, self._chosen(mask), self._part("gravity"))

    def randomise(
        self,
        name: str,
        low: ArrayLike,
        high: ArrayLike,
        of: Sequence[Any] | None = None,
        by: str = "factor",
        seed: int | Sequence[int] = 0,
        mask: Chosen = None,
    ) -> None:
        """Draw values of worlds uniformly; what a world gets depends on the seed and its own number alone.

        Parameters
        ----------
        name, of, mask
            As of ``set``.
        low, high : array_like
            Range, broadcast to (``of``, numbers of one).
        by : str
            ``factor`` on the scene's value, ``offset`` to it, or the ``value`` itself.  The offset of a ``pose`` is
            (6,): a way [m], and a rotation vector [rad] by which it turns where it is, in world axes.
        seed : int or sequence of int
            For instance (seed, episode).

        Raises
        ------
        InputError
            As of ``set``; nothing has changed.
        """
        chosen = self._chosen(mask)
        self._own.set(name, self._own.draw(name, low, high, of, by, seed, chosen), of, chosen, self._part("gravity"))

    # --- stepping ---------------------------------------------------------------------------

    def step(
        self,
        efforts: ArrayLike | None = None,
        steps: int = 1,
        mask: Chosen = None,
        controller: Callable[..., None] | None = None,
        data: ArrayLike | None = None,
    ) -> None:
        """Advance worlds by steps of ``time_step``; ``failures`` tells those that could not.

        Parameters
        ----------
        efforts : array_like (count, joints), optional
            Of ``world.joint_names``, clamped to the limits [N m, N]; those in ``efforts`` if left out.
        steps : int
        mask : array_like, optional
            The worlds; all if left out.
        controller : callable, optional
            ``law(time, world, q, v, effort, data)``, which Numba compiles: called before each step, it changes
            ``effort`` (joints,) in place.
        data : ndarray (count, d), optional
            Rows that the controller may read and change; float64.

        Raises
        ------
        InputError
            Arrays of another shape, or not finite, or efforts with ``coordinates: bodies``; nothing has changed.
        """
        commanded, steps = self._store.arrays.effort, as_whole(steps, "steps")
        if efforts is not None and self.world.hinge_names:
            raise InputError("worlds have no efforts with coordinates: bodies; use a Simulator, or coordinates: joints")
        if efforts is not None:
            efforts = as_shape(efforts, commanded.shape, "efforts")
        chosen, job = self._chosen(mask), self._jobs.every
        if mask is not None or data is not None:
            job = self._jobs.of_some(chosen, data)
        self._controllers.compiled(controller, job.arrays.data.shape[1])
        if efforts is not None:
            commanded[:] = efforts
        job.arrays.steps[0] = steps
        self.advance(job, controller, len(chosen))

    def advance(self, job: Held, controller: Callable[..., None] | None = None, count: int | None = None) -> None:
        """Run a job of ``job`` on all threads, again and again where its controls change.

        Parameters
        ----------
        job : Held
        controller : callable, optional
            As of ``step``.
        count : int, optional
            So many of its worlds, the first ones; all if left out.
        """
        call, kept = self._controllers.compiled(controller, job.arrays.data.shape[1])
        blocks = _blocks(len(job.arrays.worlds) if count is None else count, self.threads)
        data = job.arrays.data.copy()
        while blocks:
            failed, crowded = self._run(job, call, iter(blocks))
            for place, why in failed:
                self.failures[int(job.arrays.worlds[place])] = why
            if crowded:
                self._grow()
                again = job.arrays.worlds[crowded]
                job.arrays.data[again] = data[again]
            blocks = [(place, place + 1) for place in crowded]
        del kept

    def _run(self, job, call, blocks):
        """All blocks on all threads: (place, message) of what has failed, places of what the store has no room for."""
        if self._closed:
            raise InputError("these worlds are closed: their threads have ended; make others")

        def work(lane):
            done = []
            for first, last in blocks:  # of one iterator that all threads share
                done.append(lane.run(self._store, self._own.values, job, first, last, call))
            return done

        others = [self._pool.submit(work, lane) for lane in self._lanes[1:]] if self._pool else []
        done = work(self._lanes[0])
        for other in others:
            done += other.result()
        return [f for failed, _ in done for f in failed], sorted(p for _, crowded in done for p in crowded)

    # --- arrays -----------------------------------------------------------------------------

    def job(self, worlds: ArrayLike, controls: Floats | None = None, steps: int = 0, data: Any = None) -> Held:
        """Arrays of a job for ``advance``: it keeps q, v and the residual of every step.

        Parameters
        ----------
        worlds : int64 (k,)
        controls : ndarray (k, t, joints), optional
        steps : int
            Without controls: how many.
        data : ndarray (count, d), optional
            As of ``step``.

        Returns
        -------
        Held
            Its ``arrays`` have ``controls`` (k, t, joints), and of every step q, v, ``residual``, ``contacts``.
        """
        return self._jobs.make(worlds, controls, steps if controls is None else controls.shape[1], data)

def _blocks(count, threads):
    """(first, last) of runs of worlds, several for each thread."""
    size = max(1, min(LARGEST_BLOCK, -(-count // (4 * threads))))
    return [(first, min(first + size, count)) for first in range(0, count, size)]
