# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps by central differences of the step itself, with Richardson's extrapolation."""

import numpy as np

from mb_contact.core.handle import PUSH_RATE, PUSH_SPEED
from mb_contact.gradients.motion import displaced, displacement, turn_between
from mb_contact.model.rotations import quat_to_matrix


def push_out_fully(sim):
    """One slope of the offset of gaps and of penetrations, so that a contact that touches has no kink."""
    sim.context.settings[[PUSH_RATE, PUSH_SPEED]] = 1.0, 1e9


class Differences:
    """Differences of the steps of a Simulator from one state on."""

    def __init__(self, sim, q, v, effort=None):
        self.sim, self.q, self.v, self.tree = sim, q, v, sim.context.tree
        sim.differentiator()  # from here on impacts are kept
        self.start = sim.save()  # its time, on which driven joints depend
        self.effort = np.zeros(len(sim.world.joint_names)) if effort is None else effort

    def step(self, name="", d=0.0):
        """New coordinates and velocities of a step with one of q, v, effort and other arrays displaced by d."""
        q, v, effort = self.q, self.v, self.effort
        self.sim.restore(self.start)
        q = displaced(self.tree, q, d) if name == "q" else q
        v = v + d if name == "v" else v
        self.sim.set_state(q, v)
        self.sim.step(effort + d if name == "effort" else effort)
        return self.sim.q, self.sim.v

    def by(self, name, columns, size=1e-6):
        """(2 N, columns) of new coordinates over new velocities."""
        start = self.step()[0]
        out = np.zeros((2 * len(self.v), columns))
        for i in range(columns):
            parts = []
            for h in (size, 2.0 * size):
                d = np.zeros(columns)
                d[i] = h
                (a, v_a), (b, v_b) = self.step(name, d), self.step(name, -d)
                moved = displacement(self.tree, start, a) - displacement(self.tree, start, b)
                parts.append(np.concatenate((moved, v_a - v_b)) / (2.0 * h))
            out[:, i] = (4.0 * parts[0] - parts[1]) / 3.0
        return out

    def by_value(self, name, key, number):
        """(2 N,) by one value that the simulator has, at 1e-3 above this number, and the StepDerivatives there."""
        ends = []
        for way in (2e-4, 1e-4, 0.0, -1e-4, -2e-4):
            self.sim.set(name, [number + 1e-3 + way], of=[key])
            ends.append(self.step())
            if way == 0.0:
                found = self.sim.step_derivatives([name])
        self.sim.set(name, [number], of=[key])
        moved = [np.concatenate((displacement(self.tree, ends[2][0], q), v)) for q, v in ends]
        return (8.0 * (moved[1] - moved[3]) - (moved[0] - moved[4])) / 12e-4, found

    def worst(self, names=("q", "v", "effort"), size=1e-6):
        """The worst difference from ``step_derivatives``, of each name in parts of its largest entry or of one."""
        self.step()
        found = self.sim.step_derivatives(names)
        worst = 0.0
        for name in names:
            exact = np.concatenate((found.q[name], found.v[name]))
            if exact.size:
                error = np.abs(self.by(name, exact.shape[1], size) - exact).max()
                worst = max(worst, error / max(1.0, np.abs(exact).max()))
        return worst

    def reading(self, sensor, zero, sim=None):
        """What a sensor reads as a vector; orientations as turns from that of the reading ``zero``, in its axes."""
        read = (sim or self.sim).sensors.read(sensor)
        if hasattr(read, "ranges"):
            return read.ranges.ravel()
        if hasattr(read, "orientation"):
            turn = quat_to_matrix(zero.orientation).T @ turn_between(zero.orientation, read.orientation)
            return np.concatenate((turn, *read[1:]))
        return np.concatenate([np.ravel(part) for part in read]) if isinstance(read, tuple) else read

    def of_reading(self, sensor, columns, move, size=1e-5):
        """(entries, columns) of a reading, by differences of what ``move(d)`` does before a step."""
        move(np.zeros(columns))
        zero, out = self.sim.sensors.read(sensor), []
        for i in range(columns):
            parts = []
            for h in (size, 2.0 * size):
                ends = []
                for way in (h, -h):
                    d = np.zeros(columns)
                    d[i] = way
                    move(d)
                    ends.append(self.reading(sensor, zero))
                parts.append((ends[0] - ends[1]) / (2.0 * h))
            out.append((4.0 * parts[0] - parts[1]) / 3.0)
        return np.transpose(out)

    def worst_reading(self, sensor, name, move=None, size=1e-5):
        """The worst difference from ``step_derivatives(readings=...)``, in parts of the largest entry or of one."""
        move = move or (lambda d: self.step(name, d))
        self.step()
        exact = self.sim.step_derivatives((name,), readings=(sensor,)).readings[sensor][name]
        error = np.abs(self.of_reading(sensor, exact.shape[1], move, size) - exact).max()
        return error / max(1.0, np.abs(exact).max())
