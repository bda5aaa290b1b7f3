# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""SKO models beside the standard digraph: several bodies to a node, loops by constraint embedding, split hinges."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.errors import DynamicsError, InputError, ModelError
from mb_contact.studies.sko.digraph import TreeDigraph
from mb_contact.studies.sko.model import SkoModel
from mb_contact.studies.sko.operators import Spo, block_diag
from mb_contact.types import WORLD


def aggregate(
    model: SkoModel,
    groups: Sequence[Sequence[int]],
    maps: Mapping[int, ArrayLike] | None = None,
    map_rates: Mapping[int, ArrayLike] | None = None,
) -> SkoModel:
    """Make one node of every group of nodes, and tie the hinges of a group together.

    For a group S behind the group P, with the SPO operator ``A_S = (I - E_SS)^-1`` of the group alone and the hinge
    rates ``theta_dot_S = X_S theta_dot_r``::

        phi_new(P, S) = E_PS A_S          H_new(S) = X* H_S A_S        M_new(S) = diag(M_S)
        a_new(S) = A_S* (a_S + H_S* X_dot theta_dot_r)                 b_new(S) = b_S

    Without maps this changes the digraph and not the system.  With them a geared motor becomes one node with its
    link, and a loop that was cut open is closed again with independent coordinates (constraint embedding, J11 section
    8.2 and its reference 6).  Generalized forces become ``X* T``.

    Parameters
    ----------
    model : SkoModel
        At a state that satisfies the constraints.
    groups : sequence of sequences of int
        Every node once; the new nodes are numbered as the groups are.
    maps : dict of int to array_like (r_S, r_new), optional
        X of a group: the rates of its hinges, stacked in the group's order, from the new rates.
    map_rates : dict of int to array_like (r_S,), optional
        ``X_dot theta_dot_r`` of a group, zero by default.

    Returns
    -------
    SkoModel

    Raises
    ------
    ModelError
        The groups are no partition, or a group would have two parents.
    """
    groups = [tuple(int(k) for k in group) for group in groups]
    if sorted(k for group in groups for k in group) != list(range(model.tree.n)) or not all(groups):
        raise ModelError(f"groups must name each of the {model.tree.n} nodes once and none may be empty")
    maps, map_rates = maps or {}, map_rates or {}
    for s in {*maps, *map_rates}:
        if not 0 <= s < len(groups):
            raise ModelError(f"there is a map for group {s}, but groups are 0 to {len(groups) - 1}")
    of_node = {k: s for s, group in enumerate(groups) for k in group}
    tree = _group_tree(model, groups, of_node)
    index = [_rows(model.phi.slices, group) for group in groups]
    weights, H, M, a, b = [], [], [], [], []
    for s, group in enumerate(groups):
        E = model.phi.E[np.ix_(index[s], index[s])]
        A = np.linalg.inv(np.eye(len(E)) - E)
        above = tree.parent[s]
        weights.append(None if above == WORLD else model.phi.E[np.ix_(index[above], index[s])] @ A)
        H_group = block_diag([model.H[k] for k in group])
        X = as_matrix(maps.get(s, np.eye(len(H_group))), (len(H_group), None), f"the map of group {s}")
        rate = as_vector(map_rates.get(s, np.zeros(len(H_group))), len(H_group), f"the map rate of group {s}")
        H.append(X.T @ H_group @ A)
        M.append(block_diag([model.M[k] for k in group]))
        a.append(A.T @ (model.a[index[s]] + H_group.T @ rate))
        b.append(model.b[index[s]])
    phi = Spo(tree, weights, [len(rows) for rows in index])
    names = [" + ".join(model.names[k] for k in group) for group in groups]
    return SkoModel(phi, H, M, phi.stack(a), phi.stack(b), names)


def _group_tree(model, groups, of_node):
    """The digraph of groups; edges inside a group vanish, and the inertial frame counts as a parent too."""
    edges = set()
    for k, p in enumerate(model.tree.parent):
        if p == WORLD or of_node[p] != of_node[k]:
            edges.add((WORLD if p == WORLD else of_node[p], of_node[k]))
    hangs = {s for p, s in edges if p == WORLD}
    mixed = sorted(hangs & {s for p, s in edges if p != WORLD})
    if mixed:
        raise ModelError(
            f"group {mixed[0]} has two parents, the inertial frame and another group: "
            "aggregate all bodies between the two ends of the loop"
        )
    return TreeDigraph.from_edges(len(groups), [edge for edge in sorted(edges) if edge[0] != WORLD])


