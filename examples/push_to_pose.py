# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One finger pushes a box to a pose on the ground: iLQR through contact (docs/push_to_pose.md).

    python examples/push_to_pose.py [--by derivatives|differences|sampling] [--x M] [--y M] [--yaw DEG]

Exit code 1 where the box is not brought within 1 mm and 0.5 degrees.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

import numpy as np

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.gradients.motion import displaced, displacement

M = mb.model
STEPS, FORCES = 120, 2  #: of 10 ms; of the finger along x and y
POSE, SPEED, EFFORT = np.diag([1e4, 1e4, 1e3]), 1.0, 1e-4  #: weights of the cost
PLACE, ANGLE = 1e-3, 0.5  #: how near is near enough [m, degrees]
FINGER = """<robot name="finger"><link name="base"/>
<link name="beam"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="tip"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.02"/></geometry></collision></link>
<joint name="slide_x" type="prismatic"><parent link="base"/><child link="beam"/><axis xyz="1 0 0"/>
<limit lower="-2" upper="2" effort="20" velocity="10"/><dynamics damping="2.0"/></joint>
<joint name="slide_y" type="prismatic"><parent link="beam"/><child link="tip"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="20" velocity="10"/><dynamics damping="2.0"/></joint></robot>"""


def simulator():
    """A box of 0.4 kg on the ground, and the tip of a finger that slides along x and y half a millimetre from it."""
    box = M.Primitive("box", "box", (0.1, 0.1, 0.06), M.Pose((0, 0, 0.03)), "free", 0.4, material="wood")
    finger = M.SceneModel(FINGER, pose=M.Pose((0, 0, 0.03)), joints={"slide_x": -0.0705, "slide_y": 0.0})
    scene = mb.Scene(primitives=(box,), models=(finger,), ground=M.Ground(material="wood"), time_step=0.01,
                     materials={"wood": M.Material(friction=0.3)})  # fmt: skip
    return mb.Simulator(scene)


class Problem:
    """Controls (STEPS, FORCES) and what they cost; states are (q, v), their differences (2 N,) along the velocities."""

    turn = 4, 7  #: of the box: the velocity about its axis, and that axis in the quaternion of q

    def __init__(self, goal, sim=None):
        self.sim, self.goal = sim or simulator(), goal
        self.N, self.steps_taken = len(self.sim.v), 0

    def error(self, q):
        """Place [m] and angle [rad] of the box beside the goal, (3,)."""
        return np.array([q[2], q[3], 2.0 * np.arctan2(q[self.turn[1]], q[8])]) - self.goal

    def end(self, q, v):
        """Cost of the last state, its gradient and its Hessian by Gauss and Newton."""
        J, e, w = np.zeros((3, 2 * self.N)), self.error(q), np.zeros(2 * self.N)
        J[0, 5] = J[1, 6] = J[2, self.turn[0]] = 1.0  # of the box: moves along x and y, and a turn
        w[self.N + 2 :] = SPEED
        gradient = J.T @ POSE @ e
        gradient[self.N :] += w[self.N :] * v
        return 0.5 * e @ POSE @ e + 0.5 * w[self.N :] @ v**2, gradient, J.T @ POSE @ J + np.diag(w)

    def step(self, u):
        """The state behind a step."""
        self.sim.step(u)
        self.steps_taken += 1
        return self.sim.q, self.sim.v

    def roll(self, controls, nominal=None, gains=None):
        """States, controls and cost under controls, and gains for differences from nominal states."""
        self.sim.reset()
        states, used, cost = [(self.sim.q, self.sim.v)], [], 0.0
        for k, u in enumerate(controls):
            if nominal is not None:
                u = np.clip(u + gains[k] @ self.apart(nominal[k], states[-1]), -20.0, 20.0)
            used.append(u)
            cost += 0.5 * EFFORT * u @ u
            states.append(self.step(u))
        return states, np.array(used), cost + self.end(*states[-1])[0]

    def apart(self, a, b):
        """Difference (2 N,) of two states."""
        return np.concatenate((displacement(self.sim.context.tree, a[0], b[0]), b[1] - a[1]))

    def derivatives(self, states, controls):
        """(2 N, 2 N + FORCES) of each step, by the step's own derivatives."""
        self.sim.reset()
        found = []
        for u in controls:
            self.step(u)
            matrix = self.sim.differentiator().solve(("q", "v", "effort"))[0]
            found.append(matrix.reshape(2 * self.N, -1))
        return found

    def differences(self, states, controls, size=1e-6):
        """The same by central differences of the step."""
        found, N = [], self.N
        for (q, v), u, after in zip(states[:-1], controls, states[1:], strict=True):
            out = np.zeros((2 * N, 2 * N + FORCES))
            for i in range(2 * N + FORCES):
                d, ends = np.zeros(2 * N + FORCES), []
                for d[i] in (size, -size):
                    self.sim.set_state(displaced(self.sim.context.tree, q, d[:N]), v + d[N : 2 * N])
                    ends.append(self.apart(after, self.step(u + d[2 * N :])))
                out[:, i] = (ends[0] - ends[1]) / (2.0 * size)
            found.append(out)
        return found

    def near(self, states):
        """Whether the box is where it should be."""
        e = self.error(states[-1][0])
        return np.hypot(*e[:2]) < PLACE and abs(np.rad2deg(e[2])) < ANGLE

    def told(self, turn, cost, states, start):
        """A line about a turn."""
        e = self.error(states[-1][0])
        print(f"| {turn} | {cost:.4g} | {1e3 * np.hypot(*e[:2]):.3f} | {np.rad2deg(e[2]):.3f} | {self.steps_taken} "
              f"| {perf_counter() - start:.2f} |", flush=True)  # fmt: skip


