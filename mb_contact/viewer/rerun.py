# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A file for Rerun's viewer: meshes, their poses over time, contact points and forces, joints and energies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.errors import InputError
from mb_contact.simulation.arrows import COLOURS, POINT, SHAFT, ArrowScale
from mb_contact.viewer.drawing import Drawing, Part
from mb_contact.viewer.look import rgb
from mb_contact.viewer.normals import creased
from mb_contact.viewer.snapshot import Poses, Snapshot
from mb_contact.viewer.view import extent


def write_rerun(
    path: str | Path, drawing: Drawing, poses: Poses, frames: Sequence[Snapshot], title: str = "scene"
) -> Path:
    """Write frames as a file (``.rrd``) that ``rerun FILE`` plays: timeline ``time``, links below ``world``.

    Parameters
    ----------
    path : path
    drawing : Drawing
    poses : dict
        Of all links that are drawn at the start; those of the frames count where they move.
    frames : sequence of Snapshot
        By time.
    title : str
        Name of the application that the viewer shows.

    Raises
    ------
    InputError
        rerun-sdk is not installed, or the file cannot be written.
    """
    try:
        import rerun as rr
    except ImportError as error:
        raise InputError(f"--rerun needs rerun-sdk ({error}): pip install 'mb_contact[rerun]'") from None
    stream = rr.RecordingStream(title)
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        stream.save(path)
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot write '{path}': {error}") from None
    stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    for i, part in enumerate(drawing.visuals):
        stream.log(_entity(rr, "world", part.link, f"visual_{i}"), _mesh(rr, part), static=True)
        if part.link not in drawing.moving:
            stream.log(_entity(rr, "world", part.link), _pose(rr, *poses[part.link]), static=True)
    size = drawing.size or extent(drawing, poses)[1]
    arrows = ArrowScale(size, drawing.weight)
    for frame in frames:
        stream.set_time("time", duration=frame.time)
        for link, pose in frame.poses.items():
            stream.log(_entity(rr, "world", link), _pose(rr, *pose))
        arrows.settle(frame.contacts.forces)
        arrows.see(frame.contacts.forces)
        _log_contacts(rr, stream, frame.contacts, arrows.scale, POINT * size)
        for names, value in _curves(frame).items():
            stream.log(_entity(rr, *names), rr.Scalars(value))
    stream.disconnect()
    return Path(path)


def _entity(rr, *names):
    """Path of an entity, of names that may have any signs."""
    return "/".join(rr.escape_entity_path_part(name) for name in names)


def _mesh(rr: Any, part: Part) -> Any:
    vertices, triangles = creased(part)
    albedo = (*rgb(part.colour), round(255.0 * part.opacity))
    return rr.Mesh3D(vertex_positions=vertices, triangle_indices=triangles, albedo_factor=albedo)


def _pose(rr, position, quaternion):
    return rr.Transform3D(translation=position, quaternion=rr.Quaternion(xyzw=quaternion))


def _log_contacts(rr, stream, contacts, scale, thick):
    """Points and forces, in the colours, sizes and scale of the page."""
    colours = np.array([COLOURS[state] for state in contacts.states], np.uint8).reshape(-1, 3)
    stream.log("world/contacts/points", rr.Points3D(contacts.points, colors=colours, radii=0.5 * thick))
    forces = rr.Arrows3D(
        origins=contacts.points, vectors=scale * contacts.forces, colors=colours, radii=0.5 * SHAFT * thick
    )
    stream.log("world/contacts/forces", forces)


def _curves(frame):
    """What is plotted, by the names of its entity: joints, and energies."""
    found: dict[tuple[str, ...], float] = {}
    joints = frame.readings
    for quantity in ("positions", "velocities", "efforts"):
        for joint, value in zip(joints.joints, getattr(joints, quantity)):
            found["joints", quantity, joint] = value
    return found | {("energy", name): value for name, value in joints.energies.items()}
