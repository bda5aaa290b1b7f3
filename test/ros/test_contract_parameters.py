# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contract's parameters over real DDS, how a node is set up by them, and clocks that follow /clock.

Covers ros/embedded/introspection.py, ros/embedded/parts.py, ros/names.py, ros/services/values.py.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import mb_contact as mb
import ros.contract as contract
from mb_contact.ros.embedded.messages import stamp_ns
from mb_contact.ros.embedded.parameters import to_message
from mb_contact.ros.embedded.parts import Clock, Timer
from mb_contact.ros.qos import QoS
from mb_contact.ros.services.values import place_of
from paths import ROOT
from ros.asking import ask, endpoints, get_parameter, newest, parameters, set_parameters
from ros.support import COMPILING, SET_BOOL, TIMEOUT, Session, on_dds, wait_until


def test_parameters_are_those_of_the_table(cell):
    peer, node = cell
    names = list(ask(peer, "ListParameters").result.names)
    given = "qos_overrides./cell/certificate.publisher.depth"  # the others would only fill the list
    assert set(names) == {*contract.PARAMETERS, given}
    assert list(ask(peer, "ListParameters", prefixes=["qos_overrides"]).result.names) == [given]
    types = dict(zip(names, ask(peer, "GetParameterTypes", names=names).types))
    for name, (value, live) in contract.PARAMETERS.items():
        (about,) = ask(peer, "DescribeParameters", names=[name]).descriptors
        assert about.name == name and about.read_only != live
        assert len(about.description) > 10 or (name == "use_sim_time" and not node.own_words)
        assert about.type == types[name] == to_message(value).type
        if isinstance(value, float):
            span = about.floating_point_range[0]
            assert span.from_value <= value <= span.to_value
    assert get_parameter(peer, "joint_wrench_joints") == ["sensor"]
    assert not node.own_words or get_parameter(peer, "nothing") is None
    (about,) = ask(peer, "DescribeParameters", names=["command_timeout_policy"]).descriptors
    assert about.additional_constraints == "one of hold, zero, gravity_compensation"


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("real_time_factor", -1.0, "real_time_factor must be at least 0, got -1"),
        ("real_time_factor", 1e9, "must be at most 10000, got 1e+09"),
        ("real_time_factor", float("nan"), "finite"),
        ("real_time_factor", "fast", "must be a float"),
        ("command_timeout_policy", "panic", "hold, zero, gravity_compensation"),
        ("lockstep", True, "read only"),
        ("external_wrench_links", ["box"], "read only"),
        ("marker_cones", 1, "must be a bool"),
        ("nothing", 1, "not declared"),
    ],
)
def test_impossible_values_are_refused_with_a_reason(cell, name, value, words):
    peer, node = cell
    before = None if name == "nothing" else get_parameter(peer, name)
    (result,) = set_parameters(peer, **{name: value})
    assert not result.successful
    assert words in result.reason or (not node.own_words and "parameter" in result.reason.lower())
    assert name == "nothing" or get_parameter(peer, name) == before


def test_parameters_act_at_once_and_together(cell):
    peer, _ = cell
    result = ask(peer, "SetParametersAtomically", parameters=parameters(clock_rate=50.0, lockstep=True)).result
    assert not result.successful and get_parameter(peer, "clock_rate") == -1.0
    result = ask(peer, "SetParametersAtomically", parameters=parameters(clock_rate=50, marker_cones=False)).result
    assert result.successful, result.reason
    peer.next_messages("/clock", 5)
    times = [stamp_ns(m.clock) for m in peer.next_messages("/clock", 10)]
    gaps = np.diff(times)  # a best-effort clock may lose some on a busy machine
    assert gaps.min() == 20_000_000 and not (gaps % 20_000_000).any()
    peer.next_messages("/cell/contact_markers", 2)
    assert {m.ns for m in newest(peer, "/cell/contact_markers").markers if m.action == 0} == {"points", "forces"}
    assert set_parameters(peer, clock_rate=-1.0, marker_cones=True)[1].successful
    assert set_parameters(peer, link_tf=False)[0].successful
    peer.next_messages("/tf", 5)
    assert [t.child_frame_id for t in newest(peer, "/tf").transforms] == ["box"]
    assert set_parameters(peer, link_tf=True)[0].successful
    assert set_parameters(peer, real_time_factor=0.1)[0].successful
    first = newest(peer, "/diagnostics")
    factors = []
    for _ in range(60):
        status = newest(peer, "/diagnostics").status[0]
        factors.append(float({p.key: p.value for p in status.values}["real_time_factor"]))
        if abs(factors[-1] - 0.1) < 0.02:
            break
    assert abs(factors[-1] - 0.1) < 0.02, (first, factors)
    assert set_parameters(peer, real_time_factor=1.0)[0].successful


