# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The augmented system of Pai, Ascher and Kry (P00, Eq. 5-8), and CRBM and ABM as its two eliminations.

One linear system holds the equations of motion of all bodies, the kinematics of all joints and d'Alembert's
principle.  Grouped by kind and eliminated block row by block row it gives the composite-rigid-body method, grouped by
body and eliminated from the tips to the base the articulated-body method.  P00 writes a chain, this any SKO model:
a tree in any numbering, blocks of any size, singular and non-square weights.

P00 and this package name the same things differently::

    P00    f   phi_dot  q_ddot      M_k  H_k       Ad(k, k+1)      A           M_hat_k  D_k
    here   f   alpha    theta_ddot  M    H*(k)     phi*(p(k), k)   phi*        P(k)     D(k)

The matrices may hold any numbers that NumPy can add and multiply: float64, longdouble, or an object array of mpmath's
or of fractions (:func:`blocks` converts).  So one elimination serves as the method in double precision and as its own
reference.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.errors import InputError
from mb_contact.studies.sko.digraph import TreeDigraph
from mb_contact.studies.sko.model import SkoModel
from mb_contact.studies.sko.numbers import Numbers, identity, solve, zeros
from mb_contact.studies.sko.operators import slices_of
from mb_contact.types import WORLD


class Blocks(NamedTuple):
    """An SKO model as lists of blocks in any number type."""

    tree: TreeDigraph
    phi: list  #: weights (m(p), m(k)), None on the inertial frame
    H: list  #: (r(k), m(k))
    M: list  #: (m(k), m(k))
    a: list  #: (m(k),)
    b: list  #: (m(k),)
    names: tuple


class Augmented(NamedTuple):
    """``matrix x = rhs``, grouped by bodies (Eq. 5): (f, -alpha, theta_ddot) of one body after the other."""

    matrix: np.ndarray
    rhs: np.ndarray
    order: tuple  #: nodes, tips to base
    f: dict  #: node to the slice of f(k) in x, and of Eq. 2 in the rows
    alpha: dict  #: node to the slice of -alpha(k) in x, and of Eq. 3 in the rows
    joint: dict  #: node to the slice of theta_ddot(k) in x, and of Eq. 4 in the rows


class Solution(NamedTuple):
    """What the augmented system determines, numbered as the model is."""

    theta_ddot: np.ndarray  #: (N,)
    alpha: np.ndarray  #: (m,)
    f: np.ndarray  #: (m,)


class Grouped(NamedTuple):
    """Eq. 7: ``[[M, A^-*, 0], [A^-1, 0, H], [0, H*, 0]] (-alpha, f, theta_ddot) = (b, -a, T)``."""

    matrix: np.ndarray
    rhs: np.ndarray
    rows: np.ndarray  #: row i of this system is row rows[i] of Eq. 5
    columns: np.ndarray
    m: int  #: length of alpha and of f
    N: int


class CrbmElimination(NamedTuple):
    """The grouped system after block-row elimination (P00 section 4)."""

    matrix: np.ndarray  #: ``[[M, A^-*, 0], [A^-1, 0, H], [0, 0, mass]]``
    rhs: np.ndarray  #: (b, -a, T - c)
    mass: np.ndarray  #: joint space inertia ``H* A* M A H`` (N, N)
    solution: Solution


class AbmElimination(NamedTuple):
    """The system of Eq. 5 after elimination body by body (Eq. 8), block upper triangular but for permutation."""

    matrix: np.ndarray
    rhs: np.ndarray  #: (b_hat, -a, T - c) of each body
    system: Augmented  #: the system that it came from
    M_hat: dict  #: articulated-body inertias
    D: dict  #: joint inertias, the (3k, 3k) blocks
    solution: Solution


