# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Impacts: their moments, who takes part, both phases, and the stages of the event scheme."""
