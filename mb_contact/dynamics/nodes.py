# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes, the places that tasks and contacts act on.

A node is the name of a frame (six rows: angular and linear, at the frame's origin), a :class:`Node` (six rows, at
another point of that frame) or a :class:`Point` (three linear rows).  Rows of several nodes are stacked in their order;
axes are always the world's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_choice, as_vector
from mb_contact.dynamics.arguments import TreeModel
from mb_contact.errors import InputError


@dataclass(frozen=True)  # no tuples: a Node is not equal to the Point at its place
class _Place:
    """A position in a frame."""

    frame: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self):
        numbers = self.position.tolist() if isinstance(self.position, np.ndarray) else self.position
        if isinstance(numbers, list):  # what is hashed is remembered (evaluator.py)
            object.__setattr__(self, "position", tuple(numbers))


class Node(_Place):
    """Six rows, angular first, at ``position`` [m] of a frame, given in that frame's axes.

    Rows are in world axes.  A Node and a Point at the same place are not equal.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> tip = mb.Node("link_0", (0.0, 0.0, -1.0))
    >>> mb.jacobian(robot, [0.0], tip).ravel()
    array([ 0.,  1.,  0., -1.,  0.,  0.])
    """


class Point(_Place):
    """Three linear rows at ``position`` [m] of a frame, given in that frame's axes.

    Rows are in world axes.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> tip = mb.Point("link_0", (0.0, 0.0, -1.0))
    >>> mb.jacobian(robot, [0.0], tip).ravel()
    array([-1.,  0.,  0.])
    """


NodeLike = str | Node | Point  #: a frame's name stands for its origin
Nodes = NodeLike | Sequence[NodeLike]


class NodeArrays(NamedTuple):
    """Nodes as the kernels take them."""

    names: tuple  #: of the frames
    body: np.ndarray  #: int64 (f,), or WORLD
    first: np.ndarray  #: int64 (f,), 0 or 3: the first of the six rows that counts
    R: np.ndarray  #: (f, 3, 3), frame to body
    p: np.ndarray  #: (f, 3), node in the body [m]

    @property
    def rows(self):
        """Number of stacked rows."""
        return int(6 * len(self.first) - self.first.sum())


def node_arrays(model: TreeModel, nodes: Nodes) -> NodeArrays:
    """Checked NodeArrays of one node or a sequence of nodes.

    Raises
    ------
    InputError
        No node, an unknown frame, or a position that is not three numbers.
    """
    if isinstance(nodes, (str, Node, Point)):
        nodes = (nodes,)
    try:
        nodes = tuple(nodes)
    except TypeError:
        raise InputError(f"{nodes!r} is no frame's name, Node or Point, nor several of them") from None
    if not nodes:
        raise InputError("frames must name at least one frame")
    places: list[Node | Point] = [Node(node) if isinstance(node, str) else node for node in nodes]
    R, p = [], []
    for node in places:
        if not isinstance(node, (Node, Point)):
            raise InputError(f"{node!r} is no frame's name, Node or Point")
        frame = model.frames[as_choice(node.frame, model.frames, "frame")]
        R.append(frame.R)
        p.append(frame.p + frame.R @ as_vector(node.position, 3, f"position in '{node.frame}'"))
    return NodeArrays(
        names=tuple(node.frame for node in places),
        body=np.array([model.frames[node.frame].body for node in places], np.int64),
        first=np.array([0 if isinstance(node, Node) else 3 for node in places], np.int64),
        R=np.array(R, float),
        p=np.array(p, float),
    )
