# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes and steps that have no derivative, each with a sentence."""

from mb_contact.core.handle import PROJECTION
from mb_contact.core.step.problem import rows_in_use
from mb_contact.core.workspace import BY_EULER, PIECES
from mb_contact.dynamics.arguments import refuse_own_gravity
from mb_contact.errors import InputError


def refused_scene(context):
    """What a scene has of which no step has a derivative, as a sentence, or None."""
    c, scene = context, context.scene
    if scene.collision_scheme != "time_stepping":
        return (f"no derivative of integrator: {scene.integrator} with collision_scheme: {scene.collision_scheme}; set "
                "integrator: semi_implicit_euler and collision_scheme: time_stepping")  # fmt: skip
    if c.embeds and scene.integrator != "semi_implicit_euler":
        return "no derivative of embedded loops under flows; set integrator: semi_implicit_euler"
    if c.world.flexible and scene.integrator != "semi_implicit_euler":
        return "no derivative of flexible links under flows; set integrator: semi_implicit_euler"
    if c.embeds and scene.motions:
        return "no derivative of embedded loops in a scene with motions; set loops: multipliers"
    if c.drift[PROJECTION] and c.couplings.rows:
        return "no derivative of drift_control: projection; set drift_control: baumgarte"
    for has, what in (
        (len(c.hinges.body), "hinges of body coordinates"),
        (any(motion.joint is None for motion in scene.motions), "motions of closures and surfaces"),
        (c.surfaces is not None, "surface contacts"), (scene.adhesion_pads, "adhesion pads"),
        (scene.moving_surfaces, "moving surfaces"), (c.is_soft, "soft materials"), (scene.tendons, "tendons"),
    ):  # fmt: skip
        if has:
            return f"no derivative of a scene with {what}; leave them out"
    return None


def has_impacts(context):
    """Whether the last step had impacts of their own."""
    impacts = context.impacts
    if impacts is None or not impacts.happened:
        return False
    if not impacts.tape:
        if impacts.keeps:
            raise InputError("the step with impacts was taken before its simulator was asked for a derivative; call "
                             "sim.differentiator() and take it again")  # fmt: skip
        raise InputError("no derivative of a step in which bodies strike each other; take a shorter step")
    return True


def refuse_step(context, never):
    """InputError where no step was taken, or one whose equations are others."""
    c = context
    if c.last is None:
        raise InputError("there is no step to differentiate: take one, and set no state behind it")
    if never:
        raise InputError(never)
    if c.scene.sleep and c.sleep.count.any():
        raise InputError("no derivative of a scene with sleeping bodies; leave them out")
    refuse_own_gravity(c.world.tree, "derivatives of a step")
    if c.wrenches.act and c.wrenches.depend_on_poses():
        raise InputError("no derivative of a step with external wrenches in the axes of links or beside the origins of "
                         "their bodies; let them act at origins in world axes")
    if c.motions is not None and has_impacts(c):
        raise InputError("no derivative of a step with impacts in a scene with motions; leave either out")
    if c.scene.integrator != "semi_implicit_euler":
        refuse_flow(c)
    if c.work.record.item(PIECES) > 1.0 or c.work.record.item(BY_EULER):
        raise InputError("no derivative of a step that was taken in pieces; lower the time step")


def refuse_flow(context):
    """InputError where a flow had what its derivative does not know."""
    c = context
    late = c.flow_arrays.end_known[0] and c.end.solved[1] != rows_in_use(c.handle)
    for has, what in (
        (c.flow_arrays.count[0] > 1, "in several pieces"),
        (late, "that reaches a limit by its contacts"),
    ):
        if has:
            raise InputError(f"no derivative of a step of {c.scene.integrator} {what}; set integrator: "
                             "semi_implicit_euler")  # fmt: skip
