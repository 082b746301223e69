// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/export.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "loopsmith/codegen/entry_symbol.h"
#include "loopsmith/codegen/llvm/loader.h"
#include "loopsmith/codegen/signature.h"
#include "loopsmith/codegen/source/c_compiler.h"
#include "loopsmith/codegen/source/c_export.h"
#include "loopsmith/driver/back_ends.h"
#include "loopsmith/driver/metadata.h"
#include "loopsmith/driver/release.h"
#include "loopsmith/ir/json.h"
#include "loopsmith/runtime/kernel/sources.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

namespace fs = std::filesystem;

/// Before the numbers of helpers in the text of a request.
constexpr std::string_view helper_prefix = "helper.";

void write_file(const std::string& path, std::string_view contents) {
  std::ofstream out(path, std::ios::binary);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  out.flush();
  require(out.good(), "file_is_written", hint("choose a folder that exists and may be written"),
          "export: {} cannot be written", path);
}

/// A name of C that a program does not have already.
bool is_c_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && !is_digit(name[0]) && name != "main" && !name.starts_with("ls_") &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); });
}

/// A lone function called `main`, as `build` calls it and no library may, takes the file's name.
void name_after_file(CodeRequest& request, const std::string& stem) {
  std::vector<Ptr<PrimFunc>>& functions = request.functions;
  if (functions.size() != 1 || functions[0]->name() != "main" || !is_c_name(stem)) return;
  functions[0] = with_attr(functions[0], "global_symbol", string_imm(stem));
}

/// Makes files of one request.
class Exporter {
 public:
  explicit Exporter(CodeRequest request)
      : request_(std::move(request)), back_end_(back_end_of(request_.target)) {
    for (const Ptr<PrimFunc>& func : request_.functions) {
      const std::string name = func->name();
      require(is_c_name(name), "function_has_c_name",
              hint("name it, as in build(..., name=\"matmul\")"),
              "export: '{}' cannot be the name of a function of C", name);
      signatures_.push_back(signature_of(*func));
      traces_.push_back(func->attrs.get_string(trace_attribute));
    }
    metadata_ =
        metadata_text({request_.target.text(), std::string(release()), signatures_, traces_});
    request_.exported = metadata_;
  }

  const std::vector<Signature>& signatures() const { return signatures_; }

  std::string file(const std::string& suffix) {
    if (suffix == ".so") return shared_library();
    if (suffix == ".a") return archive();
    std::optional<std::string> contents = back_end_.file(request_, suffix);
    require(
        contents.has_value(), "suffix_fits_target",
        hint("export .c from target c; .o, .s and .ll from target llvm; .so and .a from both; .cl "
             "from target opencl; .cu and .ptx from target cuda"),
        "export: a {} file cannot be made from target {}", suffix,
        to_string(request_.target.kind()));
    return *std::move(contents);
  }

 private:
  std::string triple() const { return back_end_.foreign_triple(request_.target); }
  std::string compiler() const { return c_compiler(triple()); }

  /// The objects that a library consists of, in the folder.
  std::vector<std::string> objects(const TemporaryFolder& folder) const {
    std::vector<std::string> names;
    for (const LibraryPart& part : back_end_.library_parts(request_)) {
      folder.write(part.name, part.contents);
      const fs::path object = fs::path(part.name).replace_extension(".o");
      names.push_back(object);
      if (part.name == object) continue;
      std::vector<std::string> command = {compiler(), "-std=c99", "-O2",
                                          "-fPIC",    "-c",       "-ffp-contract=off"};
      command.insert(command.end(), part.flags.begin(), part.flags.end());
      command.insert(command.end(), {part.name, "-o", object});
      folder.run(command);
    }
    return names;
  }

  std::string shared_library() {
    const TemporaryFolder folder;
    std::vector<std::string> command = {compiler(), "-shared", "-o", "kernel.so", "-s"};
    for (const std::string& object : objects(folder)) command.push_back(object);
    command.insert(command.end(), {"-lm", "-lpthread"});
    folder.run(command);
    const std::vector<char> bytes = folder.read("kernel.so");
    return {bytes.begin(), bytes.end()};
  }

  std::string archive() {
    const TemporaryFolder folder;
    const std::string machine = triple();
    std::vector<std::string> command = {machine.empty() ? "ar" : machine + "-ar", "rcsD",
                                        "kernel.a"};
    for (const std::string& object : objects(folder)) command.push_back(object);
    folder.run(command);
    const std::vector<char> bytes = folder.read("kernel.a");
    return {bytes.begin(), bytes.end()};
  }

  CodeRequest request_;
  const BackEnd& back_end_;
  std::vector<Signature> signatures_;
  std::vector<std::string> traces_;
  std::string metadata_;
};

constexpr std::string_view suffixes[] = {".so", ".a",  ".o",  ".s",  ".ll",
                                         ".c",  ".cl", ".cu", ".ptx"};

