# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the simulator node publishes, and when."""

from mb_contact.ros.outputs.publishing import Outputs

__all__ = ["Outputs"]
