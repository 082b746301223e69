// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/imports.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

bool is_file_name(std::string_view text) {
  return text.find('\n') == std::string_view::npos &&
         (text.ends_with(".c") || text.ends_with(".ll"));
}

std::string contents_of(const std::string& text, const Span& span) {
  if (!is_file_name(text)) return text;
  std::ifstream file(text, std::ios::binary);
  require(file.good(), ErrorKind::lower, "imported_file_is_read",
          hint("give the path of a file, or the code itself"), span,
          "the file {} that is to be imported cannot be read", text);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::vector<ImportedCode> imported_code(const CodeRequest& request, std::string_view pragma) {
  std::vector<ImportedCode> found;
  for (const auto& functions : {request.helpers, request.functions}) {
    for (const Ptr<PrimFunc>& func : functions) {
      pre_order_visit(func->body, [&](const Ref& ref) {
        const auto* attribute = ref.as<AttrStmt>();
        const auto* text =
            attribute && attribute->attr_key == pragma ? attribute->value.as<StringImm>() : nullptr;
        if (text) {
          std::string code = contents_of(text->value, attribute->span);
          if (std::ranges::find(found, code, &ImportedCode::text) == found.end()) {
            found.push_back({std::move(code), attribute->span});
          }
        }
        return !is_expr(*ref.get());
      });
    }
  }
  return found;
}

}  // namespace loopsmith
