// SPDX-License-Identifier: Apache-2.0
// IR as text in the script language, which `loopsmith::parse` reads back.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/ir/node.h"

namespace loopsmith {

/// How `script` writes.
struct ScriptOptions {
  std::string name;            ///< Of a function; empty: its `global_symbol`, or `main`.
  bool header = true;          ///< The import lines, as a comment, before functions and modules.
  bool declare = true;         ///< Free variables and buffers first, each on a line.
  int indent = 4;              ///< Spaces a level.
  bool line_numbers = false;   ///< Before each line.
  bool spans = false;          ///< After each statement, a comment: the line that it came from.
  std::vector<Ref> underline;  ///< Nodes, by identity, with `^^^` in the line below them.
  /// Nodes, each inside the one before it: the last that is printed is underlined, where it stands
  /// inside the others.
  std::vector<Ref> underline_path;
  std::vector<std::pair<Ref, std::string>> annotate;  ///< A comment on the line of a node.
  int context_lines = -1;  ///< Only so many lines around what is underlined, cut; -1: all.
  std::size_t max_bytes = std::size_t{256} << 20;  ///< Longer scripts are refused.
};

/// `node` in the script language: a function or a module as a whole file; an expression, statement
/// or buffer after the declarations of its free variables. A null reference is `None`.
std::string script(const Ref& node, const ScriptOptions& options = {});

/// `node` without declarations, cut off with `...` after `max_bytes`: for messages.
std::string to_string(const Ref& node, std::size_t max_bytes = 4000);

/// The first line of `to_string`, without the colon of a loop or block, short enough to be quoted.
std::string brief(const Ref& node);

}  // namespace loopsmith
