# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m mb_contact``: the command ``mb-contact``."""

import sys

from mb_contact.cli import main

if __name__ == "__main__":
    sys.exit(main())
