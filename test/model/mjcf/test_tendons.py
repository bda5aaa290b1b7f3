# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""MJCF's tendons as they are imported, beside MuJoCo's lengths, moment arms and couplings."""

import numpy as np
import pytest

import mb_contact as mb

mujoco = pytest.importorskip("mujoco")

FINGER = """<mujoco><compiler angle="radian"/><option timestep="0.0005"/><worldbody>
  <body name="post" pos="0.1 0.2 0.3" euler="0.2 0.3 0.5"><geom size="0.01" contype="0" conaffinity="0"/>
    <site name="root" pos="0.01 0.02 0.03"/></body>
  <body name="palm" pos="0 0 1"><geom type="box" size="0.05 0.05 0.02" contype="0" conaffinity="0"/>
    <site name="p0" pos="0.04 0.01 0.03"/>
    <body name="prox" pos="0.06 0 0"><joint name="j0" axis="0 1 0" pos="-0.005 0 0"/><joint name="j1" axis="0 0 1"/>
      <geom type="capsule" size="0.01" fromto="0 0 0 0.08 0 0" contype="0" conaffinity="0"/>
      <site name="a0" pos="0.04 0.001 0.015"/>
      <body name="dist" pos="0.08 0 0"><joint name="j2" axis="0 1 0"/>
        <geom type="capsule" size="0.01" fromto="0 0 0 0.05 0 0" contype="0" conaffinity="0"/>
        <site name="b0" pos="0.03 0.004 -0.016"/><site name="b1" pos="0.045 0 0.011"/>
        <body name="tip" pos="0.05 0 0"><joint name="j3" type="slide" axis="1 0.2 0"/>
          <geom size="0.01" contype="0" conaffinity="0"/><site name="c0" pos="0.01 0 0.01"/></body>
      </body></body></body></worldbody>
  <tendon>
    <spatial name="straight" stiffness="100" springlength="0.1 0.15" damping="2" limited="true" range="0.1 0.9">
      <site site="p0"/><site site="b1"/><site site="root"/></spatial>
    <spatial name="tackle"><site site="p0"/><site site="a0"/><pulley divisor="2"/><site site="a0"/><site site="b1"/>
      <pulley divisor="3"/><site site="b0"/><site site="c0"/></spatial>
    <fixed name="sum" frictionloss="0.01"><joint joint="j0" coef="0.5"/><joint joint="j2" coef="-0.3"/></fixed>
    <fixed name="other"><joint joint="j1" coef="1.5"/></fixed>
  </tendon>
  <actuator><motor name="pull" tendon="tackle" gear="3"/><position name="servo" tendon="straight" kp="50" kv="1"/>
    <muscle name="muscle" tendon="sum" ctrlrange="0 1" lengthrange="0 1"/></actuator>
  <equality><tendon name="coupled" tendon1="sum" tendon2="other" polycoef="0.01 0.7 0 0 0"/>
    <tendon name="curved" tendon1="sum" tendon2="other" polycoef="0 1 2 0 0"/></equality>
</mujoco>"""

SHAPE = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="a" pos="0 0 0.1"><joint type="slide" axis="1 0 0"/><joint axis="{0}"/>
    <geom size="0.01" contype="0" conaffinity="0" pos="0.1 0 0"/>
    <geom name="shape" type="{6}" size="0.1 0.05" pos="0.02 0.01 -0.1" euler="{1}" contype="0" conaffinity="0"/>
    <site name="side" pos="{2}"/>
    <body name="b"><joint axis="{3}"/><geom size="0.01" contype="0" conaffinity="0" pos="0 0.2 0"/>
      <site name="one" pos="{4}"/></body></body>
  <body name="c"><joint axis="0 1 0.3"/><joint axis="{3}"/><geom size="0.01" contype="0" conaffinity="0" pos="0 0 0.2"/>
    <site name="other" pos="{5}"/></body></worldbody>
  <tendon><spatial name="cord"><site site="one"/><geom geom="shape" {7}/><site site="other"/></spatial></tendon>
