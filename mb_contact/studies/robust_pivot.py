# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of a scene with P00's robust pivot: the articulated sweep in factored form.

D(k) is a sum of squares (``core/tree/modified_articulated.py``), so a small inertia beside large ones keeps its digits.
Free motion, the compliance of the rows and the response to impulses all run behind that sweep.  The compliance is made
by rows: the face by bodies factors the mass matrix, which is CRBM, and that loses what the sweep has kept.
"""

from mb_contact.core.handle import DT
from mb_contact.core.jit import kernel
from mb_contact.core.step.step import smooth_dynamics
from mb_contact.core.tree.articulated import free_acceleration
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.modified_articulated import factored_inertias, make_factors
from mb_contact.core.workspace import BAD_BODY
from mb_contact.simulation.stepping.contact_step import ContactStep, refuse_embedded
from mb_contact.simulation.stepping.integrators import Integrator
from mb_contact.types import OK


class RobustEuler(Integrator):
    """Semi-implicit Euler behind the factored sweep."""

    def __init__(self, context):
        super().__init__(context)
        self._factors = make_factors(context.n)

    def free(self, handle):
        """Velocity after the step without contacts; returns a status."""
        return factored_dynamics(handle, self._factors)


class RobustPivotStep(ContactStep):
    """Contact steps whose rows go through the factored sweep; ``Simulator(scene, step=RobustPivotStep)``.

    Raises
    ------
    SceneError
        Embedded loops, flows, impacts or the event scheme, which take the plain sweep.
    """

    any_integrator = False
    only_rows = True
    has_impacts = False  # their phases have the plain sweep
    integrator = RobustEuler

    def __init__(self, context):
        super().__init__(context)
        refuse_embedded(context)


@kernel
def factored_dynamics(h, fac):
    """``smooth_dynamics`` with factored articulated inertias in ``art``; a status."""
    work, dt = h.work, h.settings[DT]
    status = smooth_dynamics(h)
    if status != OK:
        return status
    status, body = factored_inertias(h.tree, h.kin, dt, fac, h.art)
    if status != OK:
        work.info[BAD_BODY] = body
        return status
    free_acceleration(h.tree, h.kin, h.art, h.gravity, work.force, h.v, work.external, work.v_dot)
    for i in range(h.v.shape[0]):
        work.v_free[i] = h.v[i] + dt * work.v_dot[i]
        work.speed[i] = abs(work.v_free[i])
    body_velocities(h.tree, h.kin, work.v_free, work.V_free)
    return OK
