# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the steps of a scene can have impacts of their own (``impacts.py``), and what these cannot do."""

from mb_contact.core.collision.mesh_tree import SHEET
from mb_contact.simulation.context import holds_impulses


def needs_impacts(context):
    """Whether a scene's steps can have impacts of their own.

    Parameters
    ----------
    context : StepContext

    Raises
    ------
    SceneError
        They can, and the rows of its contact step cannot.
    """
    scene, possible = context.scene, context.contact_step.has_impacts
    by_event = scene.collision_scheme == "event"
    if by_event:
        _refuse_sheets(scene, context.world)
    if not (context.world.restitution > 0.0).any() and not by_event:
        # a step that holds its impulses would sink by v dt / 2 while they stop a fast approach
        return possible and (holds_impulses(scene) or context.contact_step.every_collision)
    if not possible:
        key = "collision_scheme" if by_event else "materials"
        raise scene.error(key, "impacts need the rows and the sweep of the usual steps; these have others")
    return True


def _refuse_sheets(scene, world):
    """SceneError where two sheets may touch: which side of each other they are on is known behind a step alone."""
    sided = world.geoms.mesh.sided
    for pair in world.geoms.pairs.tolist() if len(sided) else ():
        if (sided[pair] == SHEET).all():
            one, other = (world.geometry_links[g] for g in pair)
            raise scene.error(
                "collision_scheme", f"'{one}' and '{other}' are sheets, which pass each other under 'event'; take "
                "time_stepping, or close the mesh of one of them"
            )  # fmt: skip
