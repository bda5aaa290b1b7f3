# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Text about robots and scenes, for the command line."""

import re

import numpy as np

from mb_contact.model.segments import depth, mass_matrix_nonzeros, segment_pattern, serial_segments
from mb_contact.types import JOINT_FLOATING, JOINT_NAMES, JOINT_PRISMATIC, JOINT_REVOLUTE, JOINT_SCREW, WORLD

PICTURE_LIMIT = 40  #: segments; a larger picture of the blocks would not fit on a screen
GROUP_FROM = 2  #: more warnings than this that differ only in names and numbers are written as one


def describe_model(model):
    """Lines about a robot: totals, masses, its tree by serial-chain segments, sparsity, and warnings.

    Parameters
    ----------
    model : Model

    Returns
    -------
    list of str
    """
    tree = model.tree
    segments = serial_segments(tree)
    moving = float(np.sum(tree.mass))
    lines = [
        f"robot '{model.name}': {model.n} moving bodies, {model.N} degrees of freedom, "
        f"{len(model.link_names)} links, {len(model.geometries)} collision shapes",
        f"mass: {moving:.3f} kg moving, {model.still_mass:.3f} kg on the inertial frame, "
        f"{moving + model.still_mass:.3f} kg in all",
        "",
        f"{model.root_link} ({'free' if model.n and tree.joint_type[0] == JOINT_FLOATING else 'welded'})",
        *_tree_lines(model, segments),
    ]
    fixed = [name for name in model.link_names if name not in model.body_names and name != model.root_link]
    if fixed:
        lines += ["", f"fixed to these bodies: {', '.join(fixed)}"]
    if model.mimics:
        follow = (f"{m.joint} = {m.ratio:g} {m.leader} {m.offset:+g}" for m in model.mimics)
        lines += ["", f"mimic joints (eliminated; the tree above has them): {', '.join(follow)}"]
    return [*lines, "", *_sparsity_lines(model, segments), "", *_warning_lines(model)]


def _tree_lines(model, segments):
    """The tree; bodies of one segment stand below each other, so that a long chain needs no indentation."""
    lines, inside = [], []
    last_child = {segment.children[-1] for segment in segments if segment.children}
    roots = [s for s, segment in enumerate(segments) if segment.parent == WORLD]
    last_child.update(roots[-1:])
    for s, segment in enumerate(segments):  # a parent comes before its children
        outer = "" if segment.parent == WORLD else inside[segment.parent]
        inside.append(outer + ("   " if s in last_child else "|  "))
        count = len(segment.bodies)
        head = f"segment {s + 1}, {count} {'body' if count == 1 else 'bodies'}"
        lines.append(f"{outer}{'`-' if s in last_child else '|-'} {head}")
        lines += [f"{inside[s]}{_body(model, k)}" for k in segment.bodies]
    return lines


def _sparsity_lines(model, segments):
    """Sparsity of the mass matrix, predicted from the segments (J11 section 7.4)."""
    if not segments:
        return ["nothing moves"]
    nonzeros, size = mass_matrix_nonzeros(segments), len(model.tree.armature) ** 2
    lines = [
        f"depth: {depth(segments)} bodies; {len(segments)} serial-chain segments",
        f"mass matrix: {nonzeros} of {size} entries can differ from zero ({100.0 * nonzeros / size:.1f} %)",
    ]
    if 1 < len(segments) <= PICTURE_LIMIT:
        lines.append("blocks of the mass matrix by segment (X can differ from zero):")
        width = len(str(len(segments)))
        for s, row in enumerate(segment_pattern(segments)):
            cells = " ".join("X" if cell else "." for cell in row)
            lines.append(f"  {s + 1:>{width}}  {cells}  {segments[s].dof} dof")
    elif len(segments) > PICTURE_LIMIT:
        lines.append(f"(no picture of the blocks: more than {PICTURE_LIMIT} segments)")
    return lines


def _warning_lines(model):
    """All warnings; those that differ only in a name, a line or numbers stand together."""
    if not model.warnings:
        return ["no warnings"]
    groups = {}
    for text in model.warnings:
        groups.setdefault(_pattern(text), []).append(text)
    lines = [f"{len(model.warnings)} warning{'s' if len(model.warnings) > 1 else ''}:"]
    for texts in groups.values():
        if len(texts) <= GROUP_FROM:
            lines += [f"warning: {text}" for text in texts]
            continue
        named = [re.search(r"'[^']*'", text.partition(": ")[2]) for text in texts]
        first, *others = dict.fromkeys(name.group() for name in named if name)
        lines.append(f"warning ({len(texts)} like this): {texts[0]}")
        lines += [f"  also {', '.join(others)}"] if others else []
    if model.lenient:
        options = ", ".join(f"{name}='{value}'" for name, value in model.lenient)
        lines.append(f"load_urdf refuses this file by default; to load it: load_urdf(..., {options})")
    return lines


def _pattern(warning):
    """A warning without what may differ between two of a kind: file, line, names, numbers."""
    return re.sub(r"'[^']*'|[-+.\de]*\d", "#", warning.partition(": ")[2])


def _body(model, k):
    tree = model.tree
    text = f"{model.body_names[k]} <- {model.body_joint_names[k]} ({_joint(model, k)})"
    moments = np.linalg.eigvalsh(tree.inertia[k])
    inertia = " ".join(f"{value:.3g}" for value in moments)
    return f"{text}, {tree.mass[k]:.3g} kg, principal moments {inertia} kg m^2"


def _joint(model, k):
    tree, kind = model.tree, model.tree.joint_type[k]
    if tree.nv[k] > 1:
        return f"{JOINT_NAMES[kind]}, {tree.nv[k]} degrees of freedom"
    i = tree.v_start[k]
    unit, effort = ("m", "N") if kind == JOINT_PRISMATIC else ("rad", "N m")
    lower, upper = tree.lower[i], tree.upper[i]
    name = JOINT_NAMES[kind]
    if kind == JOINT_SCREW:
        name += f" of pitch {2e3 * np.pi * (tree.axis[k] @ tree.axis2[k]):.4g} mm,"
    if np.isinf(lower) and np.isinf(upper):
        limits = "continuous" if kind == JOINT_REVOLUTE else f"{name.rstrip(',')}, no limits"
    else:
        limits = f"{name} {lower:.4g} to {upper:.4g} {unit}"
    limit = tree.effort_limit[i]
    return f"{limits}, {'any effort' if np.isinf(limit) else f'{limit:.4g} {effort}'}"


def describe_scene(scene, world):
    """Lines about a scene and its World."""
    dof = world.tree.armature.shape[0]
    return [
        f"time step {scene.time_step:g} s, friction {scene.friction_model} with "
        f"{scene.friction_directions} directions",
        f"{world.tree.parent.shape[0]} bodies, {dof} degrees of freedom, {len(world.joint_names)} joints",
        f"{len(world.geometry_names)} collision shapes, {len(world.geoms.pairs)} pairs that may touch",
        f"robots: {', '.join(entry.name or m.name for entry, m in zip(scene.models, world.robot_models)) or 'none'}",
        f"free objects: {', '.join(world.objects) or 'none'}",
        f"operational frames: {', '.join(scene.operational_frames) or 'none'}",
    ]