</mujoco>"""


class Beside:
    """A file in MuJoCo and as it is imported."""

    def __init__(self, text, folder):
        path = folder / "model.xml"
        path.write_text(text)
        self.m = mujoco.MjModel.from_xml_path(str(path))
        self.d = mujoco.MjData(self.m)
        self.imported = mb.model.import_mjcf(path, folder / "out")
        self.scene = mb.load_scene(self.imported.scene)
        self.sim = mb.Simulator(self.scene)
        self.names = [self.m.tendon(t).name for t in range(self.m.ntendon)]
        joints = list(self.sim.world.joint_names)
        self.order = [joints.index(self.m.joint(j).name or self.imported.joints[j]) for j in range(self.m.njnt)]

    def ours(self, q):
        """(Lengths, moment arms) of our tendons."""
        where, arms, lengths = np.zeros(len(q)), np.zeros((len(self.names), len(q))), None
        where[self.order] = q
        for j in range(len(q)):
            unit = np.zeros(len(q))
            unit[self.order[j]] = 1.0
            self.sim.set_state(where, unit)
            states = [self.sim.tendons()[name] for name in self.names]
            lengths, arms[:, j] = [state.length for state in states], [state.rate for state in states]
        return np.array(lengths), arms

    def mujoco(self, q):
        """The same of MuJoCo's."""
        m, d = self.m, self.d
        d.qpos[:] = q
        mujoco.mj_forward(m, d)
        arms = np.zeros((m.ntendon, m.nv))
        mujoco.mju_sparse2dense(arms, d.ten_J, m.ten_J_rownnz, m.ten_J_rowadr, m.ten_J_colind)
        return d.ten_length.copy(), arms


def test_lengths_and_moment_arms_are_mujocos(tmp_path):
    peer, rng = Beside(FINGER, tmp_path), np.random.default_rng(1)
    for _ in range(10):
        q = rng.uniform(-1.3, 1.3, 4) * (1.0, 1.0, 1.0, 0.02)
        for found, wanted in zip(peer.ours(q), peer.mujoco(q)):
            np.testing.assert_allclose(found, wanted, atol=1e-13)


@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
@pytest.mark.parametrize("side, inside", [("", False), ("side", False), ("side", True)])
def test_paths_around_and_through_shapes_are_mujocos(kind, side, inside, tmp_path):
    """MuJoCo finds the point where a path touches the inside of a shape to some 1e-6."""
    if side and not inside and int(mujoco.__version__.split(".")[0]) < 4:
        pytest.skip("MuJoCo before 4, the newest for Python 3.10, takes another way around where the site says which")
    rng, bent = np.random.default_rng(3), 0

    def away(low, high):
        x = rng.normal(size=3)
        return x / np.linalg.norm(x) * rng.uniform(low, high)

    def words(x):
        return " ".join(f"{number:.6f}" for number in x)

    place = away(0.01, 0.09) if inside else away(0.15, 0.3)
    parts = [rng.normal(size=3), rng.uniform(-3, 3, 3), place + (0.02, 0.01, -0.1), rng.normal(size=3),
             away(0.15, 0.3), away(0.15, 0.3)]  # fmt: skip
    peer = Beside(SHAPE.format(*map(words, parts), kind, 'sidesite="side"' if side else ""), tmp_path)
    for _ in range(60):
        q = rng.uniform(-3.0, 3.0, 5) * (0.1, 1.0, 1.0, 1.0, 1.0)
        (length, arms), (wanted, wanted_arms) = peer.ours(q), peer.mujoco(q)
        bent += int(peer.sim.context.tendons.first_part[1]) == 2
        np.testing.assert_allclose(length, wanted, atol=1e-12)
        np.testing.assert_allclose(arms, wanted_arms, atol=1e-5 if inside else 1e-12)
    assert bent > 5


