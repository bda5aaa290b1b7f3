# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How contact forces are drawn, in the web view, in pictures and in rviz: colours, sizes, and the arrows' scale."""

from collections import deque
from typing import Any

import numpy as np

from mb_contact.checks import Floats

COLOURS = {"stick": (25, 204, 51), "slip": (255, 128, 0), "separate": (153, 153, 153)}  #: by a contact's state
POINT, SHAFT, HEAD = 0.012, 0.5, 1.2  #: diameter of a point, of the scene's size; of an arrow's parts, of a point's
LONGEST = 0.25  #: of the scene's size: no arrow of the last second is longer, but for blows
CUT = 0.6  #: of the scene's size: where an arrow is cut off, which a blow's may be
WEAK = 0.5  #: of a point's diameter: a shorter arrow would be no more than the back of its head
FRAMES, CALM = 30, 90  #: that the scale of arrows looks back at, to make them shorter and longer again


class ArrowScale:
    """How long force arrows are: the largest force of the last second at most a part of the scene's size.

    The scale is 1, 2 or 5 times a power of ten, so that it stays while forces vary a little; a blow of a few frames
    does not change it.

    Parameters
    ----------
    size : float
        Of the scene [m].
    weight : float
        Of a typical object, the force before any is seen [N]; 0: a newton.
    """

    def __init__(self, size: float, weight: float = 0.0) -> None:
        self._length = LONGEST * size
        self._largest: deque[float] = deque(maxlen=CALM)
        self.scale = self._rounded(2.0 * (weight or 1.0))  #: [m/N]

    def _rounded(self, force):
        """The largest scale of the series at which a force [N] has its length at most."""
        exact = self._length / force
        decade = 10.0 ** np.floor(np.log10(exact))
        return float(decade * max(step for step in (1.0, 2.0, 5.0) if step * decade <= exact * (1.0 + 1e-9)))

    def settle(self, forces: Floats) -> None:
        """Take the forces of a frame as those that there have been all the time, where none were seen before."""
        for _ in range(0 if self._largest else CALM):
            self.see(forces)

    def see(self, forces: Floats) -> None:
        """Take the forces of a frame (c, 3) [N] into account."""
        largest = float(np.linalg.norm(forces, axis=1).max(initial=0.0))
        if largest <= 0.0:
            return
        self._largest.append(largest)
        lately = list(self._largest)
        usual, highest = float(np.median(lately[-FRAMES:])), max(lately)
        if len(lately) >= FRAMES // 3 and self._rounded(usual) < self.scale:
            self.scale = self._rounded(usual)
        elif len(lately) in (FRAMES, CALM) and self._rounded(highest) > self.scale:
            self.scale = self._rounded(highest)


def typical_weight(world: Any) -> float:
    """Median of the weights of a world's objects [N]; 0 where it has none."""
    weights = np.linalg.norm(world.gravity) * world.tree.mass[list(world.objects.values())]
    return float(np.median(weights)) if len(weights) else 0.0
