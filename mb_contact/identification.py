# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Identification: parameters of a scene fitted to recorded motions by derivatives of its steps (docs/gradients.md).

From each start in a recording the scene is rolled out, and the sensitivities of its state with it,

    X_(k+1) = F_k X_k + H_k,    F_k = dx_(k+1)/dx_k,  H_k = dx_(k+1)/dp,

so that one rollout gives the residuals of a least-squares problem and their Jacobian.
"""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mb_contact.checks import as_choice, as_matrix, as_positive, as_whole
from mb_contact.errors import InputError
from mb_contact.gradients import Identified, Recording, Unknown
from mb_contact.gradients.motion import displacement, step_map
from mb_contact.model import Scene, build_world, load_scene
from mb_contact.model.scene import JointProperties, MaterialPair, ModelMaterials
from mb_contact.simulation import Simulator

KINDS = ("mass", "friction", "restitution", "damping", "joint_friction")
UNSEEN = 1e-10  #: singular value, in parts of the largest, up to which the data do not show a combination of unknowns
MARK = 0.123456789012345  #: a coefficient that no scene has


def identify(
    scene: Scene | str | Path,
    recordings: Sequence[Recording],
    unknowns: Sequence[Unknown],
    window: int | None = None,
    noise: tuple[float, float] = (1.0, 1.0),
    substeps: int = 1,
    tolerance: float = 1e-13,
) -> Identified:
    """Fit masses, friction, restitution and damping of a scene to recorded motions, by nonlinear least squares.

    Parameters
    ----------
    scene : Scene or path
        The scene that was recorded, but for the unknowns.
    recordings : sequence of Recording
    unknowns : sequence of Unknown
    window : int, optional
        Recorded states behind which a prediction begins anew from the recording; the whole recording if left out.
    noise : (float, float)
        Standard deviations of recorded coordinates [rad, m] and velocities [rad/s, m/s], or what is in proportion.
    substeps : int
        Steps of the scene from one recorded state to the next.
    tolerance : float
        Relative change of the values, or of the cost, at which the fit ends; with noise 1e-4 is plenty.

    Returns
    -------
    Identified

    Raises
    ------
    InputError
        A recording does not fit, an unknown names nothing in the scene, or a step has no derivative.

    Examples
    --------
    >>> scene = mb.load_scene("package://mb_contact/config/box_on_table.yaml")
    >>> sim = mb.Simulator(scene)
    >>> sim.set_object("box", velocity=[0, 0, 0, 0.5, 0, 0])
    >>> states = [(sim.q, sim.v)] + [(sim.q, sim.v) for _ in range(20) if sim.step()]
    >>> recording = mb.gradients.Recording(*map(np.array, zip(*states)))
    >>> mb.identify(scene, [recording], [mb.gradients.Unknown("friction", ("wood", "steel"), 0.3)]).values.round(6)
    array([0.5])
    """
    from scipy.optimize import least_squares  # which takes 0.3 s to import

    scene = scene if isinstance(scene, Scene) else load_scene(scene)
    fit = Fit(scene, recordings, unknowns, window, noise, substeps)
    tolerance = as_positive(tolerance, "tolerance")
    start = np.array([unknown.start for unknown in unknowns], float)
    bounds = [np.array([getattr(unknown, name) for unknown in unknowns], float) for name in ("low", "high")]
    found = least_squares(
        fit.residuals, start, fit.jacobian, bounds, x_scale=np.maximum(np.abs(start), 1e-3),
        ftol=max(1e-2 * tolerance, 1e-15), xtol=tolerance, gtol=1e-15,
    )  # fmt: skip
    spare = max(len(found.fun) - len(start), 1)
    covariance = 2.0 * found.cost / spare * _inverse(found.jac, np.maximum(np.abs(found.x), 1e-3))
    deviations = np.sqrt(np.diag(covariance))
    return Identified(found.x, deviations, covariance, float(found.cost), fit.rollouts, fit.scene(found.x))


def _inverse(J, size):
    """(J* J)^-1 for values of about a ``size`` each; infinite on the diagonal for those that J does not show."""
    _, s, basis = np.linalg.svd(J * size, full_matrices=len(J) < len(size))
    seen = np.zeros(len(size), bool)
    seen[: len(s)] = s > UNSEEN * max(s[0], np.finfo(float).tiny)
    inverse = np.outer(size, size) * (basis[seen].T / s[seen[: len(s)]] ** 2 @ basis[seen])
    inverse[np.diag_indices(len(size))] += np.where((basis[~seen] ** 2).sum(axis=0) > UNSEEN, np.inf, 0.0)
    return inverse


class Fit:
    """The least-squares problem of ``identify``."""

    def __init__(self, scene, recordings, unknowns, window, noise, substeps):
        if not recordings or not unknowns:
            raise InputError("identify needs at least one recording and one unknown")
        for name, entries, kind in (("recordings", recordings, Recording), ("unknowns", unknowns, Unknown)):
            if not all(isinstance(entry, kind) for entry in entries):
                raise InputError(f"{name} must be a list of {kind.__name__}; write [{kind.__name__}(...)]")
        self._scene, self._unknowns = scene, unknowns
        for kind, of, start, low, high in unknowns:
            as_choice(kind, KINDS, "the kind of an unknown")
            if not (low <= start <= high and low < high):
                span = f"from {low:g}, its low, to {high:g}, its high"
                raise InputError(f"the unknown {kind} of {of} starts at {start:g}; start it within a span {span}")
        world = build_world(scene)
        nq, N, joints = len(world.q0), len(world.v0), len(world.joint_names)
        self._recordings = [_checked(recording, nq, N, joints) for recording in recordings]
        self._substeps = as_whole(substeps, "substeps")
        self._window = None if window is None else as_whole(window, "window")
        self._weights = np.repeat([1.0 / as_positive(x, "noise") for x in noise], N)
        self._columns = [self._columns_of(world, unknown) for unknown in unknowns]
        self.rollouts, self._last = 0, None

    def scene(self, values):
        """The scene with these values of the unknowns."""
        scene = self._scene
        for unknown, value in zip(self._unknowns, values, strict=True):
            scene = _changed(scene, unknown, float(value))
        return scene

    def residuals(self, values):
        """Weighted differences of all predicted states from the recorded ones."""
        return self._evaluated(values)[1]

    def jacobian(self, values):
        """Their derivatives by the values."""
        return self._evaluated(values)[2]

    def _evaluated(self, values):
        if self._last is None or not np.array_equal(self._last[0], values):
            sim, parts = Simulator(self.scene(values), warm_up=False), []
            sim.reset()
            sim.differentiator()  # from here on impacts are kept
            for recording in self._recordings:
                steps = len(recording.effort)
                window = self._window or steps
                for first in range(0, steps, window):
                    parts += self._predicted(sim, recording, first, min(first + window, steps))
            self._last = (values.copy(), *(np.concatenate(list(part)) for part in zip(*parts, strict=True)))
            self.rollouts += 1
        return self._last

    def _predicted(self, sim, recording, first, last):
        """(residuals, their Jacobian) of each recorded state of a window."""
        tree, kinds = sim.context.tree, tuple(dict.fromkeys(unknown.kind for unknown in self._unknowns))
        sim.set_state(recording.q[first], recording.v[first])
        N, by_contact = len(sim.v), set(kinds) <= {"friction", "restitution"}
        X = np.zeros((2 * N, len(self._unknowns)))
        for k in range(first, last):
            for _ in range(self._substeps):
                sim.step(recording.effort[k])
                if by_contact and not X.any() and not sim.context.contacts.count[0]:
                    continue  # nothing has touched yet
                matrix, _, own, _ = sim.differentiator().solve(("q", "v", *kinds))
                matrix = matrix.reshape(2 * N, -1)
                H = [matrix[:, own[unknown.kind]][:, of].sum(axis=1)
                     for unknown, of in zip(self._unknowns, self._columns, strict=True)]  # fmt: skip
                X = matrix[:, : 2 * N] @ X + np.stack(H, axis=1)  # q and v stand first
            apart = displacement(tree, recording.q[k + 1], sim.q)
            J = np.concatenate((np.linalg.solve(step_map(tree, apart)[1], X[:N]), X[N:]))
            error = np.concatenate((apart, sim.v - recording.v[k + 1]))
            yield self._weights * error, self._weights[:, None] * J

    def _columns_of(self, world, unknown):
        """Columns of the step's derivatives that belong to an unknown."""
        if unknown.kind == "mass":
            names = list(world.body_names)
            return [names.index(_primitive(self._scene, unknown.of).name)]
        marked = build_world(_changed(self._scene, unknown, MARK))
        of = {
            "friction": lambda: marked.geoms.mu, "restitution": lambda: marked.restitution,
            "damping": lambda: marked.joints.damping,
            "joint_friction": lambda: marked.joints.friction,
        }[unknown.kind]()  # fmt: skip
        found = np.flatnonzero(of == MARK).tolist()
        if not found:
            raise InputError(f"the unknown {unknown.kind} of {unknown.of} is that of nothing in the scene")
        return found


