// SPDX-License-Identifier: Apache-2.0
// Flat indices with symbolic strides as tuples of digits. Private to this folder.
#pragma once
#include <optional>

#include "loopsmith/arith/dependence/polyhedra.h"
#include "loopsmith/arith/dependence/program.h"

namespace loopsmith::dependence {

/// The form, its sizes as strides.
Polynomial polynomial_of(const Program& program, const Linear& form);
/// a + factor * b, and a * b; nullopt where 64 bits do not suffice, or where both have loops.
std::optional<Polynomial> sum(const Polynomial& a, const Polynomial& b, std::int64_t factor);
std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b);

/// True when an index is a product of sizes and loops.
bool has_products(const Program& program);

/// Replaces an index i*n + j by the two indices i and j, where all accesses to the buffer have the
/// same strides and 0 <= j < n is proved for each.
void delinearize(Program& program, Polyhedra& polyhedra);

}  // namespace loopsmith::dependence
