// SPDX-License-Identifier: Apache-2.0
// Texts of generated code with the lines that they came from.
#include <llvm/IR/AssemblyAnnotationWriter.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/FormattedStream.h>

#include <algorithm>
#include <charconv>

#include "loopsmith/codegen/llvm/code_emitter.h"
#include "loopsmith/codegen/llvm/compile.h"
#include "loopsmith/codegen/llvm/emit_module.h"

namespace loopsmith {
namespace {

using InstructionLines = std::unordered_map<const llvm::Instruction*, std::uint32_t>;

/// Notes on which line of the text each instruction is printed.
class LineNotes : public llvm::AssemblyAnnotationWriter {
 public:
  explicit LineNotes(const InstructionLines& known) : known_(known) {}

  void emitInstructionAnnot(const llvm::Instruction* instruction,
                            llvm::formatted_raw_ostream& stream) override {
    const auto found = known_.find(instruction);
    if (found == known_.end()) return;
    const std::size_t line = stream.getLine();
    if (lines_.size() <= line) lines_.resize(line + 1);
    lines_[line] = found->second;
  }
  std::vector<std::uint32_t> take() { return std::move(lines_); }

 private:
  const InstructionLines& known_;
  std::vector<std::uint32_t> lines_;
};

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

/// What a line of assembly says of the line that follows: `\t.loc\t1 12 0` is 12.
std::optional<std::uint32_t> line_of_directive(std::string_view line) {
  constexpr std::string_view directive = "\t.loc\t";
  if (!line.starts_with(directive)) return std::nullopt;
  line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
  std::uint32_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

/// True for a line of code: no label, directive or remark.
bool is_instruction(std::string_view line) {
  return line.size() > 1 && line[0] == '\t' && line[1] != '.' && line[1] != '#' && line[1] != '/';
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

TextWithLines llvm_lines(const CodeRequest& request, const StatementLines& lines) {
  llvm::LLVMContext context;
  const auto module =
      detail::emit_module(request, detail::code_emitter_for(request.target), context, &lines);
  InstructionLines known;
  for (const llvm::Function& function : *module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (const llvm::DebugLoc& place = instruction.getDebugLoc()) {
        known.emplace(&instruction, place.getLine());
      }
    }
  }
  llvm::StripDebugInfo(*module);
  if (auto* flags = module->getModuleFlagsMetadata()) flags->eraseFromParent();
  TextWithLines made;
  llvm::raw_string_ostream stream(made.text);
  LineNotes notes(known);
  module->print(stream, &notes);
  made.lines = notes.take();
  made.lines.resize(count_lines(made.text));
  return made;
}

TextWithLines assembly_lines(const CodeRequest& request, const StatementLines& lines) {
  detail::CodeEmitter& machine = detail::code_emitter_for(request.target);
  llvm::LLVMContext context;
  const std::string marked =
      machine.assembly(*detail::emit_module(request, machine, context, &lines));
  // The instructions are the same with marks and without, in the same order.
  std::vector<std::uint32_t> known;
  std::uint32_t current = 0;
  for (const std::string_view line : split_lines(marked)) {
    if (const auto said = line_of_directive(line)) current = *said;
    if (line.starts_with("\t.cfi_startproc")) current = 0;
    if (is_instruction(line)) known.push_back(current);
  }
  TextWithLines made{.text = assembly_text(request), .lines = {}};
  std::size_t next = 0;
  for (const std::string_view line : split_lines(made.text)) {
    const bool is_known = is_instruction(line) && next < known.size();
    made.lines.push_back(is_known ? known[next++] : 0);
  }
  return made;
}

}  // namespace loopsmith
