# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the simulator node serves: std_srvs always, simulation_interfaces where its types are."""

from __future__ import annotations

from mb_contact.ros.services.entities import EntityServices
from mb_contact.ros.services.simulation import SimulationServices
from mb_contact.ros.services.standard import StandardServices

__all__ = ["EntityServices", "SimulationServices", "StandardServices"]
