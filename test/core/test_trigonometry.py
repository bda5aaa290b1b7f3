# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sines and cosines of many angles at once against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.trigonometry import padded, sines_and_cosines


@pytest.mark.nojit
@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 9.0, 9.9e4, 1.01e5, 3.3e7, 1e12])
def test_sines_and_cosines_equal_numpys(scale):
    """Any length, so that every lane is used; beyond LIMIT the C library's; multiples of pi / 4 too."""
    x = scale * np.concatenate((np.linspace(-1.0, 1.0, 21), [0.0, -0.0]))
    if scale == 9.0:
        x = np.concatenate((x, np.arange(-12, 13) * np.pi / 4))
    angle, sine, cosine = np.zeros((3, padded(len(x))))
    sines_and_cosines(x, angle, sine, cosine)
    np.testing.assert_allclose(sine[: len(x)], np.sin(x), atol=2.3e-16, rtol=4e-16)
    np.testing.assert_allclose(cosine[: len(x)], np.cos(x), atol=2.3e-16, rtol=4e-16)


def test_sine_of_what_is_not_finite_is_nan():
    angle, sine, cosine = np.zeros((3, 8))
    sines_and_cosines(np.array([np.nan, np.inf, 1.0]), angle, sine, cosine)
    assert np.isnan(sine[:2]).all() and np.isnan(cosine[:2]).all() and sine[2] == np.sin(1.0)
