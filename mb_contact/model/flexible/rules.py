# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a scene with flexible links must be to make sense."""

import numpy as np

from mb_contact.model.flexible.beams import ENDS, MOST_MODES, MOTIONS, SECTIONS, THEORIES

#: Settings of a scene that flexible links need, with the reason.
NEEDED = {
    "solver": (("auto",), "the other solvers know rigid bodies only"),
    "integrator": (
        ("semi_implicit_euler", "rk4", "adaptive"), "its energies are those of rigid bodies; use rk4 or adaptive"
    ),
}


def flexible_rules(scene, numbers):
    """(whether it is broken, key, what is wrong) of one rule after the other; ``numbers`` is ``_numbers_rule``."""
    for i, model in enumerate(scene.models):
        for name, link in model.flexible_links.items():
            yield from _link_rules(link, f"models[{i}].flexible_links.{name}", numbers)
    some = any(model.flexible_links for model in scene.models)
    for key, (allowed, reason) in NEEDED.items():
        value = getattr(scene, key)
        yield some and value not in allowed, key, f"'{value}' cannot be used with flexible links: {reason}"


def _link_rules(link, key, numbers):
    given = (link.beam is not None) + (link.file is not None)
    yield given != 1, key, "a flexible link needs either a beam or a file of modal data"
    yield numbers(f"{key}.damping_ratio", link.damping_ratio, low=0.0)
    for name, place in link.nodes.items():
        yield numbers(f"{key}.nodes.{name}", place, size=3)
    if link.beam is not None:
        yield from _beam_rules(link.beam, f"{key}.beam", numbers)


def _beam_rules(beam, key, numbers):
    for name in ("start", "end", "up"):
        yield numbers(f"{key}.{name}", getattr(beam, name), size=3)
    yield not beam.length > 0.0, f"{key}.end", "must not be where the beam starts"
    along = np.linalg.norm(np.cross(np.subtract(beam.end, beam.start), beam.up))
    flat = not along > 1e-6 * beam.length * np.linalg.norm(beam.up)
    yield flat, f"{key}.up", "must not lie along the beam"
    for name, known in (("section", SECTIONS), ("theory", THEORIES)):
        value = getattr(beam, name)
        yield value not in known, f"{key}.{name}", f"'{value}' is not known; available: {', '.join(known)}"
    form = ", ".join(SECTIONS[beam.section])
    message = f"a {beam.section} has size [{form}], got {list(beam.size)}"
    yield len(beam.size) != len(SECTIONS[beam.section]), f"{key}.size", message
    yield numbers(f"{key}.size", beam.size, size=len(beam.size), low=0.0)
    hollow = beam.section != "tube" or 0.0 < beam.size[1] < beam.size[0]
    yield not min(beam.size) > 0.0 or not hollow, f"{key}.size", "must be above zero, the inner radius below the outer"
    for name in ("young_modulus", "shear_modulus", "density"):
        value = getattr(beam, name)
        yield numbers(f"{key}.{name}", value, low=0.0, optional=name != "young_modulus")
        yield value == 0.0, f"{key}.{name}", "must be above zero"
    yield beam.root not in (None, *ENDS), f"{key}.root", f"'{beam.root}' is not known; available: {', '.join(ENDS)}"
    whole = isinstance(beam.modes, (int, np.integer)) and 1 <= beam.modes <= MOST_MODES
    yield not whole, f"{key}.modes", f"must be a whole number from 1 to {MOST_MODES}, got {beam.modes}"
    unknown = [motion for motion in beam.motions if motion not in MOTIONS]
    message = f"needs some of {', '.join(MOTIONS)}, got {', '.join(map(str, beam.motions)) or 'none'}"
    yield bool(unknown) or len(beam.motions) == 0, f"{key}.motions", message
    message = "has no static modes where its root is free; leave one of them out"
    yield beam.static_modes and beam.root == "free", f"{key}.static_modes", message
