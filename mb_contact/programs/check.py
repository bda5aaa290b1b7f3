# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact check`` and ``mb-contact info``: what a scene and a robot are, and what is odd about them."""

from collections.abc import Callable, Iterable
from typing import Any

from mb_contact.model.describe import describe_model, describe_scene
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.ros.options import NodeOptions, Schedule
from mb_contact.ros.pushes import PushInbox
from mb_contact.simulation.initial import initial_penetrations
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.surfaces.simulator import surface_simulator
from mb_contact.simulation.surfaces.world import describe_others
from mb_contact.surfaces.scene_build import describe_surface_scene
from mb_contact.surfaces.scene_file import is_surface_scene


def run_check(scene: str, progress: Callable[[str], Any], strict: bool = False) -> int:
    """Build a scene as ``run`` and ``view`` do before time starts, print what is in it, and what is odd.

    strict : return 1 where anything is odd.
    """
    if is_surface_scene(scene):
        lines = describe_surface_scene(scene)
        others, world = describe_others(scene)
        surface_simulator(scene, progress)
        found = initial_penetrations(world) if world else ()
        odd = [f"{a} and {b} penetrate by {1000.0 * depth:.1f} mm at the start" for a, b, depth in found]
        lines = [*lines, *others]
    else:
        sim = Simulator(scene, progress=progress)
        _ = sim.sensors if sim.scene.sensors else None
        options = NodeOptions()
        Schedule(options, sim.scene.rates, sim.time_step)
        PushInbox(sim.world, options.external_wrench_links, sim.scene.contact_wrench_links, options, None)
        odd = sim.warnings
        lines = describe_scene(sim.scene, sim.world)
    verdict = f"runs, with {len(odd)} warning{'s' if len(odd) > 1 else ''}" if odd else "fine"
    print("\n".join([f"{scene}: {verdict}", *lines, *(f"warning: {text}" for text in odd)]))
    return 1 if strict and odd else 0


def run_info(urdf: str, xacro_args: Iterable[tuple[str, str]], floating: bool) -> int:
    """Read a robot, whatever is wrong with it, and print what it is."""
    model = load_urdf(
        urdf,
        floating=floating,
        collision_meshes="warn",
        inertia_errors="warn",
        massless="armature",
        xacro_args=dict(xacro_args),
    )
    print("\n".join(describe_model(model)))
    return 0
