# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Dynamics of models whose mimic joints are eliminated: q = S q_r + c, v = S v_r.

    M_r = S* M S,    T_r = S* T,    J_r = J S,    Lambda_r = J S (S* M S)^-1 S* J*

from the same functions on the whole tree, ``model.whole``.  Here M_r is formed, which costs O(N^2), and factored; the
simulator keeps the followers as bilateral rows instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])

EXPANDED = ("q", "v", "v_dot", "x")  #: arguments that are coordinates or their rates


def eliminating(convert: Callable[[Any, Any], Any] | str) -> Callable[[F], F]:
    """Decorator of a function of (model, q, ...): for a model with eliminated joints call it on the whole tree.

    ``convert(result, model)`` takes what the function says of the whole tree to the reduced coordinates; a string
    names a function of this file that is called instead, with the reduced arguments.
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
            if isinstance(convert, str):
                return globals()[convert](model, **given)
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


# --- functions that are not a projection of those of the whole tree -----------------------------------


def reduced_solve(model, q, x):
    """M_r^-1 x."""
    from mb_contact.dynamics.joint_space import mass_matrix

    return np.linalg.solve(mass_matrix(model, q), np.asarray(x, float))


def reduced_log_determinant(model, q):
    """log det M_r."""
    from mb_contact.dynamics.joint_space import mass_matrix

    return float(np.linalg.slogdet(mass_matrix(model, q))[1])


def reduced_forward_dynamics(model, q, v, effort, gravity, method):
    """v_dot of ``M_r v_dot + S* (C + g + d S v) = effort``; ``method`` is not asked: there is one."""
    from mb_contact.dynamics.joint_space import METHODS, mass_matrix, nonlinear_effects

    if method not in METHODS:
        raise InputError(f"method '{method}' is not known; available: {', '.join(METHODS)}")
    effort, v = as_vector(effort, model.N, "effort"), as_vector(v, model.N, "v")
    damping = model.S.T @ (model.tree.damping * (model.S @ v))
    return np.linalg.solve(mass_matrix(model, q), effort - damping - nonlinear_effects(model, q, v, gravity))


def reduced_compliance(model, q, frames):
    """Lambda_r = J_r M_r^-1 J_r*."""
    from mb_contact.dynamics.jacobians import jacobian

    J = jacobian(model, q, frames)
    return J @ reduced_solve(model, q, J.T)


def reduced_operational_space(model, q, v, frames):
    """OperationalSpace over the reduced coordinates."""
    from mb_contact.dynamics.jacobians import jacobian, jacobian_bias
    from mb_contact.dynamics.nodes import node_arrays
    from mb_contact.dynamics.operational import OperationalSpace, invert_compliance

    L = reduced_compliance(model, q, frames)
    names, bias = node_arrays(model, frames).names, jacobian_bias(model, q, v, frames)
    return OperationalSpace(names, jacobian(model, q, frames), bias, L, *invert_compliance(L))


def reduced_consistent_inverse(model, q, frames):
    """M_r^-1 J_r* Lambda_r^-1."""
    from mb_contact.dynamics.jacobians import jacobian
    from mb_contact.dynamics.operational import invert_compliance

    response = reduced_solve(model, q, jacobian(model, q, frames).T)
    return response @ invert_compliance(jacobian(model, q, frames) @ response)[0]
