# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Many worlds of one scene, stepped side by side."""

from mb_contact.lazy import lazy_names

_DEFINED = {
    "gradients": ("rollout_gradients",),
    "states": ("WorldsState",),
    "trajectories": ("Rollout", "rollout"),
    "worlds": ("Worlds",),
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _DEFINED)