/// A shared library that was opened.
struct SharedLibrary {
  void* handle;
  explicit SharedLibrary(const std::string& path)
      : handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    const char* problem = handle ? nullptr : ::dlerror();
    require(handle, ErrorKind::call, "library_is_opened", hint("see what the system says"), {},
            "load_module: {}", problem ? problem : "unknown error");
  }
  ~SharedLibrary() { ::dlclose(handle); }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;
};

/// The functions that the metadata at `metadata` names.
template <class Find>
Module loaded(const std::string& path, const std::shared_ptr<const void>& code, Find&& find,
              RuntimeOptions options) {
  const auto* metadata = static_cast<const char*>(find("ls_metadata"));
  require(metadata, ErrorKind::format, "file_has_metadata", hint("load a file that `export` wrote"),
          {}, "load_module: {} has no metadata", path);
  const Metadata known = parse_metadata(metadata);
  std::vector<CompiledFunction> functions;
  for (const Signature& signature : known.functions) {
    const std::string symbol = entry_symbol(signature.spec().name);
    void* address = find(symbol);
    require(address, ErrorKind::format, "file_has_functions", hint("export the module again"), {},
            "load_module: {} lacks the function {}", path, symbol);
    functions.push_back({.signature = signature,
                         .address = reinterpret_cast<ls_packed_function>(address),
                         .code = code});
  }
  require(!functions.empty(), ErrorKind::format, "file_has_functions",
          hint("export the module again"), {}, "load_module: {} has no functions", path);
  const std::string text = metadata;
  return Module(std::move(functions), std::move(options), {{"metadata", [text] { return text; }}});
}

}  // namespace

std::string request_text(const CodeRequest& request) {
  IRModule module;
  const auto add = [&](const std::string& name, const Ptr<PrimFunc>& func) {
    module.names.push_back(make(GlobalVar{.name_hint = name}));
    module.functions.push_back(func);
  };
  for (const Ptr<PrimFunc>& func : request.functions) add(func->name(), func);
  // A module keeps its functions by name, and a function may be both. Helpers keep their order.
  for (std::size_t i = 0; i < request.helpers.size(); ++i) {
    add(fmt::format("{}{:06}", helper_prefix, i), request.helpers[i]);
  }
  module.attrs = module.attrs.with("target", string_imm(request.target.text()));
  for (const FloatOption& option : float_options) {
    module.attrs = module.attrs.with(std::string(option.name), Expr(request.floats.*option.member));
  }
  return to_json(make(std::move(module)));
}

CodeRequest parse_request(std::string_view text) {
  const auto module = Ptr<IRModule>::from(from_json(text));
  check(module.defined(), "parse_request", "the text is no module");
  CodeRequest request{{}, Target(module->attrs.get_string("target", "llvm")), {}};
  for (std::size_t i = 0; i < module->functions.size(); ++i) {
    const bool is_helper = module->names[i]->name_hint.starts_with(helper_prefix);
    (is_helper ? request.helpers : request.functions).push_back(module->functions[i]);
  }
  for (const FloatOption& option : float_options) {
    request.floats.*option.member = module->attrs.get_int(option.name, 0) != 0;
  }
  return request;
}

void export_module(const Module& module, const std::string& path, const std::string& header) {
  const std::string suffix = fs::path(path).extension().string();
  require(std::ranges::find(suffixes, suffix) != std::end(suffixes), "suffix_is_known",
          hint("use .so, .a, .o, .s, .ll, .c, .cl, .cu or .ptx"),
          "export: '{}' ends with no known suffix", path);
  const std::vector<std::string> sources = module.source_names();
  require(std::ranges::find(sources, "json") != sources.end(), "module_was_built",
          hint("export what `build` gave"), "export: the module was loaded from a file");
  CodeRequest request = parse_request(module.source("json"));
  name_after_file(request, fs::path(path).stem().string());
  Exporter exporter(std::move(request));
  write_file(path, exporter.file(suffix));
  if (!header.empty()) write_file(header, c_header(exporter.signatures()));
}

void export_runtime(const std::string& path) {
  write_file(path, kernel_source());
}

Module load_module(const std::string& path, RuntimeOptions options) {
  const std::string suffix = fs::path(path).extension().string();
  if (suffix == ".so") {
    const auto library = std::make_shared<const SharedLibrary>(fs::absolute(path).string());
    return loaded(
        path, library,
        [&](const std::string& name) { return ::dlsym(library->handle, name.c_str()); },
        std::move(options));
  }
  require(suffix == ".o", "loadable_suffix", hint("export a .so or a .o"),
          "load_module: {} is neither a .so nor a .o", path);
  std::ifstream in(path, std::ios::binary);
  require(in.good(), "file_is_read", hint("check the path"), "load_module: {} cannot be read",
          path);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in),
                                std::istreambuf_iterator<char>()};
  const auto object = std::make_shared<const LoadedObject>(bytes);
  return loaded(
      path, object, [&](const std::string& name) { return object->find(name); },
      std::move(options));
}

}  // namespace loopsmith
