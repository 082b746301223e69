// SPDX-License-Identifier: Apache-2.0
// Arrays and devices.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>

#include "bindings/bindings.h"
#include "bindings/callable.h"
#include "bindings/dlpack.h"
#include "bindings/interpreter_lock.h"
#include "bindings/timing.h"
#include "loopsmith/codegen/signature.h"
#include "loopsmith/runtime/device.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

using Shape = std::vector<std::int64_t>;

/// A size, or a sequence of sizes.
Shape shape_from_python(nb::handle shape) {
  Shape sizes;
  std::int64_t size = 0;
  if (nb::try_cast(shape, size)) return {size};
  require(nb::try_cast(shape, sizes), ErrorKind::type_mismatch, "shape_is_integer",
          hint("pass sizes as ints"), {}, "array: the shape is {}, no sequence of sizes",
          nb::repr(shape).c_str());
  return sizes;
}

/// An element type by its name, or whatever NumPy takes for one.
DLDataType dtype_from_python(nb::handle dtype) {
  nb::object name = nb::borrow(dtype);
  if (!PyUnicode_Check(dtype.ptr())) {
    name = nb::module_::import_("loopsmith.dtypes").attr("find_name")(dtype);
    require(!name.is_none(), ErrorKind::type_mismatch, "dtype_is_known",
            hint("pass a name, such as float32, or a dtype of NumPy"), {},
            "array: the dtype is {}, no type of elements", nb::repr(dtype).c_str());
  }
  const DataType type = parse_data_type(nb::cast<std::string>(name));
  require(type.code != TypeCode::handle, ErrorKind::type_mismatch, "elements_are_numbers",
          hint("pass the type of a number"), {}, "array: its elements cannot be {}",
          to_string(type));
  return to_dlpack(type);
}

/// The name of an element type in NumPy, or in ml_dtypes.
std::string numpy_name(DLDataType dtype) {
  switch (dtype.code) {
    case kDLFloat8_e3m4: return "float8_e3m4";
    case kDLFloat8_e4m3: return "float8_e4m3";
    case kDLFloat8_e4m3fn: return "float8_e4m3fn";
    case kDLFloat8_e5m2: return "float8_e5m2";
    default: return to_string(dtype);
  }
}

/// A device by its name, `opencl` or `cuda:1`, or as loopsmith.Device has it; None is the
/// processor.
DLDevice device_from_python(nb::handle device) {
  if (device.is_none()) return {kDLCPU, 0};
  std::string kind;
  int number = 0;
  if (std::pair<std::string, int> named; nb::try_cast(device, named)) {
    std::tie(kind, number) = named;
  } else {
    require(nb::try_cast(device, kind), ErrorKind::type_mismatch, "device_is_known",
            hint("pass loopsmith.device(\"opencl\", 0), or its name"), {},
            "array: the device is {}, no device", nb::repr(device).c_str());
    const std::size_t colon = kind.find(':');
    const std::string digits = colon == std::string::npos ? "0" : kind.substr(colon + 1);
    const bool is_number = !digits.empty() && digits.size() < 6 &&
                           digits.find_first_not_of("0123456789") == std::string::npos;
    require(is_number, ErrorKind::type_mismatch, "device_is_known", hint("write it as opencl:0"),
            {}, "array: the device is '{}', no device", kind);
    number = std::stoi(digits);
    kind.resize(std::min(colon, kind.size()));
  }
  return parse_device(kind, number);
}

/// The format of an element in Python's struct module; null when it has none.
const char* buffer_format(DLDataType dtype) {
  if (dtype.lanes != 1) return nullptr;
  struct Format {
    DLDataType dtype;
    const char* format;
  };
  static constexpr Format formats[] = {
      {dtype::boolean, "?"}, {dtype::int8, "b"},    {dtype::uint8, "B"},   {dtype::int16, "h"},
      {dtype::uint16, "H"},  {dtype::int32, "i"},   {dtype::uint32, "I"},  {dtype::int64, "q"},
      {dtype::uint64, "Q"},  {dtype::float16, "e"}, {dtype::float32, "f"}, {dtype::float64, "d"},
  };
  for (const Format& known : formats) {
    if (is_same(known.dtype, dtype)) return known.format;
  }
  return nullptr;
}