def _rows(slices, nodes):
    return np.concatenate([np.arange(slices[k].start, slices[k].stop) for k in nodes])


def constraint_map(
    J: ArrayLike, J_rate: ArrayLike, independent: Sequence[int], rcond: float = 1e-9
) -> tuple[Floats, Floats]:
    """X and ``X_dot theta_dot`` of a group whose hinge rates satisfy ``J theta_dot_S = 0``.

    The dependent rates are ``-J_d^+ J_i`` times the independent ones; ``J theta_ddot + J_dot theta_dot = 0`` gives the
    rate.

    Parameters
    ----------
    J : array_like (c, r_S)
        Constraint rows, which may be redundant (a planar loop in space).
    J_rate : array_like (c,)
        ``J_dot theta_dot``.
    independent : sequence of int
        Columns of J that stay; their order is that of the new coordinates.
    rcond : float
        Relative size below which a singular value counts as zero.

    Returns
    -------
    X : ndarray (r_S, number of independent)
    rate : ndarray (r_S,)

    Raises
    ------
    DynamicsError
        The other rates do not follow from these: a dead centre, or too few or too many independent ones.
    """
    J = as_matrix(J, None, "J")
    J_rate = as_vector(J_rate, len(J), "J_rate")
    columns = J.shape[1]
    independent = [int(i) for i in independent]
    if len(set(independent)) != len(independent) or not set(independent) <= set(range(columns)):
        raise InputError(f"independent must name columns of J, 0 to {columns - 1}, each at most once")
    rest = [i for i in range(columns) if i not in independent]
    rank = np.linalg.matrix_rank(J, tol=rcond * max(np.abs(J).max(initial=0.0), 1e-300))
    dependent = J[:, rest]
    if rank != len(rest) or np.linalg.matrix_rank(dependent, tol=rcond * np.abs(J).max(initial=0.0)) != len(rest):
        raise DynamicsError(
            f"{len(rest)} dependent rates do not follow from constraints of rank {rank}: "
            "choose other independent coordinates (this may be a dead centre of the loop)"
        )
    inverse = np.linalg.pinv(dependent, rcond=rcond)
    X, rate = np.zeros((columns, len(independent))), np.zeros(columns)
    X[independent, range(len(independent))] = 1.0
    X[rest] = -inverse @ J[:, independent]
    rate[rest] = -inverse @ J_rate
    return X, rate


def split_hinges(model: SkoModel) -> tuple[SkoModel, list[int]]:
    """Several nodes to a body: every hinge of r(k) > 1 becomes r(k) nodes of one degree of freedom each.

    The first r(k) - 1 of them are massless and joined by identity weights, the last carries M(k), a(k) and b(k).
    Degrees of freedom keep their places where nodes are numbered base to tip.

    Parameters
    ----------
    model : SkoModel

    Returns
    -------
    model : SkoModel
    body_node : list of int
        For every node of the old model the new one that carries it.
    """
    if not model.tree.is_canonical:
        raise ModelError("split_hinges needs nodes that are numbered base to tip")
    parent: list[int] = []
    weights, sizes, H, M, a, b, names = ([] for _ in range(7))
    body_node = [WORLD] * model.tree.n
    for k in range(model.tree.n):
        m, count = model.phi.sizes[k], max(model.r[k], 1)
        above = model.tree.parent[k]
        for i in range(count):
            last = i == count - 1
            first_parent = WORLD if above == WORLD else body_node[above]
            parent.append(first_parent if i == 0 else len(parent) - 1)
            weights.append(model.phi.weights[k] if i == 0 else np.eye(m))
            sizes.append(m)
            H.append(model.H[k][i : i + 1])
            M.append(model.M[k] if last else np.zeros((m, m)))
            a.append(model.a[model.phi.slices[k]] if last else np.zeros(m))
            b.append(model.b[model.phi.slices[k]] if last else np.zeros(m))
            names.append(model.names[k] if last else f"hinge {i} of {model.names[k]}")
        body_node[k] = len(parent) - 1
    phi = Spo(TreeDigraph(parent), weights, sizes)
    return SkoModel(phi, H, M, phi.stack(a), phi.stack(b), names), body_node
