# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Minimal-coordinate operational-space contact dynamics of robots that touch things.

>>> import mb_contact as mb
>>> sim = mb.Simulator(mb.load_scene("package://mb_contact/config/box_on_table.yaml"))
>>> step = sim.step()
>>> step.certificate.complementarity_gap < 1e-9
True

What most programs need stands here; the rest is in ``mb.control``, ``mb.dynamics``, ``mb.model``, ``mb.simulation``,
``mb.studies`` and ``mb.surfaces``.  Names are imported when first used, so ``import mb_contact`` itself is quick;
``__init__.pyi`` tells type checkers and editors where they are.
"""

from mb_contact.lazy import lazy_names

__version__ = "0.1.0"

_DEFINED = {
    "dynamics": (
        "Node",
        "Point",
        "energy",
        "forward_dynamics",
        "forward_dynamics_derivatives",
        "frame_pose",
        "inverse_dynamics",
        "jacobian",
        "mass_matrix",
        "operational_compliance",
        "operational_space",
    ),
    "errors": (
        "CollisionError",
        "CommunicationError",
        "DynamicsError",
        "InputError",
        "MbContactError",
        "ModelError",
        "SceneError",
        "SolverError",
    ),
    "gradients": ("rollout_gradient",),
    "identification": ("identify",),
    "model": ("Model", "Scene", "World", "build_world", "load_scene", "load_urdf"),
    "model.builtin.pendulum": ("pendulum",),
    "simulation": ("Certificate", "Simulator", "State", "Step"),
    "simulation.surfaces.simulator": ("surface_simulator",),
    "solvers": ("solve_friction", "solve_lcp"),
    "viewer.loop": ("show",),
    "worlds": ("Worlds", "rollout"),
}
_ROOMS = ("control", "dynamics", "gradients", "model", "simulation", "solvers", "studies", "surfaces", "worlds")
__getattr__, __dir__, __all__ = lazy_names(__name__, _DEFINED, _ROOMS)
__all__ += ["__version__"]