def test_springs_limits_actuators_and_couplings_are_told(tmp_path):
    peer = Beside(FINGER, tmp_path)
    tendons = {tendon.name: tendon for tendon in peer.scene.tendons}
    assert list(tendons) == ["straight", "tackle", "sum", "other", "pull", "servo", "coupled"]
    one = tendons["straight"]
    assert (one.stiffness, one.damping, one.rest_length, one.slack) == (100.0, 2.0, 0.15, pytest.approx(0.05))
    assert (one.shortest, one.longest, tendons["sum"].friction) == (0.1, 0.9, 0.01)
    assert tendons["sum"].rest_length is tendons["coupled"].rest_length is None
    assert (tendons["servo"].stiffness, tendons["servo"].damping, tendons["servo"].rest_length) == (50.0, 1.0, 0.0)
    text = "\n".join(peer.imported.left_out)
    for words in ("'pull': its control u is here the tension -3 u",
                  "'servo': its control u is here the rest length 1 u", "'muscle': its gain or bias",
                  "'curved': its polynomial is not linear"):  # fmt: skip
        assert words in text, words


def test_a_coupling_of_tendons_holds_as_mujocos(tmp_path):
    """At rest under gravity and springs; MuJoCo's equality is as stiff as it lets it be."""
    text = FINGER.replace('range="0.1 0.9"', 'range="0 9"').replace(' frictionloss="0.01"', "")
    text = text.replace('axis="0', 'damping="0.05" stiffness="0.3" axis="0').replace(
        'type="slide"', 'type="slide" damping="5" stiffness="300"')  # fmt: skip
    text = text.replace('<equality><tendon', '<equality><tendon solimp="0.9999 0.9999 0.001" solref="0.002 1"')
    text = text[: text.index('    <tendon name="curved"')] + "</equality></mujoco>"
    peer = Beside(text[: text.index("  <actuator>")] + text[text.index("  <equality>") :], tmp_path)
    for _ in range(8000):
        mujoco.mj_step(peer.m, peer.d)
    step = peer.sim.step(steps=8000)
    state, q = peer.sim.tendons(), peer.sim.q[peer.sim.world.joint_q[peer.order]]
    assert state["sum"].length - 0.7 * state["other"].length == pytest.approx(0.01, abs=1e-9)
    assert peer.d.ten_length[2] - 0.7 * peer.d.ten_length[3] == pytest.approx(0.01, abs=1e-5)
    np.testing.assert_allclose(q, peer.d.qpos, atol=1e-4)
    assert step.certificate.residual < 1e-9


@pytest.mark.parametrize("limited", ["joint", "tendon"])
def test_limits_act_a_margin_before_their_range_ends(limited, tmp_path):
    """A pendulum that hangs on its limit hangs where MuJoCo's does."""
    bounds = {name: ' limited="true" range="-0.2 0.5" margin="0.03"' if name == limited else "" for name in
              ("joint", "tendon")}  # fmt: skip
    peer = Beside(f"""<mujoco><compiler angle="radian"/><option timestep="0.0005"/>
      <default><joint solreflimit="0.001 1" solimplimit="0.9999 0.9999 0.001"/>
        <tendon solreflimit="0.001 1" solimplimit="0.9999 0.9999 0.001"/></default><worldbody>
      <body name="arm"><joint name="j" axis="0 1 0" damping="0.3"{bounds["joint"]}/>
        <geom type="capsule" size="0.01" fromto="0 0 0 0.3 0 0" contype="0" conaffinity="0"/></body></worldbody>
      <tendon><fixed name="t"{bounds["tendon"]}><joint joint="j" coef="1"/></fixed></tendon></mujoco>""", tmp_path)
    for _ in range(4000):
        mujoco.mj_step(peer.m, peer.d)
    peer.sim.step(steps=4000)
    assert peer.sim.q[0] == pytest.approx(0.47, abs=1e-9) and peer.d.qpos[0] == pytest.approx(0.47, abs=1e-5)
    assert not any("margin" in told for told in peer.imported.left_out)