def weight_of_the_box(peer):
    for contact in newest(peer, "/cell/contacts").contacts:
        if {contact.collision1.name, contact.collision2.name} == {"box", "ground"}:
            return sum(abs(wrench.body_1_wrench.force.z) for wrench in contact.wrenches)


def test_values_of_the_scene_are_set_by_the_service_and_by_parameters(cell):
    peer, _ = cell
    assert get_parameter(peer, "damping.elbow") == 0.25  # as the command line has it
    asked = {"mass.box": 3.0, "friction.ground.box": 0.4, "gravity.box": [0.0, 0.0, -5.0], "mass.nothing": 1.0,
             "colour": 2.0, "mass.upper": "heavy", "mass.lower": -1.0}  # fmt: skip
    kind = "rcl_interfaces/srv/SetParameters"
    results = peer.call("/cell/set_values", kind, parameters=parameters(**asked)).results
    assert [result.successful for result in results] == [True, True, True, False, False, False, False]
    words = "there is no 'nothing' with a mass", "'colour'", "must be a number", "mass must be from"
    for word, result in zip(words, results[3:]):
        assert word in result.reason
    wait_until(lambda: get_parameter(peer, "mass.box") == 3.0, "a parameter that follows")
    assert list(get_parameter(peer, "gravity.box")) == [0.0, 0.0, -5.0]
    assert get_parameter(peer, "friction.box.ground") == 0.4
    wait_until(lambda: abs(weight_of_the_box(peer) - 15.0) < 0.02, "the weight of 3 kg")
    again = parameters(**{"mass.box": 2, "gravity.box": [0.0, 0.0, -9.81], "friction.box.ground": 0.5})
    assert ask(peer, "SetParametersAtomically", parameters=again).result.successful
    wait_until(lambda: abs(weight_of_the_box(peer) - 2.0 * 9.81) < 0.02, "the weight of 2 kg")
    (bad,) = set_parameters(peer, **{"mass.box": -1.0})
    assert not bad.successful and get_parameter(peer, "mass.box") == 2.0
    unset = {"gravity.box": None, "mass.box": None}  # the box falls as the scene does again; no mass is no value
    results = peer.call("/cell/set_values", kind, parameters=parameters(gravity=[0.0, 0.0, -3.0], **unset)).results
    assert [result.successful for result in results] == [True, True, False]
    wait_until(lambda: abs(weight_of_the_box(peer) - 6.0) < 0.02, "the weight in the scene's gravity")
    back = parameters(gravity=[0.0, 0.0, -9.81])
    assert peer.call("/cell/set_values", kind, parameters=back).results[0].successful


def height_of_the_box(peer):
    (found,) = [t for t in newest(peer, "/tf").transforms if t.child_frame_id == "box"]
    return found.transform.translation.z


def test_a_soft_contact_gives_way_by_its_stiffness_over_service_and_parameter(cell):
    """A box of 2 kg on rubber corners sinks by m g/(4 k), whoever sets k."""
    peer, _ = cell

    def rests_at(k):
        wait_until(lambda: abs(height_of_the_box(peer) - (0.05 - 2.0 * 9.81 / (4.0 * k))) < 1e-6, f"{k:g} N/m")

    rests_at(1e7)
    asked = parameters(**{"stiffness.ground.box": 2e4, "stiffness.tool.ground": 1e4, "stiffness.box.tool": -1.0})
    kind = "rcl_interfaces/srv/SetParameters"
    results = peer.call("/cell/set_values", kind, parameters=asked).results
    assert [result.successful for result in results] == [True, False, False]  # a rigid pair; no stiffness
    rests_at(2e4)
    assert get_parameter(peer, "stiffness.box.ground") == 2e4
    assert set_parameters(peer, **{"stiffness.box.ground": 1e7})[0].successful
    rests_at(1e7)


# --- how it is set up -----------------------------------------------------------------------------------
@on_dds  # two robots over Zenoh: test/ros/zenoh
def test_two_nodes_quality_overrides_and_a_parameter_file(tmp_path):
    """Two simulators of one scene on one machine; the second with the file in config/ and overridden QoS."""

    from cyclonedds.core import Policy

    scene = contract.write_scene(tmp_path)
    file = ROOT / "config" / "node.yaml"
    with Session() as ros:
        nodes = [
            ros.node(scene, "--namespace", "left", up=False),
            ros.node(
                scene, "--namespace", "right", "--ros-args", "--params-file", file,
                "-p", "qos_overrides./right/joint_states.publisher.reliability:=best_effort",
                "-p", "qos_overrides./right/joint_commands.subscription.depth:=7", up=False,
            ),
        ]  # fmt: skip
        for node in nodes:
            node.wait_for(" is up", COMPILING)
        peer = ros.peer()
        left = peer.listen("/left/joint_states")
        right = peer.listen("/right/joint_states", qos=QoS(10, reliable=False))
        peer.until(lambda: left and right)
        qos = endpoints(peer, "writers")["rt/right/joint_states"].qos
        assert qos[Policy.Reliability] == Policy.Reliability.BestEffort
        assert endpoints(peer, "readers")["rt/right/joint_commands"].qos[Policy.History].depth == 7
        bad = ros.node(
            scene, "--namespace", "bad", "--ros-args",
            "-p", "qos_overrides./bad/joint_states.publisher.reliability:=perhaps", up=False,
        )  # fmt: skip
        assert bad.wait(TIMEOUT) == 2 and "reliable, best_effort" in bad.output()


