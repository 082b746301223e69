// SPDX-License-Identifier: Apache-2.0
// Copies of what a tile of results reads, in the order in which it is read.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// A part of the nest's expressions, and a copy of its values in one block of the reduction.
struct Panel {
  Expr source;
  std::vector<std::size_t> axes;  ///< The numbers of the reduction axes that it depends on.
  Ptr<Buffer> copy = nullptr;  ///< Indexed by the panel's number, those axes, the place in a tile.
};

/// The parts that depend on the vector axis and on memory, but not on the row axis: as large as can
/// be, each once. Nullopt where there are none, or where something that depends on the vector axis
/// can be no part of a panel: it depends on the row axis, too, or may be read only if a condition
/// holds.
std::vector<Panel> column_panels(const Nest& nest, const Axis& vector_axis, const Axis& row_axis);

/// The loads that move along the row axis by one element and not along the vector axis, and that
/// tiles would read across memory: along the innermost reduction axis they move by more.
std::vector<Panel> row_panels(const Nest& nest, const Axis& vector_axis, const Axis& row_axis);

/// True when neighbours along `axis` are neighbours in memory, in all that the panel reads.
bool is_contiguous_along(const Panel& panel, const Axis& axis);

/// Gives the copy its memory: `panels` of them, `places` in each, for reduction axes of these
/// extents.
void allocate_copy(Panel& panel, const std::string& name, std::int64_t panels,
                   const std::vector<Axis>& block, std::int64_t places);

/// Where in its copy a panel has what it is for `values` of the reduction axes `block`.
std::vector<Expr> indices_in_copy(const Panel& panel, const std::vector<Axis>& block,
                                  const Substitution& values, const Expr& number,
                                  const Expr& place);

/// Puts `replace(panel)` in place of each panel's source.
using PanelReplacement = std::function<Expr(const Panel&)>;
Expr with_panels(const Expr& expr, const std::vector<Panel>& panels,
                 const PanelReplacement& replace);
Stmt with_panels(const Stmt& stmt, const std::vector<Panel>& panels,
                 const PanelReplacement& replace);

}  // namespace loopsmith