def blocks(model: SkoModel, convert: Callable[[Floats], Numbers] | None = None) -> Blocks:
    """The blocks of an SKO model, each turned into another number type by ``convert``.

    Parameters
    ----------
    model : SkoModel
    convert : callable, optional
        From a float64 array to an array of other numbers, as ``lambda X: X.astype(np.longdouble)`` or
        ``np.vectorize(mpmath.mpf, otypes=[object])``.  It is not called on empty blocks.

    Returns
    -------
    Blocks
    """
    other = (lambda X: X) if convert is None else (lambda X: convert(X) if X.size else X)
    a, b = model.phi.split(model.a), model.phi.split(model.b)
    phi = [None if W is None else other(W) for W in model.phi.weights]
    H, M, a, b = ([other(X) for X in part] for part in (model.H, model.M, a, b))
    return Blocks(model.tree, phi, H, M, a, b, model.names)


# --- the system ----------------------------------------------------------------------------------


def augmented_system(model: SkoModel | Blocks, T: ArrayLike) -> Augmented:
    """The augmented system of Eq. 5: equations 2, 3 and 4 of every body, tips to base.

    ::

        f(k) - M(k) alpha(k) - sum over children phi(k, j) f(j) = b(k)       (2)
        -alpha(k) + H*(k) theta_ddot(k) + phi*(p, k) alpha(p)   = -a(k)      (3)
        H(k) f(k)                                               = T(k)       (4)

    Parameters
    ----------
    model : SkoModel or Blocks
    T : array_like (N,)
        Generalized forces, numbered as the model's hinges.

    Returns
    -------
    Augmented
    """
    model = _as_blocks(model)
    T, hinges = _hinge_forces(model, T)
    order = tuple(reversed(model.tree.order))
    sizes = [size for k in order for size in (len(model.M[k]), len(model.M[k]), len(model.H[k]))]
    parts = slices_of(sizes)
    f, alpha, joint = (dict(zip(order, parts[i::3])) for i in range(3))
    total = sum(sizes)
    dtype = np.result_type(T.dtype, *(X.dtype for X in model.M))
    matrix, rhs = zeros((total, total), dtype), zeros(total, dtype)
    for k in order:
        p = model.tree.parent[k]
        matrix[f[k], f[k]] = identity(len(model.M[k]), dtype)  # (2)
        matrix[f[k], alpha[k]] = model.M[k]
        matrix[alpha[k], alpha[k]] = identity(len(model.M[k]), dtype)  # (3)
        matrix[alpha[k], joint[k]] = model.H[k].T
        matrix[joint[k], f[k]] = model.H[k]  # (4)
        if p != WORLD:
            matrix[f[p], f[k]] = -model.phi[k]
            matrix[alpha[k], alpha[p]] = -model.phi[k].T
        rhs[f[k]], rhs[alpha[k]], rhs[joint[k]] = model.b[k], -model.a[k], T[hinges[k]]
    return Augmented(matrix, rhs, order, f, alpha, joint)


def grouped_system(model: SkoModel | Blocks, T: ArrayLike) -> Grouped:
    """The same system by row and column exchanges with the unknowns (-alpha, f, theta_ddot) together (Eq. 6, 7).

    Parameters
    ----------
    model : SkoModel or Blocks
    T : array_like (N,)
        Generalized forces.

    Returns
    -------
    Grouped
    """
    system = augmented_system(model, T)
    f, alpha, joint = (_numbers(part) for part in (system.f, system.alpha, system.joint))
    rows, columns = np.concatenate((f, alpha, joint)), np.concatenate((alpha, f, joint))
    return Grouped(system.matrix[np.ix_(rows, columns)], system.rhs[rows], rows, columns, len(f), len(joint))


# --- CRBM ----------------------------------------------------------------------------------------


