# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact sensors and tactile pads against statics and the sums of contact forces."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene
from mb_contact.model.scene.sensors import Pad, Sensor

G = 9.81


def box(name, size, position, mass=None, rpy=None):
    more = {} if mass is None else {"base": "free", "mass": mass}
    return Primitive(name, "box", size, Pose(position, rpy=rpy), **more)


def tower(*sensors, **options):
    """On the ground a table, on it a box of 2 kg and beside that one of 3 kg."""
    boxes = (box("table", (1.0, 0.8, 0.2), (0.0, 0.0, 0.1), 5.0), box("left", (0.2, 0.2, 0.2), (0.25, 0.15, 0.3), 2.0),
             box("right", (0.2, 0.2, 0.2), (-0.25, -0.15, 0.3), 3.0))  # fmt: skip
    sim = mb.Simulator(Scene(primitives=boxes, ground=Ground(), sensors=sensors, **options))
    for _ in range(3):
        sim.step()
    return sim


def test_a_contact_sensor_tells_partners_apart():
    names = (None, "left", "right", "ground")
    sim = tower(*(Sensor(str(name), "contact", link="table", partner=name) for name in names))
    left, right, ground = (sim.sensors.read(name) for name in names[1:] if name)
    np.testing.assert_allclose(left[3:], [0, 0, -2.0 * G], atol=1e-9)
    np.testing.assert_allclose(left[:3], np.cross([0.25, 0.15, 0.1], left[3:]), atol=1e-9)
    np.testing.assert_allclose(right[3:], [0, 0, -3.0 * G], atol=1e-9)
    np.testing.assert_allclose(ground[5], 10.0 * G, atol=1e-8)
    np.testing.assert_allclose(left + right + ground, sim.sensors.read("None"), atol=1e-12)
    np.testing.assert_allclose(sim.contact_impulse("table") / sim.time_step, sim.sensors.read("None"), atol=1e-12)


def test_a_pad_shows_where_something_presses():
    """Both boxes stand on the upper face: their weights are in the cells below them, the sum is the wrench."""
    sim = tower(Sensor("pad", "tactile", link="table", pad=Pad("+z", (10, 8))),
                Sensor("below", "tactile", link="table", pad=Pad("-z", (2, 2))),
                Sensor("side", "tactile", link="table", pad=Pad("+x", (2, 2))),
                Sensor("of left", "tactile", link="table", pad=Pad("+z", (10, 8)), partner="left"))  # fmt: skip
    reading = sim.sensors.read("pad")
    np.testing.assert_allclose(reading.forces.sum(axis=(0, 1)), reading.wrench[3:], atol=1e-12)
    np.testing.assert_allclose(reading.wrench[3:], [0, 0, -5.0 * G], atol=1e-9)
    moment = np.cross([0.25, 0.15, 0], [0, 0, -2 * G]) + np.cross([-0.25, -0.15, 0], [0, 0, -3 * G])
    np.testing.assert_allclose(reading.wrench[:3], moment, atol=1e-9)
    weight = -reading.forces[..., 2]
    assert weight[6:9, 4:7].sum() == pytest.approx(2.0 * G) and weight[1:4, 1:4].sum() == pytest.approx(3.0 * G)
    np.testing.assert_allclose(reading.pressure, weight / 0.01, atol=1e-9)
    np.testing.assert_allclose(sim.sensors.read("of left").wrench[3:], [0, 0, -2.0 * G], atol=1e-9)
    below = sim.sensors.read("below")  # z down: pressed up against it
    np.testing.assert_allclose(below.wrench[3:], [0, 0, -10.0 * G], atol=1e-8)
    total = sim.contact_impulse("table") / sim.time_step
    np.testing.assert_allclose(below.wrench[5] - reading.wrench[5], -total[5], atol=1e-12)
    assert not sim.sensors.read("side").forces.any()


def test_a_pad_turns_with_its_box():
    """On a table that is tilted about y both faces feel the shear of a box that sticks to it."""
    tilt = 0.2
    table = box("table", (2.0, 2.0, 0.2), (0.0, 0.0, 0.0), rpy=(0.0, tilt, 0.0))
    up = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    load = box("load", (0.2, 0.2, 0.2), tuple(0.2 * up), 2.0, rpy=(0.0, tilt, 0.0))
    pads = tuple(Sensor(f"{on}{face}", "tactile", link=on, pad=Pad(face, (3, 3)))
                 for on, face in (("table", "+z"), ("load", "-z")))  # fmt: skip
    rough = {"rough": Material(0.9)}
    scene = Scene(primitives=tuple(mb.model.Primitive(**{**b.__dict__, "material": "rough"}) for b in (table, load)),
                  materials=rough, sensors=pads)  # fmt: skip
    sim = mb.Simulator(scene)
    for _ in range(3):
        sim.step()
    on_table, on_load = (sim.sensors.read(pad.name) for pad in pads)
    expected = 2.0 * G * np.array([np.sin(tilt), 0.0, -np.cos(tilt)])
    np.testing.assert_allclose(on_table.wrench[3:], expected, atol=1e-8)
    np.testing.assert_allclose(on_load.wrench[3:], [-expected[0], 0.0, expected[2]], atol=1e-8)  # x along x, z out
    np.testing.assert_allclose(on_table.wrench[1], 0.1 * expected[0], atol=1e-8)  # about the face: the load leans
    assert on_table.forces[1, 1].any() and not on_table.forces[0].any()


