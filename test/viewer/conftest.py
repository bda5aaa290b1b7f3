# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A page's server for tests of the view, at a port that nothing else has."""

import pytest

from viewer.serving import new_server


@pytest.fixture
def server():
    server = new_server()
    yield server
    server.stop()