def test_every_option_is_in_the_parameter_file():
    import dataclasses

    from mb_contact.ros.names import read_parameter_file
    from mb_contact.ros.options import DESCRIPTIONS, NodeOptions

    file = ROOT / "config" / "node.yaml"
    values = {name: value for _, name, value in read_parameter_file(file)}
    defaults = dataclasses.asdict(NodeOptions())
    assert values == defaults and set(DESCRIPTIONS) == set(defaults)


def test_use_sim_time_follows_the_clock(cell):
    from mb_contact.ros.embedded.backend import EmbeddedNode

    peer, _ = cell
    arguments = ["--ros-args", "-p", "use_sim_time:=true"]
    follower = EmbeddedNode("follower", args=arguments, environment=peer_environment(peer))
    try:
        for _ in range(100):
            follower.spin_once(0.1)
            if follower.get_clock().now().nanoseconds:
                break
        now = follower.get_clock().now().nanoseconds
        assert now > 0
        peer.until(lambda: stamp_ns(newest(peer, "/clock").clock) >= now)  # the clock has told that time
        assert follower.set_parameters({"use_sim_time": False}) == ""
        assert follower.get_clock().now().nanoseconds > 10**18  # wall time again
    finally:
        follower.destroy_node()


@pytest.mark.parametrize("period", [0.01, 0.025])
def test_timers_go_by_simulated_time(cell, period):
    from mb_contact.ros.embedded.backend import EmbeddedNode

    peer, _ = cell
    arguments = ["--ros-args", "-p", "use_sim_time:=true"]
    follower = EmbeddedNode("follower", args=arguments, environment=peer_environment(peer))
    try:
        times = []
        timer = follower.create_timer(period, lambda: times.append(follower.get_clock().now().nanoseconds))
        deadline = time.monotonic() + TIMEOUT
        while len(times) < 20 and time.monotonic() < deadline:
            follower.spin_once(0.1)
        gaps = np.diff(times[1:])  # the first call answers the leap from zero
        assert len(gaps) == 18 and gaps.min() >= 10_000_000  # one message of /clock after the other
        assert np.median(gaps) >= period * 0.8e9
        assert peer.call("/cell/sim/pause", SET_BOOL, data=True).success
        for _ in range(3):
            follower.spin_once(0.05)
        count = len(times)
        for _ in range(4):
            follower.spin_once(0.05)
        assert len(times) == count and timer.seconds() == np.inf
        assert peer.call("/cell/sim/pause", SET_BOOL, data=False).success
        while len(times) == count and time.monotonic() < deadline:
            follower.spin_once(0.1)
        assert len(times) > count
    finally:
        peer.call("/cell/sim/pause", SET_BOOL, data=False)
        follower.destroy_node()


def test_a_timer_begins_anew_where_time_goes_back_or_changes():
    clock = Clock()
    clock.follow, clock.simulated = True, 5_000_000_000
    timer = Timer(0.1, None, clock)
    assert not timer.due()
    clock.simulated += 350_000_000
    assert timer.due() and timer.due() is False  # three periods late: one call
    clock.simulated += 49_999_999
    assert not timer.due()
    clock.simulated += 1  # in its beat again
    assert timer.due()
    clock.simulated = 1_000_000_000
    assert not timer.due()
    clock.simulated += 100_000_000
    assert timer.due()
    clock.follow = False
    assert not timer.due() and 0.0 < timer.seconds() <= 0.1


def peer_environment(peer):
    return {"ROS_DOMAIN_ID": str(peer.node.context.domain_id)}


def test_a_name_that_ends_with_a_dot_names_nothing():
    """``mass.`` is a slip, and not the mass of all bodies."""
    box = mb.model.Primitive("box", "box", (0.1,) * 3, mb.model.Pose((0.0, 0.0, 0.05)), "free", 1.0)
    sim = mb.Simulator(mb.Scene(primitives=(box,), ground=mb.model.Ground()))
    assert place_of(sim, "mass") == ("mass", None)
    name, of = place_of(sim, "mass.")
    with pytest.raises(mb.MbContactError, match="there is no ''"):
        sim.set(name, 2.0, of=of)
