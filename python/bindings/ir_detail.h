// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bindings/ir.h"

namespace loopsmith::python {

/// What a Python object of a node holds.
struct NodeHandle {
  Ref ref;
  PyObject* self;

  NodeHandle(Ref node, PyObject* object);
  ~NodeHandle();
  /// Stands for another node of its class from here on.
  void become(Ref node);
  NodeHandle(const NodeHandle&) = delete;
  NodeHandle& operator=(const NodeHandle&) = delete;
};

struct ExprHandle : NodeHandle {
  using NodeHandle::NodeHandle;
};
struct StmtHandle : NodeHandle {
  using NodeHandle::NodeHandle;
};

/// One C++ type for each Python class; they differ by their name alone.
template <class T>
struct Handle : NodeHandle {
  using NodeHandle::NodeHandle;
};

/// What a node class has beside its fields: nothing, but for those below.
template <class T>
void extend(nanobind::class_<Handle<T>>&) {}
void extend(nanobind::class_<Handle<PrimFunc>>& type);
void extend(nanobind::class_<Handle<IRModule>>& type);
void extend(nanobind::class_<Handle<GlobalVar>>& type);
void extend(nanobind::class_<Handle<Buffer>>& type);
void extend(nanobind::class_<Handle<IntImm>>& type);
void extend(nanobind::class_<Handle<IndexMap>>& type);
void extend(nanobind::class_<Handle<Tensor>>& type);
void extend(nanobind::class_<Handle<PlaceholderOp>>& type);
void extend(nanobind::class_<Handle<ComputeOp>>& type);
void extend(nanobind::class_<Handle<ScanOp>>& type);
void extend(nanobind::class_<Handle<ExternOp>>& type);

/// `text` for as long as Python runs: classes and functions keep signatures by their address.
const char* kept(std::string text);

/// The name of the type of a Python value.
std::string type_name_of(nanobind::handle value);

/// The operators of expressions, as slots of a Python type.
PyType_Slot* operator_slots();

/// The class Expr, with its operators.
nanobind::object bind_expr(nanobind::module_& m);

/// Functions that make expressions: one for each element-wise intrinsic, and their like.
void bind_functions(nanobind::module_& m);

/// Functions of whole nodes: equality, hash, well-formedness, JSON.
void bind_structural(nanobind::module_& m);

}  // namespace loopsmith::python
