# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Studies of the papers beside the product; a simulation loads none unless it is asked to.

formulations   J14's six ways to write one contact problem, and steps with each
hinged_bodies  J12's pendulum in the coordinates of its bodies
impact_laws    both phases of a collision under three laws of restitution, in NumPy
drumwright     D15's models: no slip, viscous, Coulomb with viscous, at accelerations and impulses
sko            J11's spatial kernel operators in dense matrices: the reference of the compiled recursions
running_scene  the contact problem of a running simulator
"""
