# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A file of a test."""

import pytest


@pytest.fixture
def file(tmp_path):
    def write(text, name="scene.sdf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write
