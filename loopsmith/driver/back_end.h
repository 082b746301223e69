// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/codegen/code_request.h"
#include "loopsmith/codegen/line_table.h"
#include "loopsmith/rules/cpu_model.h"

namespace loopsmith {

/// A form of compiled functions that people read: its name, the text, and the text with the lines
/// of the lowered program that its lines came from.
struct TextForm {
  const char* name;
  std::string (*text)(const CodeRequest& request);
  TextWithLines (*lined)(const CodeRequest& request, const StatementLines& lines);
};

/// A file that a library is linked from: an object, or C to be compiled with some flags.
struct LibraryPart {
  std::string name;
  std::string contents;
  std::vector<std::string> flags = {};
};

/// What compiles for the targets of one kind. `build`, `export` and `inspect` ask it wherever kinds
/// differ.
class BackEnd {
 public:
  virtual ~BackEnd() = default;

  /// The machine that the system's compiler makes libraries of the code for, if it is another than
  /// this: `aarch64-linux-gnu`; else empty.
  virtual std::string foreign_triple(const Target& target) const = 0;
  /// True when this machine's processor has all instructions that the target's has.
  virtual bool has_instructions_of(const Target& target) const = 0;

  /// How wide vectors should be.
  virtual int vector_bits(const Target& target) const = 0;
  /// Whether `ldexp` of floats is an instruction.
  virtual bool has_ldexp(const Target&) const { return false; }
  /// What rules know of the processor; not how many cores are to be used.
  virtual CpuModel machine_of(const Target& target) const = 0;
  /// A function that only does what the processor can.
  virtual Ptr<PrimFunc> adapted(const Ptr<PrimFunc>& func, const Target& target) const = 0;

  /// An object file for this machine, or the target's own; where the back end can, with a table of
  /// these lines. Null: without.
  virtual std::vector<char> object(const CodeRequest& request,
                                   const StatementLines* lines) const = 0;
  virtual std::span<const TextForm> forms() const = 0;

  /// The file with some suffix that a module is exported to; nothing: it has none of that kind.
  virtual std::optional<std::string> file(const CodeRequest& request,
                                          std::string_view suffix) const = 0;
  /// What `.so` and `.a` are made of.
  virtual std::vector<LibraryPart> library_parts(const CodeRequest& request) const = 0;
};

/// What a core's own cache of this machine holds.
std::int64_t own_core_cache_bytes();

/// The runtime of exported kernels, which may stand in several files that are linked together.
std::string weak_kernel_source();

}  // namespace loopsmith
