# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of scenes as the papers print them, for comparison: ``preset: j14_as_printed`` in a scene file.

Each paper is a table of scene keys with the value and the place where it is printed; the scene's own keys count before
these.  docs/papers.md says for each what then goes wrong, ``python benchmarks/as_printed.py`` measures it.
"""

from types import MappingProxyType
from typing import Any

from mb_contact.checks import as_choice

#: What J14 and J12 have in common; J12 gives no number of directions, so it has the fewest of (14).
_COMPLEMENTARITY = {
    "friction_model": ("coulomb_polyhedral", "J14 (6), J12 (14)"),
    "friction_directions": (4, "J14 Table 2, J12 (14)"),
    "friction_frame": ("fixed", "J14 (6), J12 (14)"),
    "restitution_law": ("papers", "J14 (57), J12 (40)"),
    "energy_gain": ("allow", "J14 (58), J12 (41)"),
    "impact_threshold": (0.0, "J14 section 7, J12 section IV"),
    "drift_rate": (0.0, "J14 (53), J12 (34)"),
    "loops": ("multipliers", "J14 (53), J12 (34)"),
}
#: By name of a preset: keys of a scene, each with its value and where the paper has it.
PRESETS = MappingProxyType({
    "j14_as_printed": {
        **_COMPLEMENTARITY,
        "integrator": ("semi_implicit_euler", "J14 (32)"),
        "collision_scheme": ("time_stepping", "J14 section 8"),
    },
    "j12_as_printed": {
        **_COMPLEMENTARITY,
        "collision_scheme": ("event", "J12 section IV-B, steps 1 and 2"),
    },
    "d15_no_slip_as_printed": {
        "friction_model": ("no_slip", "D15 (45), (46)"),
        "integrator": ("semi_implicit_euler", "D15 section VII-B"),
        "drift_rate": (0.0, "D15 (24)"),
        "loops": ("multipliers", "D15 (24)"),
    },
    "d15_viscous_as_printed": {
        "friction_model": ("viscous", "D15 (29)"),
        "integrator": ("rk4", "D15 section VII-B"),
        "drift_rate": (0.0, "D15 (17)"),
        "loops": ("multipliers", "D15 (17)"),
    },
    "d15_coulomb_viscous_as_printed": {
        "friction_model": ("coulomb_viscous", "D15 (23)-(28)"),
        "drift_rate": (0.0, "D15 (24)"),
        "loops": ("multipliers", "D15 (24)"),
    },
})  # fmt: skip


def preset(name: str) -> dict[str, Any]:
    """Settings of a Scene as a paper prints them.

    Parameters
    ----------
    name : str
        ``"j14_as_printed"``, ``"j12_as_printed"``, ``"d15_no_slip_as_printed"``, ``"d15_viscous_as_printed"`` or
        ``"d15_coulomb_viscous_as_printed"``.

    Returns
    -------
    dict
        Arguments of Scene, to which others may be added.

    Raises
    ------
    InputError
        There is no preset of this name.

    Examples
    --------
    >>> printed = mb.model.preset("j14_as_printed")
    >>> printed["friction_directions"], printed["restitution_law"]
    (4, 'papers')
    >>> mb.Scene(**{**printed, "friction_directions": 8}).friction_frame
    'fixed'
    """
    return {key: value for key, (value, _) in PRESETS[as_choice(name, PRESETS, "preset")].items()}
