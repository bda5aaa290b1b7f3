# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sticking, sliding and rolling: blocks and balls under Coulomb's law."""

import numpy as np

from mb_contact.model.scene import Pose, Primitive
from mb_contact.programs.bench.fidelity.frame import (
    GRAVITY,
    Case,
    Figure,
    Setting,
    body,
    coulomb,
    drive,
    launch,
    simulator,
    slope_gravity,
    upper,
)

MU = 0.5
STICK_ANGLE, SLIDE_ANGLE = np.radians(20.0), np.radians(35.0)
HALF = 0.05  #: half height of the block [m]
RADIUS, SPEED, BALL_MU = 0.1, 5.0, 0.2  #: of the ball that slides first


def _block(setting, angle, heading=0.0):
    """A block on a slope, as level ground under tilted gravity."""
    return simulator(setting, [body("block", "box", (0.2, 0.2, 2 * HALF), (0, 0, HALF))], MU,
                     gravity=slope_gravity(angle, heading))  # fmt: skip


def _block_on_plane(setting, angle):
    """The same on an inclined plane that falls towards +x."""
    rpy = (0.0, float(angle), 0.0)
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    plane = Primitive("slope", "plane", pose=Pose(rpy=rpy), material="stuff")
    return simulator(
        setting, [plane, body("block", "box", (0.2, 0.2, 2 * HALF), HALF * normal, rpy=rpy)], MU, ground=None
    )


def _drift(sim, seconds):
    """Largest distance from the start [m]."""
    start, worst = sim.link_pose("block")[0], [0.0]
    drive(sim, seconds, lambda _: worst.append(np.linalg.norm(sim.link_pose("block")[0] - start)))
    return max(worst)


def _sticks(setting):
    return (
        _drift(_block(setting, STICK_ANGLE), 2.0),
        _drift(_block_on_plane(setting, STICK_ANGLE), 2.0),
    )


def _slides(setting):
    level, plane = _block(setting, SLIDE_ANGLE), _block_on_plane(setting, SLIDE_ANGLE)
    for sim in (level, plane):
        drive(sim, 1.0)
    return level.v[3], plane.v[3:6] @ (np.cos(SLIDE_ANGLE), 0.0, -np.sin(SLIDE_ANGLE))


def _turned_pyramid(setting):
    sim = _block(setting, STICK_ANGLE, np.pi / 4)
    drive(sim, 2.0)
    x, y, _ = sim.link_pose("block")[0]
    return np.hypot(x, y), abs(x - y)


def _stop(setting):
    sim = _block(setting, 0.0)
    launch(sim, (0, 0, 0, 1.0, 0, 0))
    drive(sim, 0.3)
    return sim.link_pose("block")[0][0], abs(sim.v).max()


def _slide_to_roll(setting):
    """Speed and place where slip ends, by linear interpolation between the steps around it, and the sinking."""
    sim = simulator(setting, [body("ball", "sphere", RADIUS, (0, 0, RADIUS))], BALL_MU)
    launch(sim, (0, 0, 0, SPEED, 0, 0))
    times, slips, places, heights = [0.0], [SPEED], [0.0], [RADIUS]

    def watch(_):
        v = sim.v
        times.append(sim.time)
        slips.append(v[3] - RADIUS * v[1])
        place = sim.link_pose("ball")[0]
        places.append(place[0])
        heights.append(place[2])

    drive(sim, 1.0, watch)
    last = int(np.flatnonzero(np.array(slips) > 1e-9)[-1])  # the last step that ends sliding
    rest = slips[last] / (slips[last - 1] - slips[last])  # of a step, at the rate of the step before
    end = times[last] + rest * (times[last] - times[last - 1])
    place = places[last] + rest * (places[last + 1] - places[last])
    return sim.v[3], end, place, RADIUS - min(heights)


def _rolls_down(setting):
    sim = simulator(setting, [body("ball", "sphere", RADIUS, (0, 0, RADIUS))], MU, gravity=slope_gravity(STICK_ANGLE))
    drive(sim, 1.0)
    return (sim.v[3] / sim.time,)


#: All tan(20 deg) < mu = 0.5 < tan(35 deg); a pyramid of 4 turned by 45 deg holds mu / sqrt(2) < tan(20 deg) only.
SLIDE_RATE = GRAVITY * (np.sin(SLIDE_ANGLE) - MU * np.cos(SLIDE_ANGLE))
TURNED_RATE = GRAVITY * (np.sin(STICK_ANGLE) - MU / np.sqrt(2.0) * np.cos(STICK_ANGLE))
#: A solid ball slides at v0 - mu g t while its rim gains 5/2 mu g t: they meet after 2 v0 / (7 mu g), at 5/7 v0.
ROLL_TIME = 2.0 * SPEED / (7.0 * BALL_MU * GRAVITY)
ROLL_PLACE = 12.0 * SPEED**2 / (49.0 * BALL_MU * GRAVITY)
STOP = 1.0 / (2.0 * MU * GRAVITY)

CASES = (
    Case(
        "slope_sticks", "block on a slope of 20 deg, mu = 0.5, for 2 s",
        (upper("drift", "m", 1e-9), upper("drift, plane inclined", "m", 1e-9)), coulomb(), _sticks,
    ),
    Case(
        "slope_slides", "block on a slope of 35 deg, mu = 0.5, after 1 s: g (sin - mu cos) t",
        (Figure("speed", "m/s", SLIDE_RATE, 1e-6), Figure("speed, plane inclined", "m/s", SLIDE_RATE, 1e-6)),
        coulomb(), _slides,
    ),
    Case(
        "pyramid_turned", "pyramid of 4 turned by 45 deg on a slope of 20 deg, 2 s: slides, as tan 20 > mu / sqrt 2",
        (Figure("way", "m", 2.0 * TURNED_RATE, 1e-3), upper("way to the side", "m", 1e-9)),
        (Setting(friction_directions=4, friction_frame="fixed"),), _turned_pyramid,
    ),
    Case(
        "cone_turned", "the same slope with the exact cone: sticks in every direction",
        (upper("way", "m", 1e-9), upper("way to the side", "m", 1e-9)),
        (Setting(friction_model="coulomb_cone"),), _turned_pyramid,
    ),
    Case(
        "stop", "block at 1 m/s, mu = 0.5: comes to rest after v^2 / (2 mu g)",
        (
            Figure("way", "m", STOP, lambda setting: 0.5e-2 * setting.time_step / 1e-3),
            upper("speed after 0.3 s", "m/s", 1e-9),
        ),
        coulomb() + coulomb(schemes=("time_stepping",), time_step=1e-4), _stop,
    ),
    Case(
        "slide_to_roll", "solid ball at 5 m/s, r = 0.1 m, mu = 0.2: slides, then rolls at 5/7 of its speed",
        (
            Figure("speed", "m/s", 5.0 / 7.0 * SPEED, 1e-3), Figure("end of slip", "s", ROLL_TIME, 1e-3),
            Figure("way until then", "m", ROLL_PLACE, 1e-3), upper("sinking", "m", 1e-6),
        ),
        coulomb(), _slide_to_roll,
    ),
    Case(
        "rolls_down", "solid ball rolling down 20 deg: 5/7 g sin",
        (Figure("acceleration", "m/s^2", 5.0 / 7.0 * GRAVITY * np.sin(STICK_ANGLE), 1e-6),), coulomb(), _rolls_down,
    ),
)  # fmt: skip
