# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What benchmarks/mjcf_models.py finds of a hand with tendons that is driven to rest beside MuJoCo."""

import sys

import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
pytest.importorskip("mujoco")

import mjcf_models

#: a finger whose last joint is held near its middle one by a tendon, whose base is coupled, and a cord that bends it
FINGER = """<mujoco><compiler angle="radian"/><option timestep="0.001"/>
  <default><joint damping="0.05" axis="0 1 0" range="-1.5 1.5" limited="true" margin="0.01"/>
    <geom type="capsule" size="0.01" mass="0.05"/></default>
  <worldbody><site name="root" pos="0 0 0.03"/>
    <body name="base"><joint name="j0" armature="0.001"/><geom fromto="0 0 0 0.05 0 0"/>
      <body name="a" pos="0.05 0 0"><joint name="j1"/><geom fromto="0 0 0 0.05 0 0"/>
        <body name="b" pos="0.05 0 0"><joint name="j2"/><geom fromto="0 0 0 0.04 0 0"/>
          <body name="c" pos="0.04 0 0"><joint name="j3"/><geom fromto="0 0 0 0.03 0 0"/>
            <site name="tip" pos="0.02 0 0.012"/></body></body></body></body></worldbody>
  <tendon><fixed name="knuckle" limited="true" range="-0.001 0.001"><joint joint="j3" coef="0.007"/>
      <joint joint="j2" coef="-0.008"/></fixed>
    <spatial name="cord"><site site="root"/><site site="tip"/></spatial></tendon>
  <equality><joint joint1="j1" joint2="j0" polycoef="0.1 0.5 0 0 0"/></equality>
  <actuator><position name="bend" tendon="cord" kp="200" kv="5" ctrlrange="0.1 0.16"/>
    <position joint="j0" kp="2" ctrlrange="-1 1"/></actuator></mujoco>"""


def test_a_hand_driven_to_rest_has_mujocos_tendons_couplings_and_joints(tmp_path):
    path = tmp_path / "finger.xml"
    path.write_text(FINGER)
    lengths, couplings, joints = mjcf_models.driven(path, 10.0)
    assert lengths < 1e-6 and couplings < 1e-6 and joints < 1e-6
    assert max(lengths, couplings, joints) > 0.0  # it has compared what moves
