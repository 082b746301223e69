// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "loopsmith/ir/function.h"
#include "loopsmith/script/value.h"

namespace loopsmith {
class Resolver;
}

namespace loopsmith::parsing {

/// Builds functions, modules and statements by calls of the words of the script language, where
/// frames are entered and left: what a suite is in a script.
class ScriptBuilder {
 public:
  explicit ScriptBuilder(Resolver* resolver);
  ~ScriptBuilder();
  ScriptBuilder(const ScriptBuilder&) = delete;
  ScriptBuilder& operator=(const ScriptBuilder&) = delete;

  /// From here on until `close`, `call_outside` and those below mean this builder.
  void open();
  void close();
  /// True where one was opened on this thread.
  static bool is_open();
  /// The one that was opened last; throws a ScriptError where none is.
  static ScriptBuilder& current(std::string_view word);

  /// What a frame defines: the variables of its loops, for one.
  ScriptValue enter(const std::shared_ptr<Frame>& frame);
  /// Gives what was built in the frame to the one around it; drops it where something failed.
  void leave(const std::shared_ptr<Frame>& frame, bool has_failed);

  ScriptValue function_frame(bool is_private);
  ScriptValue module_frame();
  /// Adds a parameter of that name: of the type of a variable, or for a buffer.
  ScriptValue argument(const std::string& name, const ScriptValue& type);
  /// Names a function of the module that is built, so that others call it before it is defined:
  /// with the parameters and the result of `signature`.
  ScriptValue declare_function(const std::string& name, const Ptr<PrimFunc>& signature);
  /// Gives the module a function of that name, declared or new.
  void define_function(const std::string& name, const Ptr<PrimFunc>& func);
  void set_function_name(const std::string& name);
  void set_return_type(DataType type);
  /// Calls a variable or a buffer `name` in what is built.
  void name(const std::string& name, const Ref& definition);

  /// The function or module that was built; else the statements, as one.
  Ref result();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace loopsmith::parsing
