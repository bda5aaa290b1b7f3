# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Text about robots and scenes, for the command line."""

from __future__ import annotations

import numpy as np

from mb_contact.types import JOINT_FLOATING, JOINT_PRISMATIC, WORLD


def describe_model(model):
    """Lines about a robot: totals, its tree with inertias and limits, and warnings.

    Parameters
    ----------
    model : Model

    Returns
    -------
    list of str
    """
    tree = model.tree
    lines = [
        f"robot '{model.name}': {model.n} moving bodies, {model.N} degrees of freedom, "
        f"{len(model.link_names)} links, {len(model.geometries)} collision shapes, "
        f"{float(np.sum(tree.mass)):.3f} kg moving",
        "",
        f"{model.root_link} ({'free' if model.n and tree.joint_type[0] == JOINT_FLOATING else 'welded'})",
    ]
    children = {k: [] for k in range(WORLD, model.n)}
    for k in range(model.n):
        children[int(tree.parent[k])].append(k)
    _branch(model, children, WORLD, "", lines)
    fixed = [name for name in model.link_names if name not in model.body_names and name != model.root_link]
    if fixed:
        lines += ["", f"fixed to these bodies: {', '.join(fixed)}"]
    lines += ["", *(f"warning: {text}" for text in model.warnings)] if model.warnings else ["", "no warnings"]
    return lines


def _branch(model, children, parent, indent, lines):
    for i, k in enumerate(children[parent]):
        last = i + 1 == len(children[parent])
        lines.append(f"{indent}{'`-' if last else '|-'} {_body(model, k)}")
        _branch(model, children, k, indent + ("   " if last else "|  "), lines)


def _body(model, k):
    tree = model.tree
    text = f"{model.body_names[k]} <- {model.body_joint_names[k]} ({_joint(model, k)})"
    moments = np.linalg.eigvalsh(tree.inertia[k])
    inertia = " ".join(f"{value:.3g}" for value in moments)
    return f"{text}, {tree.mass[k]:.3g} kg, principal moments {inertia} kg m^2"


def _joint(model, k):
    tree, kind = model.tree, model.tree.joint_type[k]
    if kind == JOINT_FLOATING:
        return "floating"
    i = tree.v_start[k]
    unit, effort = ("m", "N") if kind == JOINT_PRISMATIC else ("rad", "N m")
    lower, upper = model.lower[i], model.upper[i]
    if np.isinf(lower) and np.isinf(upper):
        limits = "prismatic, no limits" if kind == JOINT_PRISMATIC else "continuous"
    else:
        name = "prismatic" if kind == JOINT_PRISMATIC else "revolute"
        limits = f"{name} {lower:.4g} to {upper:.4g} {unit}"
    limit = model.effort_limit[i]
    return f"{limits}, {'any effort' if np.isinf(limit) else f'{limit:.4g} {effort}'}"


def describe_scene(path):
    """Read a scene, build it, and return lines about it.

    Raises
    ------
    SceneError, ModelError
        The file or one of its robots is wrong.
    """
    from mb_contact.model.scene_yaml import load_scene
    from mb_contact.model.world import build_world

    scene = load_scene(path)
    world = build_world(scene)
    dof = world.tree.armature.shape[0]
    lines = [
        f"{path}: fine",
        f"time step {scene.time_step:g} s, friction {scene.friction_model} with "
        f"{scene.friction_directions} directions",
        f"{world.tree.parent.shape[0]} bodies, {dof} degrees of freedom, {len(world.joint_names)} joints",
        f"{len(world.geometry_names)} collision shapes, {len(world.geoms.pairs)} pairs that may touch",
        f"robots: {', '.join(model.name for model in world.robot_models) or 'none'}",
        f"free objects: {', '.join(world.objects) or 'none'}",
        f"operational frames: {', '.join(scene.operational_frames) or 'none'}",
    ]
    for model in world.robot_models:
        lines += [f"warning: {model.name}: {text}" for text in model.warnings]
    return lines