def test_impacts_count():
    """A ball with restitution 0.5 that hits a plate at 1 m/s within a step: m (1 + e) v in that step."""
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.1, 0.0, 0.2003)), "free", 2.0, material="rubber",
                     velocity=mb.model.Velocity(linear=(0.0, 0.0, -1.0)))  # fmt: skip
    plate = box("plate", (1.0, 1.0, 0.2), (0.0, 0.0, 0.0))
    plate = Primitive(**{**plate.__dict__, "material": "rubber"})
    sensors = (Sensor("pad", "tactile", link="plate", pad=Pad()),
               Sensor("ball", "contact", link="ball", partner="plate"))  # fmt: skip
    sim = mb.Simulator(Scene(primitives=(ball, plate), materials={"rubber": Material(0.5, restitution=0.5)},
                             gravity=(0.0, 0.0, 0.0), sensors=sensors))  # fmt: skip
    step = sim.step()
    assert step.events
    force = 2.0 * 1.5 / sim.time_step
    np.testing.assert_allclose(sim.sensors.read("pad").wrench, [0, 0.1 * force, 0, 0, 0, -force], rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(sim.sensors.read("ball"), sim.contact_impulse("ball") / sim.time_step, atol=1e-12)
    assert sim.sensors.read("ball")[5] == pytest.approx(force)
    sim.step()
    assert not sim.sensors.read("pad").wrench.any()


def test_taring_takes_what_is_there_away():
    sensors = (Sensor("contact", "contact", link="table"),
               Sensor("pad", "tactile", link="table", pad=Pad("+z", (4, 4))))  # fmt: skip
    sim = tower(*sensors, Sensor("imu", "imu", link="table"))
    for name in ("contact", "pad"):
        sim.sensors.tare(name)
    assert not sim.sensors.sample("contact").any() and not sim.sensors.sample("pad").forces.any()
    sim.set_external_wrench("left", [0, 0, 0, 0, 0, -7.0])
    sim.step()
    np.testing.assert_allclose(sim.sensors.sample("pad").wrench[5], -7.0, atol=1e-8)
    assert sim.sensors.read("pad").wrench[5] == pytest.approx(-5.0 * G - 7.0)
    with pytest.raises(mb.InputError, match="'imu' is of kind imu; what can be tared is of kind force_torque"):
        sim.sensors.tare("imu")


def test_noise_of_cells_adds_up_in_the_wrench():
    sim = tower(Sensor("pad", "tactile", link="table", pad=Pad("+z", (20, 20)), noise=(0.5, 0.1), seed=3))
    exact, noisy = sim.sensors.read("pad"), sim.sensors.sample("pad")
    error = noisy.forces - exact.forces
    np.testing.assert_allclose(error.std(axis=(0, 1)), [0.1, 0.1, 0.5], rtol=0.1)
    np.testing.assert_allclose(noisy.forces.sum(axis=(0, 1)), noisy.wrench[3:], atol=1e-10)
    x, y = (np.arange(20) + 0.5) / 20 - 0.5, 0.8 * ((np.arange(20) + 0.5) / 20 - 0.5)
    places = np.stack([*np.meshgrid(x, y, indexing="ij"), np.zeros((20, 20))], axis=-1)
    added = np.cross(places, error).sum(axis=(0, 1))
    np.testing.assert_allclose(noisy.wrench[:3] - exact.wrench[:3], added, atol=1e-10)


def test_nothing_is_felt_before_a_step_and_after_going_back():
    sim = tower(Sensor("pad", "tactile", link="table", pad=Pad()), Sensor("any", "contact", link="table"))
    sim.reset()
    assert not sim.sensors.read("pad").forces.any() and not sim.sensors.read("any").any()


@pytest.mark.parametrize("sensor, options, message", [
    (Sensor("a", "tactile", link="table"), {}, "a sensor of kind tactile needs a pad; add pad"),
    (Sensor("a", "tactile", link="table", pad=Pad("+w")), {}, r"'\+w' is not known"),
    (Sensor("a", "tactile", link="table", pad=Pad(cells=(0, 3))), {}, r"pad.cells\[0\]: must be a whole number from 1"),
    (Sensor("a", "tactile", link="table", pad=Pad(geometry="lid")), {}, "needs the name of one box of 'table'"),
    (Sensor("a", "tactile", link="ground", pad=Pad()), {}, "its boxes: none"),
    (Sensor("a", "contact", link="table", partner="nose"), {}, "there is no link with a collision shape 'nose'"),
    (Sensor("a", "contact", link="table", partner="left"), {"collision_scheme": "event"}, "partner: needs coll"),
])  # fmt: skip
def test_impossible_ones_are_refused(sensor, options, message):
    with pytest.raises(mb.SceneError, match=message):
        _ = tower(sensor, **options).sensors
