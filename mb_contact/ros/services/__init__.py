# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the simulator node serves: std_srvs always, simulation_interfaces where its types are."""

from pathlib import Path
from typing import Any

from mb_contact.ros.services.common import available
from mb_contact.ros.services.entities import EntityServices
from mb_contact.ros.services.files import AllowedFiles
from mb_contact.ros.services.handling import handling_services
from mb_contact.ros.services.places import PlaceServices
from mb_contact.ros.services.sensors import tare_services
from mb_contact.ros.services.simulation import SimulationServices
from mb_contact.ros.services.spawning import SpawningServices
from mb_contact.ros.services.standard import StandardServices
from mb_contact.ros.services.worlds import WorldServices


def serve(simulator_node: Any) -> bool:
    """Serve all that a :class:`~mb_contact.ros.node.SimulatorNode` offers; whether simulation_interfaces is there.

    Raises
    ------
    InputError
        The parameter resource_roots names no folder.
    """
    StandardServices(simulator_node)
    tare_services(simulator_node)
    handling_services(simulator_node)
    if not available(simulator_node.node):
        return False
    options, scene = simulator_node.options, simulator_node.simulator.scene
    own = [Path(scene.path)] if getattr(scene, "path", None) is not None else []
    files = AllowedFiles(options.resource_roots, options.resource_limit, options.mesh_limit, own)
    entities = EntityServices(simulator_node)
    spawning = SpawningServices(simulator_node, entities, files)
    simulation = SimulationServices(simulator_node, spawning)
    PlaceServices(simulator_node)

    def begun():
        tare_services(simulator_node)
        handling_services(simulator_node)
        entities.forget()
        spawning.begin()
        simulation.stopped()

    WorldServices(simulator_node, files, begun)
    return True


__all__ = ["serve"]
