// SPDX-License-Identifier: Apache-2.0
// Commutative reducers as data, and which of them a block computes.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// A commutative, associative combination of tuples.
struct KnownReducer {
  using Tuple = std::vector<Expr>;

  std::string_view name;
  std::size_t size;  ///< Of the tuples.
  Tuple (*combine)(const Tuple& x, const Tuple& y);
  bool (*takes)(DataType type);  ///< Whether its elements may have the type; null where any may.
  /// The neutral tuple of these types; null where an init serves as well, as x with x is x.
  Tuple (*identity)(const std::vector<DataType>& types);
};

/// Those that are recognised: sums, products, extremes and where they are, pairs of sums.
std::span<const KnownReducer> known_reducers();

/// `buffers[indices] = combine(buffers[indices], ...)`, and what the block starts from.
struct KnownReduction {
  const KnownReducer* reducer = nullptr;  ///< Null: it is `declared`.
  Ptr<CommReducer> declared;
  std::vector<Ptr<Buffer>> buffers;
  std::vector<Expr> indices;  ///< The same for all of them.
  std::vector<Expr> init;
  /// What each step combines with them. May read other elements of the buffers.
  std::vector<Expr> sources;
};

/// The reduction of a block with init; nullopt when it is not one of the known reducers.
std::optional<KnownReduction> reduction_of(const Block& block);

/// The same of the body of a block, or by the reducer that the block declares, if any; what it
/// starts from is left out.
std::optional<KnownReduction> updates_of(const Stmt& body, const Ref& declared);

/// The attribute of what was the body of a block which combines tuples, about the reducer that the
/// block declares, if any.
inline constexpr std::string_view combines_key = "combines";

/// The annotation by which a block says how it combines: its value is a CommReducer, that it is
/// associative and commutative, and its identity neutral, is the word of its author.
inline constexpr std::string_view reducer_annotation = "reducer";

/// The same for a block that declares its reducer, where that is none of the known ones.
std::optional<KnownReduction> declared_reduction_of(const Block& block);

/// What two tuples combine to.
std::vector<Expr> combined(const KnownReduction& reduction, const std::vector<Expr>& left,
                           const std::vector<Expr>& right);
/// The neutral tuple; nullopt where the init serves as well.
std::optional<std::vector<Expr>> neutral_of(const KnownReduction& reduction);

/// What `values`, which load `buffers[indices]` only as the left side of the reducer's combination,
/// have on its right side; nullopt when they are no such combination.
std::optional<std::vector<Expr>> right_side_of(const KnownReducer& reducer,
                                               const std::vector<Expr>& values,
                                               const std::vector<Expr>& left);
/// The same for a declared reducer.
std::optional<std::vector<Expr>> right_side_of(const CommReducer& reducer,
                                               const std::vector<Expr>& values,
                                               const std::vector<Expr>& left);

}  // namespace loopsmith
