# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a compiled MJCF holds that a scene cannot tell, in one sentence a kind."""

from collections.abc import Collection, Iterator

import numpy as np

from mb_contact.model.mjcf.compiled import MESH, Compiled

#: prefix of the arrays, name of their number, what it is called
PARTS = (
    ("cam", "ncam", "cameras"),
    ("flex", "nflex", "flexible bodies"), ("skin", "nskin", "skins"), ("plugin", "nplugin", "plugins"),
)  # fmt: skip
#: arrays that are zero where nothing is meant by them, and what they mean; some only newer releases have
EXTRAS = (
    ("jnt_stiffnesspoly", "jnt", "springs that are not linear, of joints"),
    ("dof_dampingpoly", "", "damping that is not linear"),
    ("jnt_springyield", "jnt", "plastic springs of joints"),
    ("body_gravcomp", "body", "gravity compensation of bodies"),
    ("geom_adhesion", "geom", "adhesion of geoms"),
    ("geom_surfacevel", "geom", "moving surfaces of geoms"),
    ("geom_fluid", "geom", "fluid forces on geoms"),
    ("tendon_armature", "tendon", "inertia along tendons"),
    ("tendon_actfrclimited", "tendon", "limits of actuators' forces on tendons"),
    ("tendon_stiffnesspoly", "tendon", "springs that are not linear, of tendons"),
    ("tendon_dampingpoly", "tendon", "damping that is not linear, of tendons"),
)
FLAGS = ("OVERRIDE", "ACTUATION")  #: that change what happens, and that a scene has no word for


def losses(c: Compiled, pictures: Collection[int]) -> Iterator[str]:
    """A sentence for each kind of thing that is left out, with the names of all of that kind; ``pictures`` are not."""
    m = c.m
    for prefix, count, what in PARTS:
        number = int(getattr(m, count, 0))
        if number:
            yield f"{what}: {', '.join(c.called(prefix, i, '') for i in range(number))}"
    unseen = [i for i in range(m.ntex) if i not in pictures]
    if unseen:
        yield f"textures: {', '.join(c.called('tex', i, '') for i in unseen)}"
    for array, prefix, what in EXTRAS:
        rows = np.asarray(getattr(m, array, np.zeros(0)))
        with_it = np.flatnonzero(rows.reshape(len(rows), -1).any(axis=1)).tolist() if len(rows) else []
        if with_it:
            yield what + (f": {', '.join(c.called(prefix, i) for i in with_it)}" if prefix else "")
    touching = (m.geom_contype | m.geom_conaffinity) != 0
    margins = np.flatnonzero(touching & (m.geom_margin != 0.0)).tolist()
    if margins:
        yield f"contact margins of geoms: {', '.join(c.called('geom', g) for g in margins)}"
    signed = np.flatnonzero((m.geom_type > MESH) & touching).tolist()
    if signed:
        yield f"signed distance fields: {', '.join(c.called('geom', g) for g in signed)}"
    mocap = np.flatnonzero(m.body_mocapid >= 0).tolist()
    if mocap:
        yield f"mocap bodies stand where they begin: {', '.join(c.called('body', b) for b in mocap)}"
    if m.opt.density or m.opt.viscosity:
        yield f"the medium: density {m.opt.density:g} kg/m^3, viscosity {m.opt.viscosity:g} Pa s"
    if np.any(m.opt.wind):
        yield f"the wind: {' '.join(f'{speed:g}' for speed in m.opt.wind)} m/s"
    flags = [flag.lower() for flag in FLAGS if flag in c.flags]
    if flags:
        yield f"flags: {', '.join(flags)}"
