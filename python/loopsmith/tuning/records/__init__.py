# SPDX-License-Identifier: Apache-2.0
"""What is kept of searches: winners and trials, in files and databases."""
