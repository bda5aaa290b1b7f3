# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Tendons of a compiled MJCF, those that equalities hold, and those that actuators pull, as tendons of a scene.

A scene's tendon has one spring and one command, so an actuator of a tendon and an equality of two are tendons of
their own along the same paths: an equality holds L_1 - a_1 L_2, the second path behind a pulley of divisor -1 / a_1.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from mb_contact.model.mjcf.compiled import CYLINDER, Compiled, Names, rotation, three
from mb_contact.model.mjcf.joints import AFFINE, TENDON, TRN_TENDON, unfit_gain
from mb_contact.model.scene import PathElement, Tendon

WRAP_JOINT, WRAP_PULLEY, WRAP_SITE, WRAP_SPHERE = 1, 2, 3, 4  #: mjtWrap


def tendons(c: Compiled) -> tuple[Tendon, ...]:
    """The tendons, then those of actuators and equalities."""
    m, names, found = c.m, Names(), []
    for t in range(m.ntendon):
        found.append(_tendon(c, t, names.unique(c.name("tendon", t) or f"tendon_{t}")))
    pulled = [i for i in range(c.actuators) if m.actuator_trntype[i] == TRN_TENDON]
    made = found + [tendon for i in pulled for tendon in _pulled(c, i, found, names)]
    held = [i for i in range(m.neq) if m.eq_type[i] == TENDON and m.eq_active0[i]]
    held = [] if c.flags & {"EQUALITY", "CONSTRAINT"} else held
    return (*made, *(tendon for i in held for tendon in _held(c, i, found, names)))


def _tendon(c: Compiled, t: int, name: str) -> Tendon:
    """Tendon t as it is."""
    m = c.m
    low, high = m.tendon_lengthspring[t].tolist()
    limited = m.tendon_limited[t] and not c.flags & {"LIMIT", "CONSTRAINT"}
    least, most = c.limits("tendon", t) if limited else (None, None)
    stiffness = 0.0 if "SPRING" in c.flags else float(m.tendon_stiffness[t])
    damping = 0.0 if "DAMPER" in c.flags else float(m.tendon_damping[t])
    rest = {"rest_length": high, "slack": high - low} if max(stiffness, damping) > 0.0 else {}
    return Tendon(
        name, _path(c, t), stiffness=stiffness, damping=damping, **rest, shortest=least, longest=most,
        friction=0.0 if c.flags & {"FRICTIONLOSS", "CONSTRAINT"} else float(m.tendon_frictionloss[t]),
    )  # fmt: skip


def _path(c: Compiled, t: int) -> tuple[PathElement, ...]:
    """The path of tendon t."""
    first = int(c.m.tendon_adr[t])
    return tuple(_element(c, w) for w in range(first, first + int(c.m.tendon_num[t])))


def _element(c: Compiled, w: int) -> PathElement:
    m, kind, of, number = c.m, int(c.m.wrap_type[w]), int(c.m.wrap_objid[w]), float(c.m.wrap_prm[w])
    if kind == WRAP_JOINT:
        return PathElement(joint=c.joints[of], coefficient=number)
    if kind == WRAP_PULLEY:
        return PathElement(divisor=number)
    if kind == WRAP_SITE:
        link, R, p = _link(c, int(m.site_bodyid[of]))
        return PathElement(link, three(p + R @ m.site_pos[of]))
    body = int(m.geom_bodyid[of])
    link, R, p = _link(c, body)
    side = None
    if number >= 0.0:
        s = round(number)
        if m.site_bodyid[s] == body:
            side = three(p + R @ (m.geom_pos[of] + _side(c, of, s)))
        else:
            c.left_out.append(f"side site {c.called('site', s)} of a tendon: it is on another body than the shape")
    return PathElement(
        link, three(p + R @ m.geom_pos[of]), "sphere" if kind == WRAP_SPHERE else "cylinder",
        float(m.geom_size[of, 0]), three(R @ rotation(m.geom_quat[of])[:, 2]), side,
    )  # fmt: skip


def _side(c: Compiled, g: int, s: int) -> Any:
    """From the middle of a geom to its side site, of a cylinder outside where MuJoCo takes it for that.

    For it a site is within a cylinder that is nearer to its middle than the radius.
    """
    m = c.m
    apart, r = m.site_pos[s] - m.geom_pos[g], float(m.geom_size[g, 0])
    z = rotation(m.geom_quat[g])[:, 2] * (m.geom_type[g] == CYLINDER)
    across = apart - z * (z @ apart)
    if np.linalg.norm(across) < r <= np.linalg.norm(apart):
        return across * (2.0 * r / max(float(np.linalg.norm(across)), 1e-12))
    return apart


def _link(c: Compiled, body: int) -> tuple[str, Any, Any]:
    """Link of a body, and where the body's frame is in the link's: (name, R, p)."""
    if c.m.body_weldid[body] == 0:
        return ("world", *c.static_pose(body))
    return c.links[body], np.eye(3), -c.anchor[body]


def _pulled(c: Compiled, i: int, found: list[Tendon], names: Names) -> list[Tendon]:
    """force = gain u + b0 + b1 gear L + b2 gear dL/dt along gear L, as a spring and a tension of their own."""
    m, called = c.m, f"actuator {c.called('actuator', i)}"
    why = unfit_gain(c, i)
    if why:
        c.left_out.append(f"{called}: {why}")
        return []
    of = found[int(m.actuator_trnid[i, 0])]
    gear, gain = float(m.actuator_gear[i, 0]), float(m.actuator_gainprm[i, 0])
    b0, b1, b2 = m.actuator_biasprm[i, :3].tolist() if m.actuator_biastype[i] == AFFINE else (0.0, 0.0, 0.0)
    tendon = Tendon(names.unique(c.name("actuator", i) or f"actuator_{i}"), of.path)
    if m.actuator_forcelimited[i]:
        low, high = m.actuator_forcerange[i].tolist()
        c.left_out.append(f"{called}: its forces are not kept from {low:g} to {high:g}")
    if b1:
        c.left_out.append(f"{called}: its control u is here the rest length {-gain / (b1 * gear):g} u")
        return [replace(tendon, stiffness=-b1 * gear**2, damping=-b2 * gear**2, rest_length=-b0 / (b1 * gear) + 0.0)]
    c.left_out.append(f"{called}: its control u is here the tension {-gear * gain:g} u")
    return [replace(tendon, damping=-b2 * gear**2 + 0.0, tension=-gear * b0 + 0.0)]


def _held(c: Compiled, i: int, found: list[Tendon], names: Names) -> list[Tendon]:
    """L_1 - L_1(0) = a_0 + a_1 (L_2 - L_2(0))."""
    m, called = c.m, f"equality {c.called('eq', i)}"
    one, other = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
    a0, a1, *higher = m.eq_data[i, :5].tolist()
    if other >= 0 and any(higher):
        c.left_out.append(f"{called}: its polynomial is not linear")
        return []
    path, length = found[one].path, float(m.tendon_length0[one]) + a0
    if other >= 0 and a1:
        length -= a1 * float(m.tendon_length0[other])
        scaled = (
            element if element.divisor is None else replace(element, divisor=-element.divisor / a1)
            for element in found[other].path
        )
        path = (*path, PathElement(divisor=-1.0 / a1), *scaled)
    return [replace(Tendon(names.unique(c.name("eq", i) or f"equality_{i}"), path), held_length=length)]
