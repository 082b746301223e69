// SPDX-License-Identifier: Apache-2.0
// Python's values in scripts, and those of scripts in Python.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "loopsmith/script/builder.h"
#include "loopsmith/script/words.h"

namespace loopsmith::python {

/// `T.exp`, as Python sees it.
struct WordObject {
  const parsing::Word* word;
};
/// `T.float32`.
struct TypeObject {
  DataType type;
};
/// `T.axis`.
struct SpaceObject {
  std::string name;
};
/// What `@T.macro` makes.
struct MacroObject {
  std::shared_ptr<const parsing::MacroDefinition> definition;
};

/// A scope that a builder enters: `with T.block("C"):`.
struct FrameObject {
  std::shared_ptr<parsing::Frame> frame;
};

ScriptValue to_value(nanobind::handle value);
std::vector<ScriptValue> script_values(nanobind::handle items);

/// Fails for what means something in a script only.
nanobind::object from_value(const ScriptValue& value);

}  // namespace loopsmith::python
