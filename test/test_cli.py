# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""cli.py, programs/check.py, programs/lcp.py: complete help, one line and exit code 2 for bad input, no traceback.

Covers programs/bench/command.py, programs/bench/step.py, programs/check.py, programs/lcp.py, testing/options.py.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from mb_contact import cli
from mb_contact.errors import DynamicsError
from paths import ROOT

pytestmark = pytest.mark.quick

URDF = str(ROOT / "urdf" / "dual_arm.urdf")
SCENE = str(ROOT / "config" / "dual_arm_lift.yaml")


def run(*arguments, **more):
    command = [sys.executable, "-m", "mb_contact", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, **more)


def call(capsys, *arguments):
    """Exit code, output and error lines of the command in this process."""
    try:
        code = cli.main(list(arguments))
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    return code, out, err.splitlines()


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.npz"
    np.savez(path, M=np.array([[2.0, 1.0], [1.0, 2.0]]), q=np.array([-5.0, -6.0]))
    return path


@pytest.mark.parametrize(
    "command",
    [(), ("run",), ("demo",), ("demo", "lift"), ("new",), ("check",), ("info",), ("import",), ("export",), ("lcp",),
     ("bench",), ("view",)],
)
def test_help(capsys, command):
    code, out, err = call(capsys, *command, "--help")
    assert code == 0 and not err
    assert out.startswith(f"usage: {' '.join(['mb-contact', *command])}")


def test_help_names_every_command_and_is_quick():
    answer = run("--help")
    assert answer.returncode == 0
    for name in ("run", "view", "demo", "check", "info", "import", "export", "lcp", "bench"):
        assert f"\n    {name} " in answer.stdout
    code = "import sys; from mb_contact import cli; cli.build_parser(); print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert {"numba", "coal", "rosbags", "cyclonedds", "matplotlib", "scipy", "viser"}.isdisjoint(
        modules.stdout.split()
    )


@pytest.mark.parametrize("option", ["--duration", "--headless", "--record", "--seed"])
def test_run_has_the_promised_options(capsys, option):
    assert option in call(capsys, "run", "--help")[1]


BAD = [
    ((), "the following arguments are required: COMMAND"),
    (("fly",), "invalid choice: 'fly'"),
    (("run",), "required: scene"),
    (("run", "nowhere.yaml"), "nowhere.yaml"),
    (("run", SCENE, "--duration", "soon"), "'soon' is no number of seconds"),
    (("run", SCENE, "--duration", "nan"), "'nan' is no number of seconds"),
    (("run", SCENE, "--duration", "inf"), "'inf' is no number of seconds"),
    (("run", SCENE, "--duration", "-1"), "'-1' is no number of seconds"),
    (("run", SCENE, "--seed", "-1"), "--seed must be from 0"),
    (("check", "nowhere.yaml"), "nowhere.yaml"),
    (("check", "{tmp}/broken.yaml"), "broken.yaml"),
    (("info", "nowhere.urdf"), "nowhere.urdf"),
    (("info", "{tmp}/broken.urdf"), "broken.urdf"),
    (("lcp", "nowhere.npz"), "nowhere.npz: No such file or directory"),
    (("lcp", "{tmp}/broken.npz"), "is not an .npz archive"),
    (("lcp", "{tmp}/other.npz"), "has no M and no q; it holds A"),
    (("lcp", "{tmp}/one.npy"), "holds one array"),
    (("lcp", "{tmp}/nan.npz"), "every entry must be finite"),
    (("lcp", "{tmp}/problem.npz", "--method", "magic"), "no method 'magic'"),
    (("bench", "flight"), "invalid choice: 'flight'"),
    (("bench", "step", "--repeats", "0"), "--repeats must be 1 or more"),
    (("demo",), "required: NAME"),
    (("demo", "lift", "--realtime", "--as-fast-as-possible"), "not allowed with argument"),
    (("demo", "lift", "--controller", "nowhere.py"), "nowhere.py: no such controller script"),
    (("demo", "lift", "--out", "{tmp}/broken.yaml"), "broken.yaml"),
]


@pytest.mark.parametrize(
    "arguments, said", BAD, ids=[" ".join(a).replace(SCENE, "SCENE") or "-" for a, _ in BAD]
)
def test_bad_input_is_one_line(capsys, tmp_path, problem, arguments, said):
    (tmp_path / "broken.yaml").write_text("time_step: [\n", encoding="utf-8")
    (tmp_path / "broken.urdf").write_text("<robot name='r'><link>", encoding="utf-8")
    (tmp_path / "broken.npz").write_text("nothing", encoding="utf-8")
    np.savez(tmp_path / "other.npz", A=np.eye(2))
    np.save(tmp_path / "one.npy", np.eye(2))
    np.savez(tmp_path / "nan.npz", M=np.eye(2), q=[0.0, np.nan])
    code, out, err = call(capsys, *(a.replace("{tmp}", str(tmp_path)) for a in arguments))
    assert code == 2
    assert len(err) == 1, err
    assert said in err[0]
    assert err[0].startswith("mb-contact") and ": error: " in err[0]


