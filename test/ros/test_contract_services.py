# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contract's services over real DDS: each answers, and the features that are advertised are those that work.

Covers ros/services/sensors.py, ros/services/standard.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ros.contract as contract
from mb_contact.ros.embedded.messages import message_class
from mb_contact.ros.embedded.simulation_definitions import RELEASE_VARIABLE
from paths import ROOT
from ros.simulation import BALL, OK, SUCCEEDED, UNSUPPORTED, Simulation, Steps, code, message, points
from ros.support import Session

BOX = 1  # types of bounds
HULL = 2
EVERYWHERE = points((1e3, 1e3, 1e3), (-1e3, -1e3, -1e3))


# --- each answers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("service", contract.SERVICES, ids=lambda service: service.name)
def test_service_answers(cell, backend, service):
    """Every service of the table answers; what it does is tested beside it and in test/ros/services."""
    contract.need(service, backend)
    peer, _ = cell
    if service.name.endswith("set_simulation_state"):
        peer.call("/cell/sim/pause", "std_srvs/srv/SetBool", data=True)
        playing = message_class("simulation_interfaces/msg/SimulationState")(state=1)
        assert peer.call(service.name, service.type, state=playing).result.result == 1
        return
    if service.name.endswith("unload_world"):
        return  # the others would have no world: see below
    answer = peer.call(service.name, service.type)
    if "/std_srvs" in f"/{service.type}":
        running = service.name.endswith("step")
        assert answer.success != running and len(answer.message) > 3
        return
    if service.type.startswith("simulation_interfaces/srv") and hasattr(answer, "result"):
        refused = {"step_simulation", "get_entity_state", "set_entity_state", "spawn_entity", "delete_entity",
                   "get_entity_info", "set_entity_info", "get_entity_bounds", "get_named_pose_bounds",
                   "load_world"}  # fmt: skip
        expect_ok = service.name.rsplit("/", 1)[1] not in refused  # they were asked for nothing sensible
        assert (answer.result.result == 1) == expect_ok
        assert bool(answer.result.error_message) != expect_ok


# --- what is advertised works, and nothing else does -----------------------------------------------------
def spawns(simulation, **resource):
    answer = simulation.spawn("guest", position=(9.0, 9.0, 5.0), **resource)
    return code(answer) == OK and "guest" in simulation.entities()


def spawns_many(simulation):
    fields = [simulation.spawning(f"guest_{i}", BALL, (9.0, i, 5.0), many=True) for i in (1, 2)]
    wanted = [message("SpawnEntity", **entries) for entries in fields]
    return code(simulation("spawn_entities", spawn_requests=wanted)) == OK and "guest_2" in simulation.entities()


def deletes(simulation):
    gone = code(simulation("delete_entity", entity="guest_1")) == OK
    return gone and "guest_1" not in simulation.entities()


def filtered(simulation, **filters):
    return code(simulation("get_entities", filters=message("EntityFilters", **filters)))


def by_bounds(simulation, kind, corners):
    return filtered(simulation, bounds=message("Bounds", kind, corners)) == OK


def by_tags(simulation):
    return filtered(simulation, tags=message("TagsFilter", ["no such tag"], 0)) == OK and not simulation.entities(
        tags=message("TagsFilter", ["no such tag"], 0)
    )


def by_category(simulation):
    human = message("EntityCategory", category=2)
    return filtered(simulation, categories=[human]) == OK and not simulation.entities(categories=[human])


def sets_state(simulation):
    state = message("EntityState")
    state.pose.position.z, state.pose.orientation.w = 7.0, 1.0
    name = simulation.entities()[-1]
    done = code(simulation.put(name, state)) == OK
    return done and simulation.pose(name)[2] == 7.0


def sets_info(simulation):
    name = simulation.entities()[0]
    told = code(simulation("set_entity_info", entity=name, info=message("EntityInfo", description="seen"))) == OK
    return told and simulation("get_entity_info", entity=name).info.description == "seen"


def steps(simulation, count):
    before = simulation("get_entity_state", entity=simulation.entities()[0]).state.header.stamp
    taken = code(simulation("step_simulation", steps=count)) == OK
    return taken and simulation("get_entity_state", entity=simulation.entities()[0]).state.header.stamp != before


def resets(simulation, scope):
    return code(simulation("reset_simulation", scope=scope)) == OK


def sets_simulation(simulation, *numbers):
    return all(simulation.set_state(number) == OK and simulation.state() == number for number in numbers)


def worlds(simulation, **filters):
    answer = simulation("get_available_worlds", **filters)
    return code(answer), {world.name for world in answer.worlds}


def world_tags(simulation):
    return worlds(simulation, filter=message("TagsFilter", ["no such tag"], 0)) == (OK, set())


def loads_text(simulation):
    return code(simulation.load(text=f"primitives: [{{name: ball, base: free, {BALL[1:-1]}}}]")) == OK


def first(simulation):
    return simulation.entities()[0]


