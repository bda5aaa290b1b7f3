# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A robot arm of two hinges, which carries smooth surfaces."""

from __future__ import annotations

from mb_contact.model.urdf.reader import load_urdf

ARM = """<robot name="arm">
  <link name="stand"/>
  <link name="upper"><inertial><mass value="{mass}"/><origin xyz="0.2 0 0"/>
    <inertia ixx="0.02" iyy="0.05" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="plate"><inertial><mass value="0.8"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.03" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="stand"/><child link="upper"/>
    <origin xyz="0 0 0.5"/><axis xyz="0 0 1"/></joint>
  <joint name="wrist" type="continuous"><parent link="upper"/><child link="plate"/>
    <origin xyz="0.4 0 0" rpy="0.3 0 0"/><axis xyz="0 1 0"/></joint>
</robot>"""


def arm(tmp_path, **values):
    """The arm of two hinges as a Model."""
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.format(**{"mass": 1.2, "izz": 0.04} | values), encoding="utf-8")
    return load_urdf(file)