def test_errors_of_a_child_process_are_one_line_too():
    answer = run("info", "nowhere.urdf")
    assert answer.returncode == 2 and not answer.stdout
    assert len(answer.stderr.splitlines()) == 1


def test_a_failed_simulation_is_not_bad_input(capsys, monkeypatch):
    def fail(_):
        raise DynamicsError("the state has run away")

    monkeypatch.setattr(cli, "_check", fail)
    assert call(capsys, "check", SCENE) == (1, "", ["mb-contact: error: the state has run away"])


def test_interrupted(capsys, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_check", interrupt)
    assert call(capsys, "check", SCENE) == (130, "", ["mb-contact: interrupted"])


@pytest.mark.parametrize("method", [None, "principal_pivoting", "modified_principal_pivoting", "auto"])
def test_lcp(capsys, problem, method):
    code, out, err = call(capsys, "lcp", str(problem), *(["--method", method] if method else []))
    assert code == 0 and not err
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert lines["status"] == "solved" and float(lines["residual"]) < 1e-12
    z = np.array([float(x) for x in lines["z"].strip("[]").split(", ")])
    np.testing.assert_allclose(z, [4 / 3, 7 / 3], rtol=1e-11)


def test_lcp_without_a_solution(capsys, tmp_path):
    np.savez(tmp_path / "none.npz", M=np.array([[-1.0]]), q=np.array([-1.0]))
    code, out, _ = call(capsys, "lcp", str(tmp_path / "none.npz"))
    assert code == 1 and "status     ray" in out


def test_info(capsys):
    code, out, err = call(capsys, "info", URDF)
    assert code == 0 and not err
    assert "26 moving bodies, 26 degrees of freedom" in out
    assert "left_arm_link_4 <- left_arm_joint_4 (revolute -0.1 to 2.1 rad, 110 N m), 2.8 kg" in out
    assert "no warnings" in out
    assert "head_link_1" in call(capsys, "info", URDF, "--floating")[1]


def test_check(capsys):
    code, out, err = call(capsys, "check", SCENE)
    assert code == 0 and not err
    assert "free objects: box" in out and "operational frames: left_tcp, right_tcp" in out


def test_import(capsys, tmp_path):
    model = tmp_path / "cart.xml"
    model.write_text(
        '<mujoco><worldbody><camera name="eye"/><body name="cart"><joint name="rail" type="slide"/>'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    code, out, err = call(capsys, "import", str(model), "--out", str(tmp_path / "cart"))
    assert code == 0 and not err
    scene = tmp_path / "cart" / "scene.yaml"
    assert out.splitlines() == [f"wrote {scene}: 2 bodies, 1 joints", "left out: cameras: 'eye'"]
    assert call(capsys, "check", str(scene))[0] == 0
    code, out, err = call(capsys, "import", str(tmp_path / "none.xml"))
    assert code == 2 and err == [f"mb-contact: error: no MJCF: {tmp_path / 'none.xml'} is not a file"]


def test_export(capsys, tmp_path):
    code, out, err = call(capsys, "export", SCENE, str(tmp_path / "lift.xml"))
    assert code == 0 and not err and out == f"wrote {tmp_path / 'lift.xml'}\n"
    assert '<freejoint name="box" />' in (tmp_path / "lift.xml").read_text()


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m mb_contact info {URDF} | head -1"
    environment = dict(os.environ, PYTHONUNBUFFERED="1")
    answer = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert answer.stdout.startswith("robot 'dual_arm'") and answer.stderr == ""


def test_bench_step(capsys):
    from mb_contact.programs.bench.step import Lift, measure_stages, stage_rows

    lift = Lift()
    lift.run(0.003)
    before = lift.simulator.save()
    times = measure_stages(lift.simulator, lift.effort(), 3)
    assert all(value >= 0.0 for value in times.values()) and times["whole"] > times["solve"]
    assert sum(value for _, value in stage_rows(times)) == pytest.approx(times["step"])
    assert np.array_equal(lift.simulator.q, before.q) and np.array_equal(lift.simulator.v, before.v)


def test_check_reports_what_penetrates(tmp_path, capsys):
    scene = tmp_path / "scene.yaml"
    scene.write_text(
        "ground: {height: 0}\nprimitives:\n  - {name: ball, shape: sphere, size: 0.1, base: free, mass: 1, "
        "pose: {position: [0, 0, 0.09]}}\n"
    )
    assert cli.main(["check", str(scene)]) == 0
    assert "warning: ball and ground penetrate by 10.0 mm at the start" in capsys.readouterr().out
