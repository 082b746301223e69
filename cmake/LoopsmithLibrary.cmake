# SPDX-License-Identifier: Apache-2.0

# libloopsmith.so: all floors, and the CMake package that other projects find.
#
# The version script decides what it shows: the names of namespace loopsmith and the C ABI, nothing
# of LLVM, fmt or the standard library.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(floors GLOBAL PROPERTY LOOPSMITH_FLOORS)
set(objects)
foreach(floor IN LISTS floors)
  get_target_property(type ${floor} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:${floor}>)
  endif()
endforeach()

set(exports ${CMAKE_CURRENT_LIST_DIR}/loopsmith.exports)
add_library(loopsmith SHARED ${objects})
add_library(Loopsmith::loopsmith ALIAS loopsmith)
set_target_properties(
  loopsmith PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${exports} VERSION ${PROJECT_VERSION}
                       SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_libraries(
  loopsmith
  PRIVATE ${floors}
  INTERFACE Threads::Threads)
target_link_options(loopsmith PRIVATE LINKER:--version-script=${exports} LINKER:-Bsymbolic
                    $<$<CONFIG:Release>:LINKER:--strip-all>)
target_include_directories(loopsmith INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(loopsmith INTERFACE cxx_std_20)

# What loopsmith.h includes, all of it: the headers of users.
set(public_headers
    driver/build.h driver/schedule.h driver/schedule_arguments.h driver/schedule_methods.h
    ir/buffer.h ir/data_type.h ir/expr.h ir/function.h ir/node.h ir/op.h ir/operators.h ir/ref.h
    ir/reflect.h ir/script_text.h ir/stmt.h ir/target.h ir/tensor.h loopsmith.h runtime/argument.h
    runtime/c_abi.h runtime/dlpack.h runtime/dtype.h runtime/host_function.h runtime/module.h
    runtime/ndarray.h runtime/runtime_options.h runtime/signature.h runtime/timing.h
    schedule/argument.h schedule/handles.h schedule/size_condition.h schedule/split_factor.h
    support/lifetime.h support/span.h support/user_error.h te/compute.h te/create_prim_func.h te/extern.h te/gradient.h
    te/reduce.h te/scan.h te/schedule.h te/te.h te/tensor.h te/tensor_intrin.h te/tensor_operators.h
    transform/pass_record.h tune/model/learned_model.h tune/records/records.h tune/results/best.h
    tune/search/search_options.h tune/search/strategy.h tune/sizes/size_choice.h tune/sizes/size_tree.h tune/sizes/sizes.h
    tune/spaces/numerics.h tune/tuner.h)

# A wheel holds the extension alone.
if(NOT SKBUILD)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Loopsmith)
  install(TARGETS loopsmith EXPORT LoopsmithTargets)
  install(EXPORT LoopsmithTargets NAMESPACE Loopsmith:: DESTINATION ${package})
  foreach(header IN LISTS public_headers)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${PROJECT_SOURCE_DIR}/loopsmith/${header}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/loopsmith/${folder})
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES.md
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/loopsmith)
  file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/loopsmith.pc.in ${PROJECT_BINARY_DIR}/loopsmith.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/loopsmith.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/LoopsmithConfig.cmake.in ${PROJECT_BINARY_DIR}/LoopsmithConfig.cmake
    INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/LoopsmithConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/LoopsmithConfig.cmake
                ${PROJECT_BINARY_DIR}/LoopsmithConfigVersion.cmake DESTINATION ${package})
endif()
