# SPDX-License-Identifier: Apache-2.0
"""Programs that are no products, with schedules that make them fast."""
