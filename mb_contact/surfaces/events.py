# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What happens at an event of a SurfaceTree: the next mode, and impulses through the whole tree."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import as_vector
from mb_contact.core.surfaces import layout as layout, steps as kernels
from mb_contact.core.surfaces.watch import body_jacobian
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.surfaces.bodies import SurfaceEvent
from mb_contact.surfaces.charts import SLACK
from mb_contact.surfaces.parts import MODES
from mb_contact.surfaces.structure import TreeStructure
from mb_contact.types import WORLD

EVENT_NAMES = ("none", "breaks", "sticks", "slips", "lands", "leaves", "stops", "releases")
FAILS = 9  #: an event beside those of ``steps``: (status, body) of a step that cannot be
FIRST_SLIP = 1e-10  #: speed that a body starts to slip with, so that its friction has a direction [m/s]
STILL = 1e-9  #: slip or speed of parting behind an impact, below which it is rounding of who solved it [m/s]
LEAST_REBOUND = 1e-6  #: a rebound slower than this ends in contact [m/s]
ROUNDING = 1e-12  #: impulses below this part of the largest pull nobody


class TreeEvents(TreeStructure):
    """What a ``SurfaceTree`` does at events, which see."""

    def set_velocity(self, name: str, angular_velocity: ArrayLike, velocity: ArrayLike) -> None:
        """Give a contact's body another velocity where it is.

        It slides, rolls or parts from its parent as it then moves relative to it; the change is an event.  What the
        velocity has along the normal of a contact that lasts is left out.

        Parameters
        ----------
        name : str
            Of the body.
        angular_velocity, velocity : array_like (3,)
            Absolute, the latter that of its centre of mass, world axes [rad/s, m/s].
        """
        j, was = self._contact(name), self._modes[self._contact(name)]
        w, v = as_vector(angular_velocity, 3, "angular_velocity"), as_vector(velocity, 3, "velocity")
        if was == layout.FREE:
            self.v[self._slices(j)[1]] = *w, *v
            return
        q, mu = self.q[self._slices(j)[0]].copy(), self.contacts[j].coefficient()
        slip, spin = self._relative(j, q, w, v)
        if slip[2] > STILL and self.contacts[j].release:
            self._let_go(j)
            self.v[self._slices(j)[1]] = *w, *v
        elif mu == 0.0 or (np.hypot(*slip[:2]) > STILL and np.isfinite(mu)):
            self._set_mode(j, layout.SLIDING, q, self.pairs[j].rates(q) @ (*spin, *slip[:2]))
        else:
            self._set_mode(j, layout.ROLLING, q, spin)
        self._tell(j, was)

    def strike(
        self,
        impulses: Mapping[str, ArrayLike],
        reactions: Mapping[str, ArrayLike] | None = None,
        modes: Mapping[str, str] | None = None,
    ) -> None:
        """Impulses from outside on links and bodies, which go through the whole tree; changes are events.

        A contact that keeps its mode takes the impulse that it needs.  One that slides from then on, or parts, is given
        its own beforehand, from a problem with friction that who calls has solved.

        Parameters
        ----------
        impulses : mapping of str to array_like (6,)
            By name: about the link's origin, world axes [N m s, N s].
        reactions : mapping of str to array_like (3,), optional
            By the contact's body: impulse of the parent on it at the contact point, world axes [N s]; zero by default.
        modes : mapping of str to str, optional
            What the contacts do from then on: free, sliding or rolling; by default what they do.
        """
        reactions, modes, was = reactions or {}, modes or {}, list(self._modes)
        wanted = [MODES.index(modes.get(contact.name, MODES[mode])) for contact, mode in zip(self.contacts, was)]
        wrenches = self._body_wrenches(impulses)
        for j, mode in enumerate(wanted):
            if mode != layout.ROLLING and was[j] != layout.FREE:
                reaction = as_vector(reactions.get(self.contacts[j].name, np.zeros(3)), 3, "reaction")
                self._react(j, wrenches, reaction, mode == layout.SLIDING)
        for j, mode in enumerate(wanted):
            if mode == layout.FREE and was[j] != mode:
                self._let_go(j)
            elif mode == layout.SLIDING and was[j] == layout.ROLLING:
                q, w = (array[at].copy() for array, at in zip((self.q, self.v), self._slices(j)))
                self._set_mode(j, layout.SLIDING, q, self.pairs[j].rates(q) @ (*w, 0.0, 0.0))

        def along():
            rows, total = np.zeros((len(self.v), 6)), np.zeros(len(self.v))
            for k in np.flatnonzero(wrenches.any(axis=1)):
                body_jacobian(self.tree, self.kin, self._stages, int(k), rows)
                total += rows @ wrenches[k]
            return total[None]

        self._impulse(along, lambda *_: np.ones(1), loosens=False)
        for j, mode in enumerate(wanted):
            if mode == layout.ROLLING and was[j] == layout.SLIDING:
                self._stick(j)
            self._tell(j, was[j])

    def _react(self, j, wrenches, impulse, slides):
        """Add the impulse of the parent on the body of contact j, without its normal part where it goes on to slide."""
        self._observe()
        (E, o), normal = self._frame(j), self._normal(j)
        point = o + E @ self._joints.normal[j, :3]
        if slides:
            impulse = impulse - normal * (normal @ impulse)
        for k, sign in ((self._body[j], 1.0), (self._parent[j], -1.0)):
            if k != WORLD:
                wrenches[k] += sign * np.concatenate((np.cross(point - self.kin.p[k], impulse), impulse))

    def _tell(self, j, was):
        """Write down that contact j does something else than it did, behind an impact."""
        now = self._modes[j]
        if now != was:
            event = {layout.FREE: kernels.BREAKS, layout.ROLLING: kernels.STICKS, layout.SLIDING: kernels.SLIPS}[now]
            self._record(event, j)

    def _relative(self, j, q, angular_velocity, velocity):
        """Slip with the speed of parting (3,), and angular velocity (3,) of a body that moves so; axes of 1c."""
        E, o = self._frame(j)
        m, pair = self._parent[j], self.pairs[j]
        spin, v = (np.zeros(3), np.zeros(3)) if m == WORLD else np.split(self.kin.V[m], 2)
        _, origin = pair.pose(q)
        point = pair.points(q)[0]
        axes = E @ pair.surfaces[0].frame(q[:2], pair.charts[0])
        arm = E @ (point - origin)
        slip = velocity + np.cross(angular_velocity, arm) - v - np.cross(spin, E @ point)
        return axes.T @ slip, axes.T @ (angular_velocity - spin)

    def _change(self, event, index):
        """From the state at an event of a contact or a degree of freedom into what it does next."""
        at = len(self.events)
        {
            kernels.BREAKS: self._let_go,
            kernels.STICKS: self._stick,
            kernels.SLIPS: self._slip,
            kernels.LANDS: self._land,
            kernels.LEAVES: self._leave,
            kernels.STOPS: self._stop,
            kernels.RELEASES: self._release,
            FAILS: lambda failure: self._check(*failure),
        }[event](index)
        if event == kernels.LEAVES:
            self.hand_overs += 1
        else:
            self._record(event, index, at)

    def _record(self, event, index, at=None):
        """Write an event down; what it has caused at the same instant stands behind it."""
        if event in (kernels.STOPS, kernels.RELEASES):
            name, mode = self.model.dof_joint_names[index], "held" if event == kernels.STOPS else "free"
        else:
            name, mode = self.contacts[index].name, MODES[self._modes[index]]
        at = len(self.events) if at is None else at
        self.events.insert(at, SurfaceEvent(self.time, EVENT_NAMES[event], mode, name))

    def _let_go(self, j):
        """Free flight with the pose and the velocity of now."""
        self._observe()
        k = self._joints.body[j]
        near = self.q[self._slices(j)[0]][:4].copy()
        state = (*self.kin.p[k], *matrix_to_quat(self.kin.R[k])), self.kin.V[k].copy()
        self._set_mode(j, layout.FREE, *state)
        self._joints.near[j] = *near, 0.0

    def _stick(self, j):
        """Rolling with the relative angular velocity of now."""
        q, rate = (array[at].copy() for array, at in zip((self.q, self.v), self._slices(j)))
        self._set_mode(j, layout.ROLLING, q, self.pairs[j].contact_frame_matrix(q)[:3] @ rate)

    def _slip(self, j):
        """Sliding, with a trace of slip against the friction that was wanted."""
        self._observe()
        q, w = (array[at].copy() for array, at in zip((self.q, self.v), self._slices(j)))
        pair, m = self.pairs[j], self._joints.parent[j]
        E = np.eye(3) if m == WORLD else self.kin.R[m]
        force = ((E @ pair.surfaces[0].frame(q[:2], pair.charts[0])).T @ self._joints.wrench[j, 3:])[:2]
        slip = -FIRST_SLIP * force / np.linalg.norm(force)
        self._set_mode(j, layout.SLIDING, q, pair.rates(q) @ (*w, *slip))

    def _leave(self, j):
        """The same motion in other charts."""
        pair, mode = self.pairs[j], self._joints.mode[j]
        if mode == layout.FREE:
            near = self._joints.near[j, :4]
            pair.set_charts(pair.held_at(pair.charts, near))
            self._pack()
            low, high = self._joints.bounds[j].T  # nearest points go on beyond the end of a surface
            low[near < low + 0.5 * SLACK], high[near > high - 0.5 * SLACK] = -np.inf, np.inf
            return
        at_q, at_v = self._slices(j)
        q, v = self.q[at_q].copy(), self.v[at_v].copy()
        if mode == layout.SLIDING:
            q, v = pair.hand_over(q, v)
        else:
            w = pair.surfaces[0].frame(q[:2], pair.charts[0]) @ v
            q, _ = pair.hand_over(q, pair.rates(q)[:, :3] @ v)
            v = pair.surfaces[0].frame(q[:2], pair.charts[0]).T @ w
        self.q[at_q], self.v[at_v] = q, v
        self._pack()

    def _stop(self, dof):
        """A joint comes to rest at its limit, the impulse going through the tree."""
        for stop in self._stops:
            if stop[0] == dof:
                stop[2] = 1 if self.v[dof] > 0.0 else -1
        self._rebuild()
        self._impulse(lambda: np.zeros((0, len(self.v))), lambda *_: np.zeros(0))

    def _release(self, dof):
        """A joint moves away from its limit."""
        for stop in self._stops:
            if stop[0] == dof:
                stop[2] = 0
        self._rebuild()

    def _land(self, j):
        """An impulse at the contact point: Newton's restitution, Coulomb's friction on its sum."""
        self._observe()
        contact, pair, joints = self.contacts[j], self.pairs[j], self._joints
        k, m = joints.body[j], joints.parent[j]
        E, o = (np.eye(3), np.zeros(3)) if m == WORLD else (self.kin.R[m].copy(), self.kin.p[m].copy())
        R, near = self.kin.R[k].copy(), joints.near[j].copy()
        axes = E @ pair.surfaces[0].frame(near[:2], pair.charts[0])
        point = o + E @ pair.surfaces[0].point(near[:2], pair.charts[0])
        outcome = []

        def law(u, K):
            impulse, *outcome[:] = _collide(u, K, contact.coefficient(), contact.restitution)
            return impulse

        def relative():
            """Relative velocity and spin (3, N) of the two bodies there, axes of 1c, for each velocity of the tree."""
            two = self._at(k, point)
            one = self._at(m, point) if m != WORLD else np.zeros_like(two)
            return axes.T @ (two - one)[:, 3:].T, axes.T @ (two - one)[:, :3].T

        self._impulse(lambda: relative()[0], law, m, axes)
        sticks, rebounds = outcome
        if rebounds:
            return
        slip, spin = (part @ self.v for part in relative())
        q = pair.coordinates(near[:2], near[2:4], E.T @ R)
        if sticks:
            self._set_mode(j, layout.ROLLING, q, spin)
        else:
            self._set_mode(j, layout.SLIDING, q, pair.rates(q) @ (*spin, *slip[:2]))

    def _at(self, k, point):
        """(N, 6): velocity of body k at its point now at ``point``, world axes, for each velocity of the tree."""
        rows = np.zeros((len(self.v), 6))
        body_jacobian(self.tree, self.kin, self._stages, k, rows)
        rows[:, 3:] += np.cross(rows[:, :3], point - self.kin.p[k])
        return rows

    def _impulse(self, rows, law, m=WORLD, axes=None, loosens=True):
        """Change the velocities by impulses p along ``rows()`` (r, N) obeying ``law(u, K)``, and at limits that stop.

        Body m feels ``-axes @ p``.  A contact that would have to pull lets go where it ``loosens``, a limit that would
        have to pull is none; then it is done again.
        """
        while True:
            inverse = self._inverse_mass()
            J = rows()
            stopped = [stop for stop in self._stops if stop[2]]
            S = np.eye(len(self.v))[[stop[0] for stop in stopped]]
            inner = np.linalg.inv(S @ inverse @ S.T)
            gain = inverse - inverse @ S.T @ inner @ S @ inverse  # of impulses, the stopped joints staying at rest
            rest = -inverse @ S.T @ (inner @ (S @ self.v))
            p = law(J @ (self.v + rest), J @ gain @ J.T)
            change = rest + gain @ J.T @ p
            pull = inner @ (S @ (change - inverse @ J.T @ p)) * [stop[2] for stop in stopped]
            if len(stopped) and pull.max() > ROUNDING * (1.0 + np.abs(pull).max()):
                away = stopped[int(np.argmax(pull))][0]
                self._release(away)
                self._record(kernels.RELEASES, away)
                continue
            loose = self._loose(change, m, np.zeros(3) if axes is None else -axes @ p) if loosens else None
            if loose is None:
                self.v[:] += change
                self.v[[stop[0] for stop in stopped]] = 0.0
                return
            self._let_go(loose)
            self._record(kernels.BREAKS, loose)

    def _loose(self, change, m, reaction):
        """The contact whose parent would have to pull most when the velocities change so, or None.

        ``reaction`` is the impulse (3,) on body m from outside.  The impulse through a joint is the change of momentum
        of all that hangs on it, less what comes from outside.
        """
        joints, n = self._joints, len(self.tree.parent)
        momentum = np.zeros((n, 3))
        for k in range(n):
            w, v = np.split(change @ self._at(k, self.kin.p[k]), 2)
            momentum[k] = self.tree.mass[k] * v + np.cross(w, self.kin.mc[k])
        if m != WORLD:
            momentum[m] -= reaction
        for k in range(n - 1, -1, -1):
            if self.tree.parent[k] != WORLD:
                momentum[self.tree.parent[k]] += momentum[k]
        pushes = [
            momentum[k] @ self._normal(j) if joints.mode[j] != layout.FREE and joints.law[j, 1] else 0.0
            for j, k in enumerate(joints.body)
        ]
        j = int(np.argmin(pushes))
        return j if pushes[j] < -ROUNDING * (1.0 + np.abs(momentum).max()) else None


def _collide(u, K, mu, restitution):
    """Impulse of a landing: Newton's restitution, Coulomb's friction on its sum.

    Parameters
    ----------
    u : (3,)
        Relative velocity before, axes of 1c (n last) [m/s].
    K : (3, 3)
        Change of u for an impulse [1/kg].

    Returns
    -------
    (impulse (3,) [N s], sticks, rebounds)
    """
    restitution = restitution if -restitution * u[2] > LEAST_REBOUND else 0.0
    rebound = restitution > 0.0
    if mu > 0.0:
        impulse = np.linalg.solve(K, np.array([0.0, 0.0, -restitution * u[2]]) - u)
        if np.isinf(mu) or np.hypot(*impulse[:2]) <= mu * impulse[2]:
            return impulse, True, rebound
    speed = np.hypot(*u[:2])
    direction = np.array([-mu * u[0] / speed, -mu * u[1] / speed, 1.0]) if speed > 0.0 else np.array([0.0, 0.0, 1.0])
    normal = -(1.0 + restitution) * u[2] / (K[2] @ direction)
    return normal * direction, False, rebound
