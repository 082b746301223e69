# SPDX-License-Identifier: Apache-2.0
"""Spaces: the schedules among which a tuner searches, and the choices in them."""