PROBES = {  # in an order in which none takes away what the next needs; those of worlds come last
    "NAMED_POSES": lambda s: code(s("get_named_poses")) == OK,
    "POSE_BOUNDS": lambda s: code(s("get_named_pose_bounds", name="dock")) in (OK, 2),
    "ENTITY_TAGS": by_tags,
    "ENTITY_CATEGORIES": by_category,
    "ENTITY_BOUNDS": lambda s: code(s("get_entity_bounds", entity=first(s))) == OK,
    "ENTITY_BOUNDS_BOX": lambda s: by_bounds(s, BOX, EVERYWHERE),
    "ENTITY_BOUNDS_CONVEX": lambda s: by_bounds(s, HULL, points((0, 0, 0), (1, 0, 0), (0, 1, 0))),
    "ENTITY_STATE_GETTING": lambda s: code(s("get_entity_state", entity=first(s))) == OK,
    "ENTITY_STATE_SETTING": sets_state,
    "ENTITY_INFO_GETTING": lambda s: code(s("get_entity_info", entity=first(s))) == OK,
    "ENTITY_INFO_SETTING": sets_info,
    "SPAWNABLES": lambda s: len(s("get_spawnables").spawnables) > 3,
    "SPAWNING": lambda s: spawns(s, uri="package://mb_contact/urdf/peg.urdf"),
    "SPAWNING_ENTITIES": spawns_many,
    "DELETING": deletes,
    "SIMULATION_STATE_GETTING": lambda s: s.state() == 2,
    "STEP_SIMULATION_SINGLE": lambda s: steps(s, 1),
    "STEP_SIMULATION_MULTIPLE": lambda s: steps(s, 3),
    "STEP_SIMULATION_ACTION": lambda s: Steps(s.peer, s.namespace).run(2)[0] == SUCCEEDED,
    "SIMULATION_RESET_SPAWNED": lambda s: resets(s, 4) and "guest_2" not in s.entities() and "guest" in s.spawned,
    "SIMULATION_RESET_STATE": lambda s: resets(s, 2),
    "SIMULATION_RESET_TIME": lambda s: resets(s, 1),
    "SIMULATION_RESET": lambda s: resets(s, 0),
    "SPAWNING_RESOURCE_STRING": lambda s: spawns(s, text=BALL),
    "SIMULATION_STATE_PAUSE": lambda s: sets_simulation(s, 1, 2),
    "SIMULATION_STATE_SETTING": lambda s: sets_simulation(s, 0, 1, 2),
    "WORLD_INFO_GETTING": lambda s: code(s("get_current_world")) == OK,
    "AVAILABLE_WORLDS": lambda s: "box_on_table" in worlds(s)[1],
    "WORLD_TAGS": world_tags,
    "WORLD_RESOURCE_STRING": loads_text,
    "WORLD_LOADING": lambda s: code(s.load("package://mb_contact/config/box_on_table.yaml")) == OK,
    "WORLD_UNLOADING": lambda s: code(s("unload_world")) == OK and s.entities() == [],
}


@pytest.fixture(scope="module")
def simulation(backend, tmp_path_factory):
    """Of a paused node of its own."""
    contract.need(contract.RESET, backend)
    scene = contract.write_scene(tmp_path_factory.mktemp("features"))
    with Session.of(backend) as ros:
        ros.node(scene, "--namespace", "cell", "--ros-args", "-p", "start_paused:=true", backend=backend)
        yield Simulation(ros.peer(), "/cell/")


@pytest.mark.parametrize("world", ["bodies", "smooth surfaces"])
def test_what_is_advertised_is_what_answers(simulation, world):
    assert set(PROBES) == set(simulation.known_features())
    if world == "smooth surfaces":
        loaded = simulation.load("package://mb_contact/config/three_patches.yaml")
        assert code(loaded) == OK, loaded.result.error_message
        assert simulation.set_state(1) == OK and simulation.set_state(2) == OK
    advertised, answers = simulation.features(), set()
    simulation.spawned = []
    for feature, probe in PROBES.items():
        if feature == "SIMULATION_RESET_SPAWNED":
            simulation.spawned = simulation.entities()
        if probe(simulation):
            answers.add(feature)
    assert advertised == answers, advertised ^ answers
    assert len(advertised) == (len(PROBES) if world == "bodies" else 22)


def test_what_is_not_advertised_is_refused_as_unsupported(simulation):
    """Of smooth surfaces, whose bodies neither come nor go."""
    assert code(simulation.load("package://mb_contact/config/bezier_patch.yaml")) == OK
    assert code(simulation.spawn("ball", BALL)) == UNSUPPORTED
    entity = simulation.entities()[0]
    for service, fields in (
        ("delete_entity", {"entity": entity}), ("get_spawnables", {}), ("get_entity_bounds", {"entity": entity}),
        ("set_entity_state", {"entity": entity}),
    ):  # fmt: skip
        answer = simulation(service, **fields)
        assert code(answer) == UNSUPPORTED and answer.result.error_message, service


@pytest.mark.slow
def test_both_releases_advertise_what_answers():
    """The same with release 2 of simulation_interfaces, in a process that speaks it."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__)), "-k", "advertised"]
    done = subprocess.run(
        command, env={**os.environ, RELEASE_VARIABLE: "2"}, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:]
