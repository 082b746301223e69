// SPDX-License-Identifier: Apache-2.0
// The compiler of CUDA, NVRTC. The few names of its interface that are needed are declared here, so
// that no header has to be there.
#include "loopsmith/runtime/drivers.h"
#include "loopsmith/runtime/shared_library.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

using NvrtcProgram = struct NvrtcProgramTag*;

/// The functions of the compiler.
struct Nvrtc {
  int (*create)(NvrtcProgram*, const char*, const char*, int, const char* const*,
                const char* const*);
  int (*destroy)(NvrtcProgram*);
  int (*compile)(NvrtcProgram, int, const char* const*);
  int (*ptx_size)(NvrtcProgram, std::size_t*);
  int (*ptx)(NvrtcProgram, char*);
  int (*cubin_size)(NvrtcProgram, std::size_t*);
  int (*cubin)(NvrtcProgram, char*);
  int (*log_size)(NvrtcProgram, std::size_t*);
  int (*log)(NvrtcProgram, char*);
  const char* (*error_string)(int);
  int (*version)(int*, int*);

  std::string version_text() const {
    int major = 0, minor = 0;
    version(&major, &minor);
    return fmt::format("{}.{}", major, minor);
  }

  Nvrtc() {
    const DriverLibrary library(
        library_names("LOOPSMITH_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}),
        "NVRTC, the compiler of CUDA",
        "pip install nvidia-cuda-nvrtc, or name the library in LOOPSMITH_NVRTC");
    library.find(create, "nvrtcCreateProgram");
    library.find(destroy, "nvrtcDestroyProgram");
    library.find(compile, "nvrtcCompileProgram");
    library.find(ptx_size, "nvrtcGetPTXSize");
    library.find(ptx, "nvrtcGetPTX");
    library.find(cubin_size, "nvrtcGetCUBINSize");
    library.find(cubin, "nvrtcGetCUBIN");
    library.find(log_size, "nvrtcGetProgramLogSize");
    library.find(log, "nvrtcGetProgramLog");
    library.find(error_string, "nvrtcGetErrorString");
    library.find(version, "nvrtcVersion");
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc functions;
  return functions;
}

}  // namespace

std::string cuda_compiler_version() {
  return nvrtc().version_text();
}

std::string compile_cuda(const std::string& source, const std::string& arch, CudaCodeForm form) {
  const Nvrtc& compiler = nvrtc();
  NvrtcProgram program = nullptr;
  const int created = compiler.create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr);
  require(created == 0, ErrorKind::call, "compiler_takes_source", hint("see what NVRTC says"), {},
          "cuda: NVRTC: {}", compiler.error_string(created));
  // PTX names a virtual architecture: `compute_80`.
  const std::string number = arch.starts_with("sm_") ? arch.substr(3) : arch;
  const bool is_ptx = form == CudaCodeForm::ptx;
  const std::string architecture =
      fmt::format("--gpu-architecture={}{}", is_ptx ? "compute_" : "sm_", number);
  const char* options[] = {architecture.c_str(), "--fmad=false", "--std=c++17"};
  const int compiled = compiler.compile(program, 3, options);
  const auto text_of = [&](auto size_of, auto get) {
    std::size_t size = 0;
    size_of(program, &size);
    std::string text(size, '\0');
    get(program, text.data());
    return text;
  };
  std::string text;
  if (compiled == 0 && !is_ptx) {
    text = text_of(compiler.cubin_size, compiler.cubin);
  } else {
    text = compiled == 0 ? text_of(compiler.ptx_size, compiler.ptx)
                         : text_of(compiler.log_size, compiler.log);
    text = text.substr(0, text.find('\0'));
  }
  compiler.destroy(&program);
  require(compiled == 0, ErrorKind::call, "driver_compiles_kernel",
          hint("name an architecture that this NVRTC knows, as in cuda -arch=sm_80"), {},
          "cuda: NVRTC does not compile the kernels for {}: {}\n{}", arch,
          compiler.error_string(compiled), text);
  return text;
}

}  // namespace loopsmith
