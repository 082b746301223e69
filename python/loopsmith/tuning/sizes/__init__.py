# SPDX-License-Identifier: Apache-2.0
"""Searches over sizes that vary."""
