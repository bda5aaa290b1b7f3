# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo's model of an MJCF file, and the names and frames that its parts have as links, joints and shapes of ours.

MuJoCo's compiler resolves defaults, includes, mesh scales, inertias from geometry, frames and replicas; what it makes,
the arrays of ``mjModel``, is what the other files of this folder read.  Quaternions there are w x y z.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.errors import ModelError
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene.other_files import other_kind

FREE, BALL, SLIDE, HINGE = range(4)  #: mjtJoint
PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)  #: mjtGeom; above: SDF and what is only drawn
SITE = 6  #: mjtObj
RGB, RGBA, FLAT = 1, 8, 0  #: mjtTextureRole, mjtTexture


def load_mujoco(path: str | Path) -> tuple[Any, frozenset[str]]:
    """(mjModel, names of the disable and enable flags that are set) of an MJCF file.

    Raises
    ------
    ModelError
        No such file, no MuJoCo to compile it, or MuJoCo refuses it.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"no MJCF: {path} is not a file")
    what = other_kind(path, path.read_bytes())
    if what and "MuJoCo" not in what and not what.startswith("a robot"):
        raise ModelError(f"{path}: not a model of MuJoCo: it is {what}")
    try:
        import mujoco  # optional, and only an MJCF file needs it
    except ImportError:
        message = f"{path}: reading MJCF needs the package 'mujoco', which compiles it: pip install 'mb_contact[mjcf]'"
        raise ModelError(message) from None
    try:
        m = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        raise ModelError(f"{path}: MuJoCo refuses it: {' '.join(str(error).split())}") from None
    flags = ((mujoco.mjtDisableBit, "mjDSBL_", m.opt.disableflags), (mujoco.mjtEnableBit, "mjENBL_", m.opt.enableflags))
    return m, frozenset(
        name.removeprefix(prefix)
        for members, prefix, given in flags
        for name, bit in members.__members__.items()
        if name.startswith(prefix) and int(bit) & given
    )


class Names:
    """Names that are given once: of a second wish for one of them there is a numbered one."""

    def __init__(self) -> None:
        self.given: set[str] = set()

    def unique(self, wish: str) -> str:
        """``wish``, or the first of ``wish_2``, ``wish_3``, ... that is free."""
        name, number = wish, 2
        while name in self.given:
            name, number = f"{wish}_{number}", number + 1
        self.given.add(name)
        return name


class Compiled:
    """An mjModel ``m`` with the names and frames of its parts.

    The frame of a body's link has the body's axes and, as joint frames of a URDF do, lies in the anchor of the body's
    last joint, ``anchor`` away from the body's own origin.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.m, self.flags = load_mujoco(path)
        m, self.names, joint_names = self.m, Names(), Names()
        self.links = ["world"] + [
            self.names.unique(self.name("body", b) or f"body_{b}") for b in range(1, m.nbody)
        ]
        self.joints = [
            joint_names.unique(self.name("jnt", j) or self._nameless(j)) for j in range(m.njnt)
        ]
        self.actuators = int(getattr(m, "nactuator", m.nu))  #: their number, which newer releases have apart
        self.anchor = np.zeros((m.nbody, 3))
        for j in range(m.njnt):
            if m.jnt_type[j] in (BALL, HINGE):
                self.anchor[m.jnt_bodyid[j]] = m.jnt_pos[j]
        self.site_links: dict[int, str] = {}  #: the link that a site is, where it has a name and a body
        self.left_out: list[str] = []  #: a sentence for each thing that a scene cannot tell

    def limits(self, kind: str, index: int) -> tuple[float, float]:
        """Where the limits of a joint or tendon act, ``jnt`` or ``tendon``: a margin before its range ends."""
        low, high = getattr(self.m, f"{kind}_range")[index].tolist()
        margin = min(float(getattr(self.m, f"{kind}_margin")[index]), 0.5 * (high - low))
        return low + margin, high - margin

    def name(self, kind: str, index: int) -> str:
        """The name that the file gives a part, by the prefix of its arrays (``body``, ``jnt``, ``geom`` ...), or ''."""
        start = int(getattr(self.m, f"name_{kind}adr")[index])
        return self.m.names[start : self.m.names.index(b"\0", start)].decode()

    def called(self, kind: str, index: int, word: str | None = None) -> str:
        """The name of a part in quotes, or its number where it has none."""
        name = self.name(kind, index)
        return f"'{name}'" if name else f"{word or kind} {index}"

    def _nameless(self, j: int) -> str:
        body = int(self.m.jnt_bodyid[j])
        first = int(self.m.body_jntadr[body])
        return f"{self.links[body]}_joint" + (f"_{j - first + 1}" if self.m.body_jntnum[body] > 1 else "")

    def joints_of(self, body: int) -> range:
        """Indices of the joints of a body, base to tip."""
        first = int(self.m.body_jntadr[body])
        return range(first, first + int(self.m.body_jntnum[body]))

    def is_free(self, body: int) -> bool:
        """Whether a body moves freely in the world."""
        return any(self.m.jnt_type[j] == FREE for j in self.joints_of(body))

    def static_pose(self, body: int) -> tuple[Floats, Floats]:
        """(R, p) of a body that is fixed to the world, in the world."""
        R, p = np.eye(3), np.zeros(3)
        while body:
            R_body = rotation(self.m.body_quat[body])
            R, p = R_body @ R, self.m.body_pos[body] + R_body @ p
            body = int(self.m.body_parentid[body])
        return R, p


def rotation(quat: Any) -> Floats:
    """Rotation matrix of MuJoCo's quaternion w x y z."""
    return quat_to_matrix(np.roll(quat, -1))


def three(values: Any) -> tuple[float, float, float]:
    """Three numbers, none of them -0."""
    x, y, z = (float(value) + 0.0 for value in values)
    return x, y, z


def file_name(name: str) -> str:
    """A name as a file's: what could mean something to a shell or a path is an underscore."""
    return re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_"
