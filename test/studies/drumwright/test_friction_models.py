# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's friction models against dense matrices: mass matrix and Jacobians of ``dense_oracle``.

The oracle writes the mixed problems (29) and (47)-(55) out, with M, J, N, S, T as full matrices, and judges
what the package found by the equations themselves; nothing of the operational-space path is used.

Covers studies/drumwright/friction_result.py, studies/drumwright/friction_state.py,
studies/drumwright/friction_system.py, studies/drumwright/point_contacts.py,
studies/drumwright/point_rows.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.types import WORLD
from scenes.drumwright_cases import (
    free_body,
    pose,
)

# --- bodies one can work out by hand ------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.5, np.inf])
def test_ball_rolling_over_a_ball(radius):
    """f_n = m g - m v^2 / (R + r) on top of a ball, m g on a plane: the velocity product of the contact."""
    world, r, v = free_body("sphere", (0.1,), 1.5), 0.1, 0.9
    c = mb.studies.point_contacts(0, WORLD, [[0, 0, 0]], [[0, 0, 1.0]], radius_a=r, radius_b=radius)
    result = mb.studies.viscous_acceleration(world, pose(z=r), [0, v / r, 0, v, 0, 0], None, c)
    assert result.normal[0] == pytest.approx(1.5 * 9.81 - 1.5 * v**2 / (radius + r), rel=1e-12)


@pytest.mark.nojit
def test_a_slab_jammed_while_turning_is_inconsistent():
    """Two fixed points on both faces of a turning slab: no acceleration keeps both gaps."""
    world = free_body("box", (1.0, 0.2, 0.3), 2.0)
    c = mb.studies.point_contacts(
        0, WORLD, [[0, 0.1, 0], [0, -0.1, 0]], [[0, -1.0, 0], [0, 1.0, 0]], radius_a=np.inf, radius_b=0.0, viscous=0.1
    )
    v = [0, 0, 2.0, 0, 0, 0]
    at_rest = mb.studies.viscous_acceleration(world, pose(), np.zeros(6), None, c)
    assert at_rest.status == "solved"
    assert mb.studies.viscous_acceleration(world, pose(), v, None, c).status == "inconsistent"


# --- input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(normal=[[0, 0, 0]]), "normal.0. is zero"),
        (dict(mu=-0.1), "mu must be at least 0"),
        (dict(body_a=0.5), "body indices"),
        (dict(viscous=[1.0, 2.0, 3.0]), "viscous must be"),
        (dict(tangent=[[0, 0, 2.0]]), "parallel to its normal"),
        (dict(radius_a=0.0, radius_b=0.0), "two vertices"),
        (dict(point=[[0, np.nan, 0]]), "finite"),
    ],
)
def test_wrong_contacts_are_refused(change, message):
    good = dict(body_a=0, body_b=WORLD, point=[[0, 0, 0]], normal=[[0, 0, 1.0]])
    with pytest.raises(InputError, match=message):
        mb.studies.point_contacts(**{**good, **change})


def test_wrong_calls_are_refused():
    world = free_body("sphere", (0.1,), 1.0)
    c = mb.studies.point_contacts(0, WORLD, [[0, 0, 0]], [[0, 0, 1.0]])
    with pytest.raises(InputError, match="bodies 0 to 0"):
        mb.studies.no_slip_step(world, pose(), np.zeros(6), None, c._replace(body_a=np.array([3])), 0.01)
    with pytest.raises(InputError, match="dt must be"):
        mb.studies.no_slip_step(world, pose(), np.zeros(6), None, c, 0.0)
    with pytest.raises(InputError, match="v must have 6"):
        mb.studies.no_slip_step(world, pose(), np.zeros(5), None, c, 0.01)
    with pytest.raises(InputError, match="sticking must be"):
        mb.studies.no_slip_step(world, pose(), np.zeros(6), None, c, 0.01, sticking=[True, False])
    with pytest.raises(InputError, match="directions"):
        mb.studies.coulomb_viscous_acceleration(world, pose(), np.zeros(6), None, c, directions=5)


def test_no_contacts_is_free_motion():
    world = free_body("sphere", (0.1,), 1.0)
    none = mb.studies.point_contacts(0, WORLD, np.zeros((0, 3)), np.zeros((0, 3)))
    np.testing.assert_allclose(mb.studies.no_slip_step(world, pose(), np.zeros(6), None, none, 0.1).v[5], -0.981)
    result = mb.studies.viscous_acceleration(world, pose(), np.zeros(6), None, none)
    assert result.v_dot[5] == pytest.approx(-9.81) and result.status == "solved"