def backward(problem, states, controls, by, damping):
    """Steps of the controls (STEPS, FORCES) and gains (STEPS, FORCES, 2 N): dynamic programming from the end."""
    _, g, H = problem.end(*states[-1])
    steps, gains, n = [], [], 2 * problem.N
    for u, D in zip(controls[::-1], by[::-1], strict=True):
        F, G = D[:, :n], D[:, n:]
        Q_u, Q_ux = EFFORT * u + G.T @ g, G.T @ H @ F
        Q_uu = (EFFORT + damping) * np.eye(FORCES) + G.T @ H @ G
        step, K = -np.linalg.solve(Q_uu, Q_u), -np.linalg.solve(Q_uu, Q_ux)
        g = F.T @ g + K.T @ (Q_uu @ step + Q_u) + Q_ux.T @ step
        H = F.T @ H @ F + K.T @ Q_uu @ K + K.T @ Q_ux + Q_ux.T @ K
        steps.append(step)
        gains.append(K)
    return np.array(steps[::-1]), gains[::-1]


def ilqr(problem, controls, linearise, start, turns=30):
    """States under the best controls that iLQR finds."""
    states, controls, cost = problem.roll(controls)
    damping = 1e-3
    problem.told(0, cost, states, start)
    for turn in range(1, turns + 1):
        if problem.near(states):
            break
        steps, gains = backward(problem, states, controls, linearise(states, controls), damping)
        for part in 0.5 ** np.arange(9):
            tried = problem.roll(controls + part * steps, states, gains)
            if tried[2] < cost:
                states, controls, cost = tried
                damping = max(damping / 3.0, 1e-8)
                break
        else:
            damping *= 10.0
        problem.told(turn, cost, states, start)
    return states


def sampling(problem, controls, start, turns=40, count=64, best=8):
    """States under the best controls of the cross-entropy method, of forces at 12 knots."""
    rng, knots, at = np.random.default_rng(0), 12, np.linspace(0.0, 1.0, STEPS)
    places = np.linspace(0.0, 1.0, knots)
    mean, spread = np.array([np.interp(places, at, u) for u in controls.T]).T, np.full((knots, FORCES), 1.0)
    for turn in range(turns):
        draws = mean + spread * rng.normal(size=(count, knots, FORCES))
        draws[0] = mean
        found = [problem.roll(np.array([np.interp(at, places, x) for x in draw.T]).T) for draw in draws]
        order = np.argsort([cost for _, _, cost in found])[:best]
        mean, spread = draws[order].mean(axis=0), draws[order].std(axis=0) + 1e-3
        states, _, cost = found[order[0]]
        problem.told(turn, cost, states, start)
        if problem.near(states):
            break
    return states


def solve(problem, controls, by):
    """Search from controls by ``derivatives``, ``differences`` or ``sampling``, with its table; the exit code."""
    problem.roll(controls)  # kernels are there
    problem.steps_taken, start = 0, perf_counter()
    print("| turn | cost | away, mm | turned, degrees | steps taken | s |\n|--:|--:|--:|--:|--:|--:|")
    try:
        states = (sampling(problem, controls, start) if by == "sampling"
                  else ilqr(problem, controls, getattr(problem, by), start))  # fmt: skip
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0 if problem.near(states) else 1


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--by", choices=("derivatives", "differences", "sampling"), default="derivatives")
    parser.add_argument("--x", type=float, default=0.12, metavar="M")
    parser.add_argument("--y", type=float, default=0.02, metavar="M")
    parser.add_argument("--yaw", type=float, default=10.0, metavar="DEG")
    options = parser.parse_args(argv)
    problem = Problem(np.array([options.x, options.y, np.deg2rad(options.yaw)]))
    controls = np.zeros((STEPS, FORCES))
    controls[:70, 0] = 1.75  # ahead, with a force that just moves the box
    return solve(problem, controls, options.by)


if __name__ == "__main__":
    sys.exit(main())
