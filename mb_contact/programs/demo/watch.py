# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A simulator that keeps a record of itself: the truth that a demonstration is judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_whole
from mb_contact.model.scene import Scene
from mb_contact.simulation.results import Step
from mb_contact.simulation.simulator import Simulator


class WatchedSimulator(Simulator):
    """Simulator that samples an object, two hands, the contact forces and the joint efforts.

    Parameters
    ----------
    scene : Scene or path
    item : str
        The free object to watch.
    hands : sequence of str
        Frames to express the object's position in.
    supports : sequence of str
        Links whose contact forces on the object are sampled.
    progress : callable, optional
    period : float
        Between two samples [s].
    on_sample : callable, optional
        Called with this simulator after each sample, on the physics thread.
    """

    def __init__(
        self,
        scene: Scene | str | Path,
        item: str,
        hands: Sequence[str],
        supports: Sequence[str] = (),
        progress: Callable[[str], Any] | None = None,
        period: float = 0.01,
        on_sample: Callable[[WatchedSimulator], Any] | None = None,
    ) -> None:
        self._watching = False  # the warm-up step inside the constructor is none of the record's business
        self._item, self._hands, self.supports = item, tuple(hands), tuple(supports)
        self._last: Step | None = None
        self._penetration = 0.0
        self._on_sample = on_sample
        self.samples: list[tuple[Any, ...]] = []
        self.energy_balance = 0.0
        super().__init__(scene, progress=progress)
        self._every = max(1, round(period / self.time_step))
        self.fingers = tuple(self.scene.contact_wrench_links)
        self.energy_start = self.energy()
        self._sample()
        self._watching = True

    def begin_record(self) -> None:
        """Forget the samples and begin with the present state, as after a time in which things came to rest."""
        self.samples.clear()
        self._sample()

    def step(self, effort: ArrayLike | None = None, time_step: float | None = None, steps: int = 1) -> Step:
        """Advance by one time step, or by several one by one, with samples in between; see :meth:`Simulator.step`."""
        events: tuple[Any, ...] = ()
        for _ in range(as_whole(steps, "steps")):
            result = self._step(effort, time_step)
            result.events = events = (*events, *result.events)
        return result

    def _step(self, effort, time_step):
        result = super().step(effort, time_step)
        self.energy_balance = result.certificate.energy_balance
        self._last, self._penetration = result, max(self._penetration, result.certificate.penetration)
        if self._watching and self.step_count % self._every == 0:
            self._sample()
            if self._on_sample is not None:
                self._on_sample(self)
        return result

    def _sample(self):
        p, quaternion = self.link_pose(self._item)
        in_hands = [R.T @ (p - origin) for R, origin in map(self._frame, self._hands)]
        forces = np.linalg.norm(self.contact_impulse(self.fingers)[:, 3:], axis=1) / self.time_step
        supports, deepest = self._support_forces(), self._penetration
        self.samples.append((self.time, p, quaternion, in_hands, forces, self.joint_efforts(), supports, deepest))
        self._penetration = 0.0

    def _support_forces(self):
        """Norm of each support's force on the object in the last step (supports,) [N]."""
        sums = dict.fromkeys(self.supports, np.zeros(3))
        if sums and self._last is not None:
            for contact in self._last.contacts:
                pair = contact["link_a"], contact["link_b"]
                for link in self.supports:
                    if link in pair and self._item in pair:
                        sums[link] = sums[link] + contact["impulse"]
        return [np.linalg.norm(impulse) / self.time_step for impulse in sums.values()]

    def record(self) -> dict[str, Floats]:
        """The samples as arrays.

        Returns
        -------
        dict of str to ndarray
            time (s,) [s]; position (s, 3) [m] and quaternion (s, 4) of the object; in_hands (s, hands, 3),
            its position in the hands' frames [m]; forces (s, fingers) [N]; efforts (s, joints) [N m]; supports
            (s, supports) [N]; penetration (s,), the deepest since the sample before [m].
        """
        keys = ("time", "position", "quaternion", "in_hands", "forces", "efforts", "supports", "penetration")
        return {key: np.array(column) for key, column in zip(keys, zip(*self.samples))}