def eliminate_crbm(model: SkoModel | Blocks, T: ArrayLike) -> CrbmElimination:
    """The composite-rigid-body method: block-row elimination of Eq. 7 (P00 section 4).

    ``mass = H* A* M A H`` and ``c = H* A* (M A a + b)`` stand in the last block row, which is solved for theta_ddot;
    the rows above give alpha and f.

    Parameters
    ----------
    model : SkoModel or Blocks
    T : array_like (N,)
        Generalized forces.

    Returns
    -------
    CrbmElimination
    """
    model = _as_blocks(model)
    system = grouped_system(model, T)
    X, y, m = system.matrix.copy(), system.rhs.copy(), system.m
    dynamics, kinematics, joints = slice(0, m), slice(m, 2 * m), slice(2 * m, None)  # block rows
    accelerations, forces, rates = slice(0, m), slice(m, 2 * m), slice(2 * m, None)  # block columns
    M, H = X[dynamics, accelerations].copy(), X[kinematics, rates].copy()
    A = _spo(model, X.dtype).T  # the inverse of the block A^-1

    factor = H.T @ A.T
    X[joints] = X[joints] - factor @ X[dynamics]  # [-H* A* M, 0, 0 | T - H* A* b]
    y[joints] = y[joints] - factor @ y[dynamics]
    X[joints, forces] = 0 * X[joints, forces]  # H* - H* A* A^-*
    factor = factor @ M @ A
    X[joints] = X[joints] + factor @ X[kinematics]  # [0, 0, H* A* M A H | T - c]
    y[joints] = y[joints] + factor @ y[kinematics]
    X[joints, accelerations] = 0 * X[joints, accelerations]

    mass = X[joints, rates]
    theta_ddot = solve(mass, y[joints], "the mass matrix")
    minus_alpha = A @ (y[kinematics] - H @ theta_ddot)
    f = A.T @ (y[dynamics] - M @ minus_alpha)
    return CrbmElimination(X, y, mass, Solution(theta_ddot, -minus_alpha, f))


# --- ABM -----------------------------------------------------------------------------------------


def eliminate_abm(model: SkoModel | Blocks, T: ArrayLike) -> AbmElimination:
    """The articulated-body method: elimination of Eq. 5 body by body, tips to base (P00 section 5, Eq. 8).

    With everything of body k eliminated from the rows of its parent, M(p) has become ``M_hat(p)``::

        M_hat(p) = M(p) + sum over children phi [M_hat - M_hat H* (H M_hat H*)^-1 H M_hat] phi*

    Parameters
    ----------
    model : SkoModel or Blocks
    T : array_like (N,)
        Generalized forces.

    Returns
    -------
    AbmElimination

    Raises
    ------
    DynamicsError
        A pivot ``D = H M_hat H*`` is singular.
    """
    return _eliminate(model, T, lambda H, M, M_tilde: H @ (M + M_tilde) @ H.T)


def eliminate_modified_abm(model: SkoModel | Blocks, T: ArrayLike) -> AbmElimination:
    """The modified articulated-body method as P00 section 7 prints it: ``D = H M H* + H M_tilde H*``.

    ``M_tilde(p)`` is what the children added to M(p).  The two quadratic forms are evaluated separately, so that a
    small M is not rounded to the last digit of a large M_tilde before it is projected.  What rounding has left in
    M_tilde itself stays in its quadratic form; the kernel ``core/tree/modified_articulated.py`` therefore keeps a
    factor of M_tilde and no M_tilde (docs/formulation_stiffness.md has the measurement).

    Parameters
    ----------
    model : SkoModel or Blocks
    T : array_like (N,)
        Generalized forces.

    Returns
    -------
    AbmElimination
    """
    return _eliminate(model, T, lambda H, M, M_tilde: H @ M @ H.T + H @ M_tilde @ H.T)


def _eliminate(model, T, pivot):
    model = _as_blocks(model)
    system = augmented_system(model, T)
    X, y = system.matrix.copy(), system.rhs.copy()
    M_tilde = {k: 0 * M for k, M in enumerate(model.M)}
    D = {}
    for k in system.order:
        f, alpha, joint = system.f[k], system.alpha[k], system.joint[k]
        H, M_hat, p = model.H[k], X[f, alpha].copy(), model.tree.parent[k]
        D[k] = pivot(H, model.M[k], M_tilde[k])
        _add_rows(X, y, joint, -H, f)  # [0, -H M_hat, 0 | T - H b_hat]
        if p != WORLD:
            name = f"the hinge of {model.names[k]}"
            gain = solve(D[k], H @ M_hat, name).T if len(H) else H.T  # M_hat H* D^-1, D being symmetric
            M_tilde[p] = M_tilde[p] + _clear_parent(X, y, system, k, p, model.phi[k], gain)
        _add_rows(X, y, joint, H @ M_hat, alpha)  # [0, 0, D, .. -H M_hat phi* | T - c]
        X[joint, alpha] = 0 * X[joint, alpha]
        X[joint, joint] = D[k]
    M_hat = {k: X[system.f[k], system.alpha[k]] for k in system.order}
    return AbmElimination(X, y, system, M_hat, D, _back_substitution(model, system, X, y))