int get_buffer(PyObject* object, Py_buffer* view, int flags) noexcept {
  const auto& array = *nb::inst_ptr<NDArray>(object);
  const char* format = buffer_format(array.dtype());
  const char* problem = nullptr;
  if (!format) problem = "its elements have no buffer format; use numpy() or DLPack";
  if (array.device().device_type != kDLCPU) problem = "it is not in the processor's memory";
  if ((flags & PyBUF_WRITABLE) != 0 && array.is_read_only()) problem = "it is read-only";
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !array.is_compact()) problem = "it has strides";
  if (problem) {
    PyErr_Format(PyExc_BufferError, "array: %s", problem);
    return -1;
  }
  const auto rank = array.shape().size();
  auto* sizes = new (std::nothrow) Py_ssize_t[2 * rank + 1];
  if (!sizes) {
    PyErr_NoMemory();
    return -1;
  }
  const Py_ssize_t item_bytes = array.dtype().bits / 8;
  for (std::size_t i = 0; i < rank; ++i) {
    sizes[i] = array.shape()[i];
    sizes[rank + i] = array.strides()[i] * item_bytes;
  }
  const DLTensor& tensor = array.c_tensor();
  *view = {.buf = static_cast<char*>(tensor.data) + tensor.byte_offset,
           .obj = Py_NewRef(object),
           .len = array.size() * item_bytes,
           .itemsize = item_bytes,
           .readonly = array.is_read_only() ? 1 : 0,
           .ndim = static_cast<int>(rank),
           .format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr,
           .shape = (flags & PyBUF_ND) != 0 ? sizes : nullptr,
           .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? sizes + rank : nullptr,
           .suboffsets = nullptr,
           .internal = sizes};
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) noexcept {
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

/// The same bytes as elements of another type of that size.
NDArray reinterpreted(const NDArray& array, DLDataType dtype) {
  DLManagedTensorVersioned* lent = array.to_dlpack();
  lent->dl_tensor.dtype = dtype;
  return NDArray::from_dlpack(lent);
}

/// A NumPy array of the same data; of a copy where that lies on a device.
nb::object to_numpy(const NDArray& array) {
  if (array.device().device_type != kDLCPU) return to_numpy(array.copy_to({kDLCPU, 0}));
  const nb::module_ numpy = nb::module_::import_("numpy");
  const auto view = [&](const NDArray& own) {
    const nb::object object = nb::cast(own);
    return numpy.attr("asarray")(nb::steal(PyMemoryView_FromObject(object.ptr())));
  };
  const DLDataType dtype = array.dtype();
  if (buffer_format(dtype)) return view(array);
  require(dtype.lanes == 1 && dtype.bits % 8 == 0, ErrorKind::type_mismatch, "numpy_has_dtype",
          hint("use DLPack"), {}, "array: NumPy has no dtype {}", to_string(dtype));
  const nb::object types = nb::module_::import_("ml_dtypes");
  const nb::object named = types.attr(numpy_name(dtype).c_str());
  return view(reinterpreted(array, dtype.bits == 8 ? dtype::uint8 : dtype::uint16))
      .attr("view")(named);
}

nb::tuple tuple_of(std::span<const std::int64_t> values) {
  nb::list list;
  for (const std::int64_t value : values) list.append(value);
  return nb::tuple(list);
}

/// DLPack's versions and devices that a consumer asks for.
nb::object lend_to_python(const NDArray& self, nb::handle stream, nb::handle max_version,
                          nb::handle device, nb::handle copy) {
  const auto refuse = [](bool refused, const char* problem) {
    if (refused) throw nb::buffer_error(problem);
  };
  refuse(!stream.is_none(), "array: a processor's memory has no streams");
  refuse(nb::isinstance<nb::bool_>(copy) && nb::cast<bool>(copy),
         "array: lends its own data, no copy");
  if (!device.is_none()) {
    const auto [type, id] = nb::cast<std::pair<int, int>>(device);
    refuse(type != self.device().device_type || id != self.device().device_id,
           "array: is on another device than the one asked for");
  }
  const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  refuse(!versioned && self.is_read_only(),
         "array: is read-only, which DLPack before 1.0 cannot say");
  return dlpack_capsule(self, versioned);
}

std::string array_text(const NDArray& array) {
  const nb::object shape = tuple_of(array.shape());
  return fmt::format("<loopsmith.NDArray {} {}{}>", nb::str(shape).c_str(),
                     to_string(array.dtype()), array.is_read_only() ? ", read-only" : "");
}

void bind_array(nb::module_& m) {
  static PyType_Slot slots[] = {
      {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
      {0, nullptr},
  };
  nb::class_<NDArray>(
      m, "NDArray", nb::type_slots(slots), nb::is_final(),
      "An n-d array of numbers, aligned to 64 bytes. It speaks DLPack and the buffer "
      "protocol: ``numpy.asarray(x)`` and ``torch.from_dlpack(x)`` share its data.")
      .def_prop_ro(
          "shape", [](const NDArray& self) { return tuple_of(self.shape()); },
          nb::for_getter(nb::sig("def shape(self) -> tuple[int, ...]")), "Its extents.")
      .def_prop_ro(
          "strides", [](const NDArray& self) { return tuple_of(self.strides()); },
          nb::for_getter(nb::sig("def strides(self) -> tuple[int, ...]")),
          "The distance between neighbours in each dimension, in elements.")
      .def_prop_ro(
          "ndim", [](const NDArray& self) { return self.shape().size(); }, "How many dimensions.")
      .def_prop_ro("size", &NDArray::size, "How many elements it has.")
      .def_prop_ro(
          "nbytes", [](const NDArray& self) { return size_in_bytes(self.dtype(), self.size()); },
          "How many bytes they take.")
      .def_prop_ro(
          "dtype", [](const NDArray& self) { return to_string(self.dtype()); },
          "The name of its element type, as the script language writes it.")
      .def_prop_ro(
          "device", [](const NDArray& self) { return to_string(self.device()); },
          "Where its data lies: ``cpu``, ``cuda:0``, ...")
      .def_prop_ro("is_read_only", &NDArray::is_read_only,
                   "True when functions refuse to write it.")
      .def("as_read_only", &NDArray::as_read_only, "Return the same array, not to be written.")
      .def("reshape", &NDArray::reshape, nb::arg("shape"),
           "Return the same elements in row-major order with another shape.")
      .def("numpy", to_numpy, nb::sig("def numpy(self) -> NumpyArray[typing.Any]"),
           "Return a NumPy array that shares the data, or that has a copy of a device's. bfloat16 "
           "and float8 need ml_dtypes.")
      .def(
          "to",
          [](const NDArray& self, nb::handle device) {
            const DLDevice target = device_from_python(device);
            const Unlocked unlocked;
            return self.copy_to(target);
          },
          nb::arg("device").none(),
          nb::sig("def to(self, device: tuple[str, int] | str | None) -> NDArray"),
          "Return a copy in the memory of a device; None is the processor.")
      .def(
          "__array__",
          [](const NDArray& self, nb::handle dtype, nb::handle copy) {
            nb::object array = to_numpy(self);
            if (dtype.is_none() && !nb::isinstance<nb::bool_>(copy)) return array;
            return nb::module_::import_("numpy").attr("array")(
                array, nb::arg("dtype") = dtype,
                nb::arg("copy") = copy.is_none() ? nb::bool_(false) : nb::borrow(copy));
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
          nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                  "NumpyArray[typing.Any]"))
      .def("__dlpack__", lend_to_python, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(),
           nb::sig("def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, "
                   "int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | "
                   "None = None) -> typing.Any"))
      .def_prop_ro(
          "__cuda_array_interface__",
          [](const NDArray& self) {
            const char* format = buffer_format(self.dtype());
            if (self.device().device_type != kDLCUDA || !format) {
              throw nb::attribute_error("__cuda_array_interface__");
            }
            const DLTensor& tensor = self.c_tensor();
            const auto address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
            const std::int64_t bytes = self.dtype().bits / 8;
            const char kind = *format == '?'                  ? 'b'
                              : self.dtype().code == kDLFloat ? 'f'
                              : self.dtype().code == kDLUInt  ? 'u'
                                                              : 'i';
            std::vector<std::int64_t> strides;
            for (const std::int64_t stride : self.strides()) strides.push_back(stride * bytes);
            nb::dict made;
            made["shape"] = tuple_of(self.shape());
            made["typestr"] = fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
            made["data"] = nb::make_tuple(address, self.is_read_only());
            made["strides"] = tuple_of(strides);
            made["version"] = 3;
            // Work on the default stream is to be waited for.
            made["stream"] = current_stream() != 0 ? current_stream() : std::uintptr_t{1};
            return made;
          },
          nb::sig("def __cuda_array_interface__(self, /) -> dict[str, typing.Any]"),
          "How libraries for CUDA take the array without a copy; other arrays do not have it.")
      .def(
          "__dlpack_device__",
          [](const NDArray& self) {
            return nb::make_tuple(static_cast<int>(self.device().device_type),
                                  self.device().device_id);
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def(
          "__reduce__",
          [](const NDArray& self) {
            const NDArray own = self.copy_to({kDLCPU, 0});
            const auto size = static_cast<std::size_t>(size_in_bytes(own.dtype(), own.size()));
            const DLTensor& tensor = own.c_tensor();
            const nb::bytes data(static_cast<const char*>(tensor.data) + tensor.byte_offset, size);
            return nb::make_tuple(
                nb::module_::import_("loopsmith.ndarray").attr("unpickled"),
                nb::make_tuple(tuple_of(own.shape()), to_string(own.dtype()), data));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def(
          "_repr_html_",
          [](nb::handle self) {
            return nb::module_::import_("loopsmith.ndarray").attr("html")(self);
          },
          nb::sig("def _repr_html_(self) -> str"))
      .def("__len__",
           [](const NDArray& self) {
             if (self.shape().empty()) throw nb::type_error("len() of an array without dimensions");
             return self.shape()[0];
           })
      .def("__repr__", array_text);

  m.def(
      "empty",
      [](nb::handle shape, nb::handle dtype, nb::handle device) {
        return NDArray::empty_on(device_from_python(device), shape_from_python(shape),
                                 dtype_from_python(dtype));
      },
      nb::arg("shape"), nb::arg("dtype") = "float32", nb::arg("device") = nb::none(),
      nb::sig("def empty(shape: int | typing.Sequence[int], dtype: typing.Any = 'float32', device: "
              "tuple[str, int] | str | None = None) -> NDArray"),
      "Make an array of any content, in the memory of the processor or of a device.");
  m.def(
      "zeros",
      [](nb::handle shape, nb::handle dtype) {
        return NDArray::zeros(shape_from_python(shape), dtype_from_python(dtype));
      },
      nb::arg("shape"), nb::arg("dtype") = "float32",
      nb::sig("def zeros(shape: int | typing.Sequence[int], dtype: typing.Any = 'float32') -> "
              "NDArray"),
      "Make an array of zeros.");
  m.def(
      "array_of_bytes",
      [](nb::handle shape, nb::handle dtype, const nb::bytes& data) {
        NDArray array = NDArray::empty(shape_from_python(shape), dtype_from_python(dtype));
        const auto size = static_cast<std::size_t>(size_in_bytes(array.dtype(), array.size()));
        require(data.size() == size, ErrorKind::format, "bytes_are_an_array",
                hint("pickle the array again"), {}, "array: {} bytes are given for {}", data.size(),
                size);
        if (size != 0) std::memcpy(array.c_tensor().data, data.c_str(), size);
        return array;
      },
      nb::arg("shape"), nb::arg("dtype"), nb::arg("data"),
      nb::sig("def array_of_bytes(shape: typing.Sequence[int], dtype: str, data: bytes) -> "
              "NDArray"),
      "Return an array of bytes that were copied from one, in row-major order.");
  m.def("from_dlpack", borrow_array, nb::arg("array"),
        nb::sig("def from_dlpack(array: typing.Any) -> NDArray"),
        "Take an array that another library lends through DLPack; the data is shared.");
}

void bind_devices(nb::module_& m) {
  m.def(
      "device_count",
      [](const std::string& kind) { return device_count(parse_device(kind, 0).device_type); },
      nb::arg("kind"), "How many devices of a kind there are; 0 without a driver.");
  m.def(
      "describe_device",
      [](const std::string& kind, int number) {
        const auto device = open_device(parse_device(kind, number));
        const DeviceLimits limits = device->limits();
        return nb::make_tuple(device->name(), limits.threads_per_block,
                              limits.shared_bytes_per_block, device->arch());
      },
      nb::arg("kind"), nb::arg("number"),
      nb::sig("def describe_device(kind: str, number: int) -> tuple[str, int, int, str]"),
      "What a driver calls a device, how many threads and shared bytes a block may have, and its "
      "architecture.");
  m.def("choose_stream", choose_stream, nb::arg("stream"),
        "Start kernels of CUDA, and copies, on the stream of that handle; return the one before.");
  m.def(
      "wait_for_device",
      [](const std::string& kind, int number) {
        const Unlocked unlocked;
        open_device(parse_device(kind, number))->wait();
      },
      nb::arg("kind"), nb::arg("number"), "Return when all that was started has ended.");
}

}  // namespace

void bind_runtime(nb::module_& m) {
  bind_devices(m);
  bind_array(m);
  bind_timing(m);
  bind_callables(m);
}

}  // namespace loopsmith::python
