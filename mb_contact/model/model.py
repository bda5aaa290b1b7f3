# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The immutable robot: a tree of moving bodies, the frames of all links, and the collision geometries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_vector, instead_of
from mb_contact.errors import InputError, ModelError
from mb_contact.model.poses import tree_poses
from mb_contact.model.shapes.hulls import Hull
from mb_contact.model.urdf.mimics import expand
from mb_contact.types import WORLD, Tree


class Frame(NamedTuple):
    """A frame fixed to a body: every link of a URDF is one, also those that fixed joints weld together.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2).urdf())
    >>> robot.frames["link_1"].body, robot.frames["base"].body  # the base stands on the world
    (1, -1)
    """

    body: int  #: body index, or WORLD
    R: np.ndarray  #: (3, 3), frame axes in body axes
    p: np.ndarray  #: (3,), frame origin in the body frame [m]

    def placed(self, R: Floats, p: Floats) -> tuple[Floats, Floats]:
        """Pose of the frame in the world.

        Parameters
        ----------
        R : ndarray (n, 3, 3)
            Axes of the bodies in the world.
        p : ndarray (n, 3)
            Their origins [m].

        Returns
        -------
        R : ndarray (3, 3)
        p : ndarray (3,)
            [m]

        Examples
        --------
        >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
        >>> robot.frames["link_1"].placed(*robot.body_poses([0.0, 0.0]))[1]
        array([ 0.,  0., -1.])
        """
        if self.body == WORLD:
            return self.R.copy(), self.p.copy()
        return R[self.body] @ self.R, p[self.body] + R[self.body] @ self.p