def _clear_parent(X, y, system, k, p, phi, gain):
    """Eliminate f(k), -alpha(k) and theta_ddot(k) from row f(p); returns what comes to M(p).

    The combination of the three rows of body k is formed before it is added, so the projected inertia
    ``phi [M_hat - gain H M_hat] phi*`` stands by itself once: this is where ABM keeps digits that CRBM has lost.
    """
    f, alpha, joint, f_p = system.f[k], system.alpha[k], system.joint[k], system.f[p]
    row, right = X[f] + gain @ X[joint], y[f] + gain @ y[joint]  # [I, M_hat - gain H M_hat, 0 | ..]
    projected = row[:, alpha]
    row, right = row - projected @ X[alpha], right - projected @ y[alpha]  # [I, 0, .. projected phi* | ..]
    X[f_p], y[f_p] = X[f_p] + phi @ row, y[f_p] + phi @ right
    for column in (f, alpha, joint):
        X[f_p, column] = 0 * X[f_p, column]  # zero but for rounding
    return phi @ row[:, system.alpha[p]]


def _add_rows(X, y, rows, factor, others):
    """Block row operation: rows += factor @ others."""
    X[rows] = X[rows] + factor @ X[others]
    y[rows] = y[rows] + factor @ y[others]


def _back_substitution(model, system, X, y):
    """Solve the triangular system of Eq. 8, base to tips."""
    x = 0 * y
    for k in reversed(system.order):
        f, alpha, joint, p = system.f[k], system.alpha[k], system.joint[k], model.tree.parent[k]
        known = [] if p == WORLD else [system.alpha[p]]
        right = y[joint] - sum(X[joint, part] @ x[part] for part in known)
        x[joint] = solve(X[joint, joint], right, f"the hinge of {model.names[k]}")
        x[alpha] = y[alpha] - X[alpha, joint] @ x[joint] - sum(X[alpha, part] @ x[part] for part in known)
        x[f] = y[f] - X[f, alpha] @ x[alpha]
    return Solution(x[_numbers(system.joint)], -x[_numbers(system.alpha)], x[_numbers(system.f)])


# --- parts ---------------------------------------------------------------------------------------


def _as_blocks(model: SkoModel | Blocks) -> Blocks:
    return model if isinstance(model, Blocks) else blocks(model)


def _hinge_forces(model: Blocks, T: ArrayLike) -> tuple[Numbers, tuple[slice, ...]]:
    hinges = slices_of([len(H) for H in model.H])
    count = sum(len(H) for H in model.H)
    T = np.asarray(T)
    if T.shape != (count,):
        raise InputError(f"T must have {count} entries, got shape {T.shape}")
    return (T if T.dtype == object else T * 1.0), hinges


def _numbers(part):
    """All row numbers of a dictionary of slices, in the order of the nodes."""
    return np.concatenate([np.zeros(0, int), *(np.arange(s.start, s.stop) for _, s in sorted(part.items()))])


def _spo(model, dtype):
    """phi = (I - E_phi)^-1, block column by block column as ``Spo.A``."""
    slices = slices_of([len(M) for M in model.M])
    phi = identity(slices[-1].stop if slices else 0, dtype)
    for k in model.tree.order:
        p = model.tree.parent[k]
        if p != WORLD:
            phi[:, slices[k]] = phi[:, slices[k]] + phi[:, slices[p]] @ model.phi[k]
    return phi
