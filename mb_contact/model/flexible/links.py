# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Flexible links of a robot file: its specifications with a joint for each mode and a link for each node.

A flexible link L becomes its floating frame L, joints and links ``L/mode_1`` ..., which move nothing by themselves, and
links ``L/node_1`` ... without mass, where the modes place what was attached to L: its joints, its shapes and the nodes
that the scene names.  Its <inertial> is that of the body without deformation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mb_contact.checks import Floats, instead_of
from mb_contact.errors import ModelError
from mb_contact.model.flexible.files import read_modal_body
from mb_contact.model.flexible.modal import ModalBody, ModalMass, fixed_at, modal_mass, normal_modes
from mb_contact.model.flexible.spec import TOL_PLACE, beam_body
from mb_contact.model.resources import find_resource
from mb_contact.model.rotations import rotation_about
from mb_contact.model.scene import FlexibleLink
from mb_contact.model.shapes.inertia import MASSLESS, RigidInertia
from mb_contact.model.urdf.xml import JointSpec, LinkSpec


class FlexibleBody(NamedTuple):
    """A flexible link in a tree: its bodies, its modes and their integrals, in the axes of its floating frame.

    r modes, m nodes.  A coordinate is the deflection [m] of the point that its mode moves most, or the angle [rad]
    where a mode twists the link alone.
    """

    link: str
    body: int  #: the floating frame
    modes: tuple[int, ...]  #: bodies that stand for the modes
    nodes: tuple[int, ...]  #: bodies that stand for the nodes
    mass: ModalMass
    shape: Floats  #: (m, r, 3), displacements of the nodes for each unit of a mode
    slope: Floats  #: (m, r, 3), their rotation vectors [rad]
    short: Floats  #: (m, r, r), second derivatives of the displacements along ``mass.axis``
    stiffness: Floats  #: (r,) [N/m, N m/rad]
    damping: Floats  #: (r,) [N s/m, N m s/rad]
    omega: Floats  #: (r,), angular frequencies with the frame held [rad/s]

    def node_motions(self, tree, q):
        """(body, (R, p)) of each node: its axes and origin [m] at ``q`` in those that it has without deformation."""
        start = tree.q_start[self.modes[0]]
        eta = q[start : start + len(self.modes)]
        for k, shape, slope, short in zip(self.nodes, self.shape, self.slope, self.short):
            turn = eta @ slope
            angle = np.linalg.norm(turn)
            axis = turn / angle if angle > 0.0 else np.array([1.0, 0.0, 0.0])
            yield k, (rotation_about(axis, angle), eta @ shape + 0.5 * (eta @ short @ eta) * self.mass.axis)

    def set_springs(self, tree, first, stiffness, damping):
        """Write what makes the modes stiff and damps them into lists, behind ``first`` entries of others."""
        d = first + int(tree.v_start[self.modes[0]])
        last = d + len(self.modes)
        stiffness[d:last], damping[d:last] = self.stiffness.tolist(), self.damping.tolist()

    def shifted(self, first: int) -> FlexibleBody:
        """The same in a tree in which ``first`` bodies stand before those of this one."""
        modes, nodes = (tuple(first + k for k in bodies) for bodies in (self.modes, self.nodes))
        return self._replace(body=first + self.body, modes=modes, nodes=nodes)


class _Parts(NamedTuple):
    """What a flexible link's specifications became, by names."""

    link: str
    modes: tuple[str, ...]
    nodes: tuple[str, ...]
    body: ModalBody
    places: tuple[int, ...]  # point of ``body`` of each node
    omega: Floats
    damping_ratio: float


def split_flexible(reader, links, joints, flexible: Mapping[str, FlexibleLink], floating: bool, start) -> list[_Parts]:
    """Put the frames, modes and nodes of flexible links into the specifications of a file, in place.

    Parameters
    ----------
    reader : UrdfReader
    links : dict of str to LinkSpec
    joints : dict of str to JointSpec
    flexible : mapping of str to FlexibleLink
        By link.
    floating : bool
        Whether the root link has a floating joint.
    start : Path or None
        Folder that files of modal data are relative to.
    """
    return [_split(reader, links, joints, name, spec, floating, start) for name, spec in flexible.items()]


def flexible_bodies(parts: list[_Parts], body_of: Mapping[str, int]) -> tuple[FlexibleBody, ...]:
    """FlexibleBody of each part, ``body_of`` the number of the body that a link is."""
    return tuple(_body(part, body_of) for part in parts)


def _body(part, body_of):
    stiffness, places = np.diag(part.body.stiffness).copy(), list(part.places)
    mass = modal_mass(part.body)
    return FlexibleBody(
        part.link, body_of[part.link], tuple(body_of[name] for name in part.modes),
        tuple(body_of[name] for name in part.nodes), mass,
        np.moveaxis(part.body.shape[places], 1, 2), np.moveaxis(part.body.slope[places], 1, 2),
        part.body.short[places], stiffness, 2.0 * part.damping_ratio * np.sqrt(stiffness * np.diag(mass.modal)),
        part.omega,
    )  # fmt: skip