class Geometry(NamedTuple):
    """A collision shape fixed to a body, centred at its frame with its long axis along z.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> robot.geometries[1].link, robot.geometries[1].size
    ('link_1', array([0.5, 0. , 0. ]))
    """

    name: str
    link: str  #: the link that declares it
    body: int  #: body index, or WORLD
    kind: int  #: SHAPE_*
    size: np.ndarray  #: (3,), see SHAPE_* in mb_contact.types
    R: np.ndarray  #: (3, 3), geometry axes in body axes
    p: np.ndarray  #: (3,), geometry origin in the body frame [m]
    material: str | None = None
    friction: float | None = None  #: from the URDF; counts where the scene gives no material
    hull: Hull | None = None  #: of a convex shape, in the geometry's frame


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A robot as read from a URDF; its arrays are read-only.

    Bodies are the moving links, numbered base to tip (``tree.parent[k] < k``), in the file's
    order depth first.  A floating joint carries no constraint, so its child is the root of
    a tree of its own: its seven coordinates are the pose of the body in the inertial frame.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> robot.n, robot.N, robot.nq, robot.joint_names
    (2, 2, 2, ('hinge_0', 'hinge_1'))
    >>> q = robot.q_from({"hinge_1": np.pi / 2})
    >>> R, p = robot.link_pose("link_1", q)
    >>> p
    array([ 0.,  0., -1.])
    >>> robot.lower, robot.upper, robot.effort_limit
    (array([-inf, -inf]), array([inf, inf]), array([inf, inf]))
    """

    name: str
    root_link: str
    tree: Tree
    joint_names: tuple[str, ...]  #: scalar movable joints, in the tree's order
    joint_q: np.ndarray  #: int64, index of each of joint_names in q
    joint_v: np.ndarray  #: int64, index of each of joint_names in v
    body_joint_names: tuple[str, ...]  #: the joint that moves each body
    dof_joint_names: tuple[str, ...]  #: N names; those of a floating joint end in _wx ... _vz
    body_names: tuple[str, ...]  #: link that each body is named after
    link_names: tuple[str, ...]
    frames: dict[str, Frame]  #: of every link
    geometries: tuple[Geometry, ...]
    adjacent_pairs: frozenset[frozenset[str]]  #: pairs of links that never collide
    velocity_limit: np.ndarray  #: (N,), inf where none
    friction: np.ndarray  #: (N,), Coulomb friction of scalar joints [N m, N]
    neutral: np.ndarray  #: (nq,), zero joint positions; floating bodies where the file puts them
    warnings: tuple[str, ...] = ()
    urdf: str = ""
    still_mass: float = 0.0  #: of the links that stand on the inertial frame [kg]
    lenient: tuple[tuple[str, str], ...] = ()  #: options of load_urdf without which the file would be refused
    mimics: tuple = ()  #: Mimic of each joint that follows another; q, v and efforts are then those of the others
    whole: Model | None = None  #: with mimics: the same robot with the coordinates of all joints
    kept: np.ndarray | None = None  #: with mimics: int64 (N,), degrees of freedom of the tree that v has
    q_kept: np.ndarray | None = None  #: with mimics: int64 (nq,)
    S: np.ndarray | None = None  #: with mimics: (degrees of freedom of the tree, N), rates of all from v
    flexible: tuple = ()  #: FlexibleBody of each flexible link

    def __repr__(self):
        return f"Model('{self.name}', n={self.n}, N={self.N}, joints={len(self.joint_names)})"

    @property
    def n(self) -> int:
        """Number of moving bodies.

        Returns
        -------
        int
        """
        return len(self.tree.parent)

    @property
    def N(self) -> int:
        """Number of degrees of freedom, the length of v.

        Returns
        -------
        int
        """
        return len(self.velocity_limit)

    @property
    def nq(self) -> int:
        """Length of q: N plus one for each floating or spherical joint.

        Returns
        -------
        int
        """
        return len(self.neutral)

    @property
    def effort_limit(self) -> Floats:
        """Greatest effort of each degree of freedom, inf where none, 0 where not actuated.

        Returns
        -------
        ndarray (N,)
            [N m, N]
        """
        return self._of_v(self.tree.effort_limit)

    @property
    def lower(self) -> Floats:
        """Lower position limits, -inf where none.

        Returns
        -------
        ndarray (N,)
            [rad, m]
        """
        return self._of_v(self.tree.lower)

    @property
    def upper(self) -> Floats:
        """Upper position limits, inf where none.

        Returns
        -------
        ndarray (N,)
            [rad, m]
        """
        return self._of_v(self.tree.upper)

    def _of_v(self, array):
        return array if self.kept is None else array[self.kept]

    def expand_q(self, q: ArrayLike) -> Floats:
        """Coordinates of the whole tree from q: the same, but for joints that mimic others.

        Parameters
        ----------
        q : array_like (nq,)
            [rad, m; quaternions x y z w]

        Returns
        -------
        ndarray, one entry for each coordinate of ``tree``

        Raises
        ------
        InputError
            q does not fit or is not finite.

        Examples
        --------
        >>> robot = mb.load_urdf(mb.pendulum(2).urdf())  # nothing mimics another joint
        >>> robot.expand_q([0.1, 0.2])
        array([0.1, 0.2])
        """
        return expand(self, as_vector(q, self.nq, "q"))

    def expand_v(self, v: ArrayLike) -> Floats:
        """Rates of the whole tree from v.

        Parameters
        ----------
        v : array_like (N,)
            [rad/s, m/s]

        Returns
        -------
        ndarray, one entry for each degree of freedom of ``tree``

        Raises
        ------
        InputError
            v does not fit or is not finite.

        Examples
        --------
        >>> mb.load_urdf(mb.pendulum(2).urdf()).expand_v([0.1, 0.2])
        array([0.1, 0.2])
        """
        v = as_vector(v, self.N, "v")
        return v if self.S is None else self.S @ v

    def neutral_q(self) -> Floats:
        """New array: every scalar joint at zero, floating bodies at the pose the file gives them.

        Returns
        -------
        ndarray (nq,)
            [rad, m; quaternions x y z w]

        Examples
        --------
        >>> mb.load_urdf(mb.pendulum(1).urdf(), floating=True).neutral_q()
        array([0., 0., 0., 0., 0., 0., 1., 0.])
        """
        return self.neutral.copy()

    def q_from(self, positions: Mapping[str, float]) -> Floats:
        """Coordinates with some joints set by name, the others neutral.

        Parameters
        ----------
        positions : mapping of str to float
            Joint positions [rad, m].

        Returns
        -------
        ndarray (nq,)

        Raises
        ------
        ModelError
            A name is not a scalar joint of this model.
        """
        q = self.neutral_q()
        for name, value in positions.items():
            if name not in self.joint_names:
                known = instead_of(name, self.joint_names)
                raise ModelError(f"model '{self.name}' has no joint '{name}'; {known}")
            q[self.joint_q[self.joint_names.index(name)]] = value
        return q

    def body_poses(self, q: ArrayLike) -> tuple[Floats, Floats]:
        """Poses of all body frames; a plain loop for setting up and checking, the simulator uses the compiled sweep.

        Parameters
        ----------
        q : array_like (nq,)
            [rad, m; quaternions x y z w]

        Returns
        -------
        R : ndarray (n, 3, 3)
            Body axes in the inertial frame.
        p : ndarray (n, 3)
            Origins in the inertial frame [m].

        Raises
        ------
        InputError
            q does not have nq entries.

        Examples
        --------
        >>> R, p = mb.load_urdf(mb.pendulum(2, length=2.0).urdf()).body_poses([0.0, 0.0])
        >>> p
        array([[ 0.,  0.,  0.],
               [ 0.,  0., -1.]])
        """
        if np.shape(q) != (self.nq,):
            raise InputError(f"q must have {self.nq} entries, got shape {np.shape(q)}")
        return tree_poses(self.tree, expand(self, np.asarray(q, dtype=np.float64)), self.flexible)

    def __setstate__(self, state):
        """Copies and unpickled models are read-only too."""
        self.__dict__.update(state)
        freeze(self)

    def link_pose(self, link: str, q: ArrayLike) -> tuple[Floats, Floats]:
        """Pose of a link's frame.

        Parameters
        ----------
        link : str
        q : array_like (nq,)
            [rad, m; quaternions x y z w]

        Returns
        -------
        R : ndarray (3, 3)
            Its axes in the inertial frame.
        p : ndarray (3,)
            Its origin in the inertial frame [m].

        Raises
        ------
        ModelError
            There is no such link.
        InputError
            q does not have nq entries.
        """
        if link not in self.frames:
            raise ModelError(f"model '{self.name}' has no link '{link}'; {instead_of(link, self.link_names)}")
        return self.frames[link].placed(*self.body_poses(q))


def freeze(model):
    """Make every array of the model read-only: it is shared by all that use it."""
    arrays = [*model.tree, model.joint_q, model.joint_v, model.velocity_limit, model.friction, model.neutral]
    arrays += [array for frame in model.frames.values() for array in (frame.R, frame.p)]
    arrays += [array for shape in model.geometries for array in (shape.size, shape.R, shape.p)]
    hulls = [shape.hull for shape in model.geometries if shape.hull is not None]
    arrays += [array for hull in hulls for array in hull if isinstance(array, np.ndarray)]
    for array in arrays:
        array.setflags(write=False)
