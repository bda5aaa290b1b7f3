# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A scene of ordinary objects and of surfaces in contact coordinates behind the interface of ``Simulator``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from mb_contact.errors import DynamicsError, InputError
from mb_contact.record import TreePart
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.surfaces.step import SurfaceContactStep, SurfaceImpacts
from mb_contact.simulation.surfaces.world import shared_scene, shared_world
from mb_contact.surfaces.scene_build import build_tree, start
from mb_contact.surfaces.scene_file import SurfaceScene, load_surface_scene


class MixedSimulator(Simulator):
    """Rigid-contact simulation of ordinary objects beside bodies that roll and slide in contact coordinates.

    Parameters
    ----------
    scene : SurfaceScene or path
        With ``surface_contacts`` and models, primitives or a ground.
    progress : callable, optional
        Called with one line of text for each stage while kernels are compiled; not when they are cached.

    Attributes
    ----------
    tree : SurfaceTree
        Which moves the surface bodies and the robot that carries them.
    surface_scene : SurfaceScene

    Examples
    --------
    An egg in contact coordinates, and a tower of boxes that it is going to hit:

    >>> sim = mb.simulation.MixedSimulator("package://mb_contact/config/egg_and_boxes.yaml")
    >>> before = sim.save()
    >>> contacts = sim.step().contacts
    >>> [row["link_b"] for row in contacts if row["link_a"] == "egg"], sim.tree.mode_name("egg")
    (['world'], 'rolling')
    >>> sorted(sim.world.objects)
    ['ball', 'egg', 'lower', 'middle', 'upper']
    >>> sim.restore(before)
    >>> sim.state.mode
    array([2])
    >>> sim.set_object("egg", pose=((0.0, 1.0, 0.5), (0.0, 0.0, 0.0, 1.0)))
    >>> sim.tree.mode_name("egg")
    'free'
    >>> sim.set_state(sim.q, sim.v)
    >>> sim.reset()
    >>> sim.tree.mode_name("egg")
    'rolling'
    """

    _make_impacts, can_rebuild = SurfaceImpacts, False

    def __init__(self, scene: SurfaceScene | str | Path, progress: Callable[[str], Any] | None = None) -> None:
        self.surface_scene = scene = scene if isinstance(scene, SurfaceScene) else load_surface_scene(scene)
        if scene.ordinary is None:
            raise InputError("the scene has surface contacts alone; SurfaceSimulator is for these")
        self.tree = build_tree(scene)
        self._surfaces = TreePart(self.tree)
        super().__init__(shared_scene(scene), progress)
        self._made = MixedSimulator, (scene,)

    def _make_world(self, scene):
        world, self._rows = shared_world(self.surface_scene, scene, self.tree)
        return world

    def _make_contact_step(self, context):
        return SurfaceContactStep(context, self.tree, self._rows)

    # --- state ------------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to the scene's initial state; time, gravity, warm starts and external wrenches too."""
        start(self.tree, self.surface_scene)
        super().reset()
        self._follow()

    def set_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """Set coordinates and velocities; time goes on, warm starts are dropped.

        A surface body whose coordinates change flies from then on; one whose velocity alone changes goes on as this
        lets it.  Bodies that stand on a robot whose joints change go with it.

        Parameters
        ----------
        q : array_like (nq,)
            [rad, m; quaternions x y z w]
        v : array_like (N,)
            [rad/s, m/s]

        Raises
        ------
        InputError
            Wrong size, not finite, a zero quaternion, or a body inside the surface it lands on; the state is left as
            it was.
        """
        before = self.save()
        super().set_state(q, v)
        try:
            self.context.contact_step.adopt(before.q, before.v)
            self._follow()
        except DynamicsError as error:
            self.restore(before)
            raise InputError(str(error)) from None

    def rebuilt(self, scene: Any) -> Simulator:
        """Refused: the surfaces of a scene are there from its start to its end.

        Parameters
        ----------
        scene : Scene

        Returns
        -------
        Simulator
            Never.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError("beside surface_contacts no body comes or goes: put it into the scene file")

    def _follow(self):
        self.context.contact_step.follow()
        self._state.derived = {}
        self._state.work_done, self._state.energy_start = 0.0, self._state.energy()