def _split(reader, links, joints, name, spec, floating, start):
    if name not in links:
        known = instead_of(name, links, "links:")
        raise ModelError(f"{reader.source}: no link '{name}' that could be flexible; {known}")
    link = links[name]
    inbound = next((joint for joint in joints.values() if joint.child == name), None)
    if inbound is None and not floating:
        raise ModelError(
            f"{reader.source}:{link.line}: the root link '{name}' stands on the world; put a root link below the "
            "flexible one, and a fixed joint between them"
        )
    loose = inbound is None or inbound.kind == "floating"
    attached = [joint for joint in joints.values() if joint.parent == name]
    places = [joint.p for joint in attached] + [shape.p for shape in link.collisions]
    places += [np.array(place, float) for place in spec.nodes.values()]
    body, omega, points = _modal_body(reader, link, spec, places, loose, start)
    used = sorted(set(points))
    nodes = {point: f"{name}/node_{i + 1}" for i, point in enumerate(used)}
    new_links, new_joints = _mode_specs(link, body.modes)
    modes = tuple(new_links)
    for point, node in nodes.items():
        new_links[node] = LinkSpec(node, link.line, MASSLESS)
        new_joints[node] = _joint(node, link, "node", name, node, body.point[point])
    for joint, point in zip(attached, points):
        joint.parent, joint.p = nodes[point], joint.p - body.point[point]
    for shape, point in zip(link.collisions, points[len(attached):]):
        new_links[nodes[point]].collisions.append(replace(shape, p=shape.p - body.point[point]))
    for (label, place), point in zip(spec.nodes.items(), points[len(attached) + len(link.collisions):]):
        frame = f"{name}/{label}"
        new_links[frame] = LinkSpec(frame, link.line, MASSLESS)
        offset = np.array(place, float) - body.point[point]
        new_joints[frame] = _joint(frame, link, "fixed", nodes[point], frame, offset)
    for label in (*new_links, *new_joints):
        if label in links or label in joints:
            message = f"the flexible link '{name}' needs the name '{label}'; rename what has it"
            raise ModelError(f"{reader.source}:{link.line}: {message}")
    if inbound is not None and inbound.kind == "fixed":
        inbound.kind = "weld"
    link.collisions, link.inertia = [], _rigid(body)
    others = dict(joints)
    joints.clear()
    joints.update({**new_joints, **others})  # the modes come first: they stand right behind the link's own joint
    links.update(new_links)
    return _Parts(name, modes, tuple(nodes.values()), body, tuple(used), omega, spec.damping_ratio)


def _mode_specs(link, count):
    """Links and joints of the modes of a flexible link, by name."""
    links, joints = {}, {}
    for i in range(count):
        mode = f"{link.name}/mode_{i + 1}"
        links[mode] = LinkSpec(mode, link.line, MASSLESS)
        joints[mode] = _joint(mode, link, "mode", link.name, mode, np.zeros(3))
    return links, joints


def _joint(name, link, kind, parent, child, p):
    return JointSpec(name, link.line, kind, parent, child, np.eye(3), p, np.zeros(3), effort=0.0)


def _rigid(body):
    """Inertia of the body without deformation."""
    mass = modal_mass(body)
    com = mass.moment / mass.mass
    square = np.dot(com, com) * np.eye(3) - np.outer(com, com)
    return RigidInertia(mass.mass, com, mass.rotational - mass.mass * square)


def _modal_body(reader, link, spec, places, loose, start):
    """(ModalBody, angular frequencies, point of each of ``places``) of a flexible link."""
    if spec.beam is not None:
        if spec.beam.density is None and not link.inertia.mass > 0.0:
            raise ModelError(
                f"{reader.source}:{link.line}: the flexible link '{link.name}' has no mass; give its beam a density"
            )
        body, omega = beam_body(spec.beam, link.inertia.mass, places, None if loose else np.zeros(3))
        return body, omega, _unique(body.point, len(body.point) - len(places))
    try:
        path = find_resource(spec.file, (), start)
    except FileNotFoundError as error:
        raise ModelError(f"no modal data of link '{link.name}': {error}") from None
    body, turns = read_modal_body(path)
    if not turns and (places or not loose):
        raise ModelError(f"{path}: the array 'rotation' is missing, which something attached to '{link.name}' needs")
    if not loose:
        body = fixed_at(body, _nearest(path, link, body, np.zeros(3), "its joint"))
    points = [_nearest(path, link, body, place, "something") for place in places]
    body, omega = normal_modes(body)
    return body, omega, points


def _unique(points, first):
    """Of each point from ``first`` on the first of those at the same place."""
    places = points[first:]
    return [first + int(np.argmin(np.linalg.norm(places - place, axis=1) > 1e-12)) for place in places]


def _nearest(path, link, body, place, what):
    distance = np.linalg.norm(body.point - place, axis=1)
    size = np.linalg.norm(np.ptp(body.point, axis=0))
    k = int(np.argmin(distance))
    if distance[k] > TOL_PLACE * size:
        x = ", ".join(f"{value:g}" for value in place)
        raise ModelError(
            f"{path}: {what} is attached to '{link.name}' at [{x}] m, where no point is; the nearest is "
            f"{distance[k]:.3g} m away: add one there"
        )
    return k
