# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The part of a Simulator that differentiates its steps (docs/gradients.md)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mb_contact.checks import as_choice, as_positive
from mb_contact.errors import InputError
from mb_contact.gradients.step import NAMES, NEAR, Differentiator, StepDerivatives
from mb_contact.simulation.rebuild import carry_over
from mb_contact.simulation.sensors.derivatives import reading_derivatives
from mb_contact.simulation.values import set_again


class Differentiable:
    """Derivatives of the step that a Simulator has taken last."""

    context: Any
    _differentiator: Differentiator | None = None
    _twin: Any = None
    _state: Any = None

    def step_derivatives(
        self, with_respect_to: Sequence[str] = ("q", "v", "effort"), near: float = NEAR, readings: Sequence[str] = ()
    ) -> StepDerivatives:
        """Derivatives of the last step, by implicit differentiation of the laws that it solved in their active states.

        Parameters
        ----------
        with_respect_to : sequence of str
            Some of ``q``, ``v``, ``effort``, ``mass`` (of a body, the shape of its distribution kept), ``friction``,
            ``restitution``, ``damping`` and ``joint_friction``.
        near : float
            Laws so near another state are named in ``kinks`` [sqrt(N s m/s)].
        readings : sequence of str
            Sensors of the scene whose exact readings behind the step are differentiated too, of kind ``encoder``,
            ``imu``, ``force_torque``, ``contact``, ``tactile`` or ``lidar``.

        Returns
        -------
        StepDerivatives

        Raises
        ------
        InputError
            There is no last step, no such name or sensor, or the step has something whose derivative is not known.

        Examples
        --------
        >>> sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
        >>> sim.set_object("box", velocity=[0, 0, 0, 1.0, 0, 0])
        >>> _ = sim.step()
        >>> by = sim.step_derivatives(["friction"])
        >>> np.isclose(by.v["friction"][3, 0], -9.81 * 0.001)  # dv+ = -g dt dmu of what slides
        True
        >>> encoder = mb.model.Sensor("joint", "encoder")
        >>> arm = mb.Simulator(mb.Scene(models=(mb.model.SceneModel(mb.pendulum(1).urdf()),), sensors=(encoder,)))
        >>> _ = arm.step()
        >>> arm.step_derivatives(["v"], readings=["joint"]).readings["joint"]["v"].round(2)  # position, velocity
        array([[0.],
               [1.]])
        """
        for key, given in (("with_respect_to", with_respect_to), ("readings", readings)):
            if isinstance(given, str):
                raise InputError(f"{key} must be a sequence of names, such as ['{given}']")
        differentiator, names = self.differentiator(), tuple(with_respect_to)
        if not differentiator.knows(names):
            for name in names:
                as_choice(name, NAMES, "with_respect_to")
        found = differentiator.derivatives(names, near if near is NEAR else as_positive(near, "near"))
        if len(readings):
            found.readings = reading_derivatives(self, readings, found)
        return found

    def differentiator(self) -> Differentiator:
        """What differentiates the present steps: matrices and adjoints without names, for loops over many steps.

        From the first call on steps keep what their impacts have solved.

        Returns
        -------
        Differentiator

        Raises
        ------
        InputError
            The steps are of another formulation or solver.

        Examples
        --------
        >>> sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
        >>> _ = sim.step()
        >>> record, columns = sim.differentiator().record(["v"], [])
        >>> sim.differentiator().pull(record, np.ones(12)).shape
        (6,)
        """
        if self._differentiator is None or self._differentiator.context is not self.context:
            if type(self.context.contact_step).__name__ != "ContactStep":
                raise InputError("derivatives know the usual steps; these are of another formulation or solver")
            take = self._step_of_twin if self.context.embeds else None
            self._differentiator, self._twin = Differentiator(self.context, take), None
        return self._differentiator

    def _step_of_twin(self):
        """The Simulator whose embedded loops are rows, behind the step that was taken last."""
        context = self.context
        if self._twin is None:
            self._twin = self.rebuilt(replace(self.scene, loops="multipliers"))
            self._twin.differentiator()  # from here on impacts are kept
        twin, last = self._twin, context.last
        set_again(twin, context.changed)
        carry_over(self._state, twin._state)
        twin.set_state(last.q, last.v)
        twin.context.gravity[:], twin.context.settings[:] = last.gravity, context.settings
        twin.step(context.effort[self.world.joint_v], last.dt)
        return twin
