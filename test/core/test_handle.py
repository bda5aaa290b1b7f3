# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The arrays of every scene have the same types: another type of one array compiles all kernels of a step anew."""

import numba
import pytest

import mb_contact as mb
from mb_contact.compile.decorated import DISABLE_JIT
from mb_contact.model.resources import find_resource
from mb_contact.simulation.kernels.kernel_jobs import falling_box
from scenes.flexible_robots import CLAMPED, LOOSE, TURNING, scene, strip

CHOICES = ({"integrator": "midpoint"}, {"integrator": "rk4", "collision_scheme": "event"}, {"coordinates": "bodies"})


def types_of(made):
    """Types of all arrays that the step of a scene gets, by their places."""
    found = {}

    def look(kind, place):
        fields = getattr(kind, "field_dict", None) or (
            dict(zip(kind.fields, kind.types)) if hasattr(kind, "fields") else None
        )
        if fields is None:
            found[place] = str(kind)
        for name, field in (fields or {}).items():
            look(field, f"{place}.{name}")

    look(numba.typeof(mb.Simulator(made, warm_up=False).context.handle), "")
    return found


@pytest.mark.skipif(DISABLE_JIT, reason="without JIT there are no types")
@pytest.mark.parametrize("made", [
    *(lambda chosen=chosen: falling_box(**chosen) for chosen in CHOICES),
    lambda: scene(TURNING, "rod", mb.model.FlexibleLink(beam=strip())),
    lambda: scene(CLAMPED, "rod", mb.model.FlexibleLink(beam=strip(modes=3))),
    lambda: scene(LOOSE, "rod", mb.model.FlexibleLink(beam=strip()), base="free", integrator="rk4", time_step=5e-5),
    *(lambda name=name: find_resource(f"package://mb_contact/config/{name}.yaml")
      for name in ("dual_arm_lift", "flexible_arm", "mugs_on_hooks", "soft_pad", "sorting_line")),
])  # fmt: skip
def test_arrays_of_all_scenes_have_the_same_types(made):
    whole = types_of(falling_box())
    assert len(whole) > 300
    other = types_of(made())
    assert {place: (kind, other.get(place)) for place, kind in whole.items() if other.get(place) != kind} == {}
