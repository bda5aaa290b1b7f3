# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The fidelity suite: every figure within its tolerance, and every exact value derived a second time.

Covers programs/bench/fidelity/*.py.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mb_contact as mb
from mb_contact.cli import main
from mb_contact.model.scene import Ground, Pose, Primitive, Scene, Velocity
from mb_contact.programs.bench.fidelity import CASES, assembly, friction, impact, rotation
from mb_contact.programs.bench.fidelity.exact import sleeping_tilt
from mb_contact.programs.bench.fidelity.frame import Case, Figure, Setting, run_case
from mb_contact.programs.bench.fidelity.table import cells, markdown

#: Events between pyramids take long, and differ from those between cones by their problems alone.
RUNS = [
    pytest.param(
        case, setting, id=f"{case.name}-{setting.label()}".replace(" ", "_"),
        marks=[pytest.mark.slow] if "pyramid" in setting.label() and "event" in setting.label() else [],
    )
    for case in CASES.values() for setting in case.settings
]  # fmt: skip


@pytest.mark.parametrize("case, setting", RUNS)
def test_every_figure_is_within_its_tolerance(case, setting):
    missed = [f"{o.figure.name}: {cells(o)}" for o in run_case(case, setting) if not o.passed]
    assert not missed, "\n".join(missed)


#: The numbers that were asked for, to the digits in which they were.
STATED = [
    ("slope_slides", "speed", 1.608844),
    ("pyramid_turned", "way", 0.19205),
    ("stop", "way", 0.101937),
    ("slide_to_roll", "speed", 3.571429),
    ("slide_to_roll", "end of slip", 0.728120),
    ("slide_to_roll", "way until then", 3.120514),
    ("rolls_down", "acceleration", 2.396584),
    ("rod_on_ice", "omega l / v", 0.848528),
    ("bounce", "rest", 1.354571),
    ("bounce", "second apex", 0.0625),
    ("dzhanibekov", "flip 1", 6.059041),
    ("dzhanibekov", "flip 2", 17.036614),
    ("dzhanibekov", "flip 3", 28.014187),
    ("rolling_balls", "box", 0.7385),
    ("rolling_balls", "balls, mean", 0.2110),
]


@pytest.mark.parametrize("case, figure, value", STATED)
def test_exact_values_are_the_stated_ones(case, figure, value):
    exact = {f.name: f.exact for f in CASES[case].figures}[figure]
    digits = len(str(value).split(".")[1])
    assert abs(exact - value) <= 1.01 * 10.0**-digits


def test_painleves_paradox_begins_at_four_thirds():
    angles = np.radians(np.linspace(1.0, 89.0, 100_001))
    limits = impact.painleve_limit(angles)
    assert limits.min() == pytest.approx(4.0 / 3.0, abs=1e-8)
    assert np.degrees(angles[limits.argmin()]) == pytest.approx(63.435, abs=2e-3)
    W = impact.rod_compliance(impact.PAINLEVE_ANGLE)
    assert W[0, 0] - impact.PAINLEVE_MU * abs(W[0, 1]) < 0.0  # no sliding solution: friction presses the tip down


def test_flips_of_the_tumbling_body_by_quadrature():
    """Euler's equations once more, with Taylor series of 30 digits."""
    I1, I2, I3 = rotation.INERTIA
    with mpmath.workdps(25):
        solution = mpmath.odefun(
            lambda t, w: [(I2 - I3) / I1 * w[1] * w[2], (I3 - I1) / I2 * w[2] * w[0], (I1 - I2) / I3 * w[0] * w[1]],
            0, [mpmath.mpf(str(w)) for w in rotation.OMEGA],
        )  # fmt: skip
        for flip in rotation.FLIPS:
            before, after = solution(flip - 1e-9)[1], solution(flip + 1e-9)[1]
            assert before * after < 0


@pytest.mark.parametrize("part", [0.5, 0.95, 1.05, 2.0])
def test_tilt_of_the_top_by_its_equations_of_motion(part):
    """Lagrange's top as an ODE in the tilt, from rest."""
    torque = rotation.MASS * 9.81 * rotation.LENGTH
    spin, I1, I3, tilt = part * rotation.CRITICAL, rotation.ABOUT_TIP, rotation.AXIAL, rotation.TILT

    def rate(_, y):
        turn = I3 * spin * (np.cos(tilt) - np.cos(y[0])) / (I1 * np.sin(y[0]) ** 2)  # precession
        return [y[1], np.sin(y[0]) * (turn**2 * np.cos(y[0]) + (torque - I3 * spin * turn) / I1)]

    turning = solve_ivp(rate, (0.0, 5.0), [tilt, 0.0], method="DOP853", rtol=1e-12, atol=1e-14,
                        events=lambda t, y: y[1])  # fmt: skip
    assert max(y[0] for y in turning.y_events[0]) == pytest.approx(sleeping_tilt(I1, I3, spin, torque, tilt), rel=1e-9)


def test_rates_of_slides_by_their_equations_of_motion():
    """x'' = g (sin - mu_effective cos) for the flat, the turned pyramid and the groove."""
    cases = [
        (friction.SLIDE_RATE, friction.SLIDE_ANGLE, friction.MU),
        (friction.TURNED_RATE, friction.STICK_ANGLE, friction.MU * np.cos(np.pi / 4)),
        (assembly.GROOVE_RATE, assembly.SLIDE_ANGLE, assembly.GROOVE_MU * 2.0 * np.cos(np.pi / 4)),
    ]
    for rate, angle, mu in cases:
        assert rate > 0.0
        assert rate == pytest.approx(9.81 * np.cos(angle) * (np.tan(angle) - mu), rel=1e-12)
    assert np.tan(friction.STICK_ANGLE) < min(friction.MU, assembly.GROOVE_MU * np.sqrt(2.0))


# --- the frame ------------------------------------------------------------------------------------


def test_a_figure_that_misses_is_reported_as_missed():
    case = Case("wrong", "a case that is off", (Figure("one", "m", 1.0, 1e-3), Figure("two", "m", 0.0, 1e-3, False)),
                (Setting(),), lambda setting: (1.002, 5e-4))  # fmt: skip
    first, second = run_case(case, Setting())
    assert not first.passed and first.error == pytest.approx(2e-3) and second.passed
    text = markdown(case, [first, second], [("engine", "one", 1.5)])
    assert "**no**" in text and "| *engine* | one | 1.5 m | 1 m | 5.0e-01 | | |" in text


def test_nan_does_not_pass():
    case = Case("nan", "a case that ran away", (Figure("one", "m", 1.0, 1e-3),), (Setting(),), lambda _: (np.nan,))
    assert not run_case(case, Setting())[0].passed


def test_command_line(capsys):
    assert main(["bench", "fidelity", "--case", "rod_on_ice"]) == 0
    figures = 3 * len(CASES["rod_on_ice"].settings)
    assert f"{figures} of {figures} figures within their tolerances" in capsys.readouterr().out
    assert main(["bench", "fidelity", "--case", "rod_on_ice", "--markdown"]) == 0
    assert "## rod_on_ice" in capsys.readouterr().out
    assert main(["bench", "fidelity", "--case", "nonsense"]) == 2
    assert "there is no case 'nonsense'" in capsys.readouterr().err


def test_a_fixed_friction_frame_is_a_key_of_the_scene(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("friction_frame: fixed\nground: {height: 0}\n", encoding="utf-8")
    assert mb.load_scene(path).friction_frame == "fixed"
    path.write_text("ground: {height: 0}\nfriction_frame: sideways\n", encoding="utf-8")
    with pytest.raises(mb.SceneError, match=r"scene.yaml:2: friction_frame: .* available: slip, fixed"):
        mb.load_scene(path)


@pytest.mark.parametrize("speed", [5.0, 50.0, 300.0])
def test_fast_bodies_do_not_pass_thin_walls(speed):
    """Contacts are seen as far ahead as two shapes can go in a step: 300 mm here, against a wall of 5 mm."""
    wall = Primitive("wall", "box", (0.005, 1.0, 1.0), Pose((1.0, 0.0, 0.0)))
    ball = Primitive("ball", "sphere", (0.02,), Pose((0.03, 0.0, 0.0)), "free", 1.0,
                     velocity=Velocity(linear=(speed, 0.0, 0.0)))  # fmt: skip
    sim = mb.Simulator(Scene(primitives=(wall, ball), gravity=(0.0, 0.0, 0.0)))
    deepest = 0.0
    for _ in range(round(2.0 / speed / sim.time_step) + 5):
        deepest = max(deepest, sim.step().certificate.penetration)
    assert sim.q[0] == pytest.approx(1.0 - 0.0025 - 0.02, abs=1e-6) and abs(sim.v[3]) < 1e-9
    assert deepest < 1e-6


def test_fast_turning_bodies_are_seen_in_time():
    """The end of a long bar comes down at 50 m/s although its centre hardly moves."""
    bar = Primitive("bar", "box", (2.0, 0.02, 0.02), Pose((0.0, 0.0, 0.4)), "free", 1.0,
                    velocity=Velocity(angular=(0.0, 50.0, 0.0)))  # fmt: skip
    sim = mb.Simulator(Scene(primitives=(bar,), ground=Ground()))
    deepest = max(sim.step().certificate.penetration for _ in range(60))
    assert deepest < 2e-3  # the end moves on a circle, 25 mm in a step, and is asked along a line


def test_slow_bodies_make_no_contacts_beyond_the_margin():
    ball = Primitive("ball", "sphere", (0.02,), Pose((0.0, 0.0, 0.0225)), "free", 1.0)
    sim = mb.Simulator(Scene(primitives=(ball,), ground=Ground(), gravity=(0.0, 0.0, 0.0)))
    assert sim.step().certificate.contacts == 0
    sim.set_state(sim.q, [0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
    assert sim.step().certificate.contacts == 1
