# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which ROS domain to join, on either wire."""

import os
from collections.abc import Mapping
from typing import Any

from mb_contact.errors import CommunicationError

MAX_DOMAIN_ID = 232  #: above, the RTPS port numbers leave 16 bits


def domain_id(environment: Mapping[str, str] | None = None) -> Any:
    """Return the domain from ``ROS_DOMAIN_ID``.

    Raises
    ------
    CommunicationError
        Not an integer from 0 to 232.
    """
    text = (environment if environment is not None else os.environ).get("ROS_DOMAIN_ID", "").strip()
    if not text:
        return 0
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value <= MAX_DOMAIN_ID:
        raise CommunicationError(f"ROS_DOMAIN_ID is '{text}'; it must be a number from 0 to {MAX_DOMAIN_ID}")
    return value