def _checked(recording, nq, N, joints):
    """A Recording whose arrays fit a world."""
    q = as_matrix(recording.q, (None, nq), "q of a recording")
    v = as_matrix(recording.v, (len(q), N), "v of a recording")
    effort = np.zeros((len(q) - 1, joints)) if recording.effort is None else recording.effort
    return Recording(q, v, as_matrix(effort, (len(q) - 1, joints), "effort of a recording"))


def _primitive(scene, name):
    """The primitive of a scene with a name."""
    for body in scene.primitives:
        if body.name == name:
            return body
    raise InputError(f"the scene has no primitive '{name}' whose mass could be fitted")


def _changed(scene, unknown, value):
    """The scene with another value of an unknown."""
    if unknown.kind == "mass":
        body = _primitive(scene, unknown.of)
        scale = value / body.mass
        inertia = body.inertia if body.inertia is None else tuple(scale * x for x in body.inertia)
        other = dataclasses.replace(body, mass=value, inertia=inertia)
        return dataclasses.replace(scene, primitives=tuple(other if x is body else x for x in scene.primitives))
    if unknown.kind in ("friction", "restitution"):
        known = [pair for pair in scene.pairs if sorted(pair.materials) == sorted(unknown.of)]
        materials = [scene.materials[name] for name in unknown.of if name in scene.materials]
        own = [material.friction for material in materials if material.anisotropic_friction is None]
        between = math.sqrt(math.prod(own)) if len(own) == 2 else None
        pair = known[0] if known else MaterialPair(tuple(unknown.of), friction=between)
        pair = dataclasses.replace(pair, **{unknown.kind: value})
        return dataclasses.replace(scene, pairs=(*(x for x in scene.pairs if x not in known), pair))
    name = {"damping": "damping", "joint_friction": "friction"}[unknown.kind]
    models = []
    for model in scene.models:
        own = model.joint_properties.get(unknown.of, JointProperties())
        models.append(model)
        if unknown.of in _joints(model):
            properties = {**model.joint_properties, unknown.of: dataclasses.replace(own, **{name: value})}
            models[-1] = dataclasses.replace(model, joint_properties=properties)
    return dataclasses.replace(scene, models=tuple(models))


def _joints(model):
    """Names of the joints of a scene's robot."""
    return build_world(Scene(models=(dataclasses.replace(model, materials=ModelMaterials()),))).joint_names
