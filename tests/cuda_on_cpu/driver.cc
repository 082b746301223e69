// SPDX-License-Identifier: Apache-2.0
// The driver and the compiler. What the compiler calls PTX, or cubin, is the path of a shared
// library.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace {

constexpr int fine = 0, failed = 1, illegal_address = 700;

/// What is done after a kernel: a fault is told by the calls that follow, all of them.
int after_kernels = fine;

struct Program {
  std::string source, result, log;
};

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Memory begins with what no program expects.
void* poisoned(std::size_t bytes) {
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xCB, bytes);
  return memory;
}

using Time = std::chrono::steady_clock::time_point;
using Launcher = void (*)(const unsigned*, void**);

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 0;
  *minor = 1;
  return fine;
}
int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*,
                       const char* const*) {
  *program = new Program{source, {}, {}};
  return fine;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  return fine;
}
int nvrtcCompileProgram(Program* program, int, const char* const*) {
  static int number = 0;
  const char* folder = std::getenv("CUDA_ON_CPU_FOLDER");
  const std::string stem =
      std::string(folder) + "/kernels_" + std::to_string(getpid()) + "_" + std::to_string(number++);
  std::string source = "#include \"" CUDA_ON_CPU_HEADER "\"\n" + program->source;
  // Tests ask whether a fault of the source would show.
  if (const char* fault = std::getenv("CUDA_ON_CPU_LEAVES_OUT"); fault && *fault) {
    for (std::size_t at; (at = source.find(fault)) != std::string::npos;) {
      source.erase(at, std::strlen(fault));
    }
  }
  const std::regex kernel("__global__ void (?:__launch_bounds__\\(\\d+\\) )?(\\w+)\\(");
  std::string launchers;
  for (std::sregex_iterator at(source.begin(), source.end(), kernel), end; at != end; ++at) {
    const std::string name = (*at)[1];
    launchers += "static void " + name + "_call(void** given) { cuda_on_cpu::call(" + name +
                 ", given); }\nextern \"C\" void " + name +
                 "_launch(const unsigned* shape, void** given) {\n  cuda_on_cpu::launch(shape, " +
                 name + "_call, given);\n}\n";
  }
  std::ofstream(stem + ".cc") << source << launchers;
  const std::string command =
      "g++ " CUDA_ON_CPU_FLAGS " -shared -o " + stem + ".so " + stem + ".cc 2> " + stem + ".log";
  const int status = std::system(command.c_str());
  program->result = stem + ".so";
  program->log = read(stem + ".log");
  return status == 0 ? fine : failed;
}
int nvrtcGetPTXSize(Program* program, std::size_t* size) {
  *size = program->result.size() + 1;
  return fine;
}
int nvrtcGetPTX(Program* program, char* text) {
  std::memcpy(text, program->result.c_str(), program->result.size() + 1);
  return fine;
}
int nvrtcGetCUBINSize(Program* program, std::size_t* size) {
  return nvrtcGetPTXSize(program, size);
}

int nvrtcGetCUBIN(Program* program, char* text) {
  return nvrtcGetPTX(program, text);
}

int nvrtcGetProgramLogSize(Program* program, std::size_t* size) {
  *size = program->log.size() + 1;
  return fine;
}
int nvrtcGetProgramLog(Program* program, char* text) {
  std::memcpy(text, program->log.c_str(), program->log.size() + 1);
  return fine;
}
const char* nvrtcGetErrorString(int) {
  return "g++ refuses the source";
}

int cuInit(unsigned) {
  return fine;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == illegal_address ? "an illegal memory access was encountered"
                                  : "too many resources requested for launch";
  return fine;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return fine;
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return fine;
}
int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "CUDA on a processor", static_cast<std::size_t>(size));
  return fine;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const bool is_grid = attribute >= 5 && attribute <= 7;
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 8 ? 49152 : 1024;
  if (is_grid) *value = attribute == 5 ? INT32_MAX : 65535;
  return fine;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = nullptr;
  return fine;
}
int cuCtxSetCurrent(void*) {
  return fine;
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  *address = reinterpret_cast<std::uint64_t>(poisoned(bytes));
  return after_kernels;
}
int cuMemFree_v2(std::uint64_t address) {
  std::free(reinterpret_cast<void*>(address));
  return fine;
}
int cuMemcpyHtoDAsync_v2(std::uint64_t into, const void* from, std::size_t bytes, void*) {
  std::memcpy(reinterpret_cast<void*>(into), from, bytes);
  return after_kernels;
}
int cuMemcpyDtoHAsync_v2(void* into, std::uint64_t from, std::size_t bytes, void*) {
  std::memcpy(into, reinterpret_cast<const void*>(from), bytes);
  return after_kernels;
}
int cuCtxSynchronize() {
  return after_kernels;
}
int cuStreamSynchronize(void*) {
  return after_kernels;
}
int cuEventCreate(Time** event, unsigned) {
  *event = new Time;
  return fine;
}
int cuEventDestroy_v2(Time* event) {
  delete event;
  return fine;
}
int cuEventRecord(Time* event, void*) {
  *event = std::chrono::steady_clock::now();
  return fine;
}
int cuEventSynchronize(Time*) {
  return after_kernels;
}
int cuEventElapsedTime(float* milliseconds, const Time* start, const Time* end) {
  *milliseconds = std::chrono::duration<float, std::milli>(*end - *start).count();
  return fine;
}
int cuModuleLoadData(void** module, const void* image) {
  *module = dlopen(static_cast<const char*>(image), RTLD_NOW | RTLD_LOCAL);
  return *module ? fine : failed;
}
int cuModuleUnload(void*) {
  return fine;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = dlsym(module, (std::string(name) + "_launch").c_str());
  return *function ? fine : failed;
}
int cuFuncSetAttribute(void*, int attribute, int value) {
  // As on sm_80: the largest size of shared memory that a launch gives.
  return attribute == 8 && value <= 227 * 1024 ? fine : failed;
}
/// What a tensor map holds here.
struct TensorMap {
  std::uint64_t address, extents[5], strides[4];
  std::uint32_t box[5], rank;
};
int cuTensorMapEncodeTiled(TensorMap* map, int, unsigned rank, std::uint64_t address,
                           const std::uint64_t* extents, const std::uint64_t* strides,
                           const unsigned* box, const unsigned*, int, int swizzle, int, int) {
  bool is_fit = rank >= 2 && rank <= 5 && address % 16 == 0 && box[0] == 64 && swizzle == 3;
  *map = {};
  map->address = address;
  map->rank = rank;
  for (unsigned d = 0; d < rank; ++d) {
    is_fit = is_fit && box[d] >= 1 && box[d] <= 256 && (d == 0 || strides[d - 1] % 16 == 0);
    map->extents[d] = extents[d];
    map->box[d] = box[d];
    if (d > 0) map->strides[d - 1] = strides[d - 1];
  }
  return is_fit ? fine : failed;
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned pool_bytes, void*,
                   void** arguments, void**) {
  // As where threads need more registers than there are.
  if (block_x * block_y * block_z > 768) return failed;
  const unsigned shape[] = {grid_x, grid_y, grid_z, block_x, block_y, block_z, pool_bytes};
  if (after_kernels != fine) return after_kernels;
  reinterpret_cast<Launcher>(function)(shape, arguments);
  // Tests ask what is told of a fault.
  if (std::getenv("CUDA_ON_CPU_FAULTS")) after_kernels = illegal_address;
  return fine;
}

}  // extern "C"
