# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The units in which a scene's tolerances are meant: 1 for ordinary sizes, powers of a thousand beyond."""

from dataclasses import replace

import pytest

import mb_contact as mb
from mb_contact.model import Ground, load_scene
from mb_contact.model.units import Units
from paths import CONFIG
from scenes.scaled_cases import scaled, tumbling

LIBRARY = ("box_on_table", "dual_arm_lift", "peg_in_hole", "pendulum_30", "wheel_nuts", "bin_of_200", "falling_can")


@pytest.mark.parametrize("name", LIBRARY)
def test_shipped_scenes_are_of_ordinary_size(name):
    assert mb.build_world(load_scene(CONFIG / f"{name}.yaml")).units == Units()


@pytest.mark.parametrize(
    "lengths, masses, times", [(1e-3, 1e-3, 1.0), (1e3, 1e3, 1.0), (1e-6, 1e-9, 1.0), (1e6, 1e9, 30.0)]
)
def test_a_scaled_copy_has_scaled_units(lengths, masses, times):
    units = mb.build_world(scaled(tumbling(), lengths, masses, times)).units
    speed = lengths / times
    expected = Units(lengths, speed, masses * speed / times, masses**0.5 * speed)
    assert units == pytest.approx(expected, rel=1e-12)


def test_lengths_that_a_scene_does_not_say_scale_with_it_and_those_that_it_says_do_not():
    small = scaled(tumbling(), 1e-3, 1e-9, 1.0)
    assert mb.build_world(small).geoms.margin[0] == pytest.approx(2e-6)
    assert mb.build_world(replace(small, contact_margin=3e-6)).geoms.margin[0] == 3e-6
    assert mb.build_world(replace(small, collision_scheme="event", contact_margin=0.0)).geoms.margin[0] == 1e-6


def test_without_gravity_the_time_step_tells_the_unit_of_time():
    small = replace(scaled(tumbling(), 1e-3, 1.0, 0.1), gravity=(0.0, 0.0, 0.0))
    assert mb.build_world(small).units.speed == pytest.approx(1e-2)


def test_points_at_the_ends_of_spokes_make_no_small_scene():
    """Feet of a rimless wheel are spheres of 1e-10 m: the wheel is as large as its spokes."""
    foot = '<collision><origin xyz="0.7 0 0"/><geometry><sphere radius="1e-10"/></geometry></collision>'
    inertial = '<inertial><mass value="2"/><inertia ixx="0.2" iyy="0.3" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial>'
    wheel = mb.model.SceneModel(f'<robot name="wheel"><link name="wheel">{inertial}{foot}</link></robot>', base="free")
    assert mb.build_world(mb.Scene(models=(wheel,), ground=Ground())).units == Units()


def test_a_world_without_bodies_is_ordinary():
    assert mb.build_world(mb.Scene(ground=Ground())).units == Units()
