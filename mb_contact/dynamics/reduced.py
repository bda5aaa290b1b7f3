# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Dynamics of models whose mimic joints are eliminated: q = S q_r + c, v = S v_r.

    M_r = S* M S,    T_r = S* T,    J_r = J S,    Lambda_r = J S (S* M S)^-1 S* J*

from the same functions on the whole tree, ``model.whole``.  Here M_r is formed, which costs O(N^2), and factored; the
simulator keeps the followers as bilateral rows instead.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])

EXPANDED = ("q", "v", "v_dot", "x")  #: arguments that are coordinates or their rates


def eliminating(
    convert: Callable[[Any, Any], Any] | None = None, instead: Callable[..., Any] | None = None
) -> Callable[[F], F]:
    """Decorator of a function of (model, q, ...): for a model with eliminated joints call it on the whole tree.

    ``convert(result, model)`` takes what the function says of the whole tree to the reduced coordinates; where no
    projection of that is the answer, ``instead`` is called with the reduced arguments.
    """

    def decorate(function: F) -> F:
        order = signature(function)

        @wraps(function)
        def call(model, *args, **kwargs):
            if not getattr(model, "mimics", ()):
                return function(model, *args, **kwargs)
            arguments = order.bind(model, *args, **kwargs)
            arguments.apply_defaults()
            given = dict(arguments.arguments)
            given.pop("model")
            if convert is None:
                return instead(model, **given)
            for name in EXPANDED:
                if name in given:
                    given[name] = model.expand_q(given[name]) if name == "q" else expand_rates(model, given[name], name)
            return convert(function(model.whole, **given), model)

        return call  # type: ignore[return-value]

    return decorate


def expand_rates(model, v, name):
    """S v of rates (N,) or of their columns (N, m)."""
    if np.ndim(v) == 2:
        v = np.asarray(v, float)
        if len(v) != model.N:
            raise InputError(f"{name} must have {model.N} rows, got {len(v)}")
        return model.S @ v
    return model.S @ as_vector(v, model.N, name)


def same(result, _model):
    """What does not depend on the choice of coordinates."""
    return result


def rows(result, model):
    """S* x of efforts or momenta."""
    return model.S.T @ result


def columns(result, model):
    """J S of a Jacobian."""
    return result @ model.S


def both(result, model):
    """S* M S."""
    return model.S.T @ result @ model.S


def centroidal_parts(result, model):
    """The momentum matrix and the Jacobian of the centre of mass in reduced coordinates."""
    return result._replace(matrix=result.matrix @ model.S, com_jacobian=result.com_jacobian @ model.S)
