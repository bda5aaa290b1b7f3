# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Former place of :mod:`mb_contact.studies.sko`: its names work here too, with a DeprecationWarning."""

import warnings

from mb_contact.studies.sko import *  # noqa: F403
from mb_contact.studies.sko import __all__ as __all__

warnings.warn("mb_contact.sko has moved: use mb_contact.studies.sko", DeprecationWarning, stacklevel=2)
