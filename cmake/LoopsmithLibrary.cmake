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
  INTERFACE fmt::fmt-header-only Threads::Threads)
target_link_options(loopsmith PRIVATE LINKER:--version-script=${exports} LINKER:-Bsymbolic
                    $<$<CONFIG:Release>:LINKER:--strip-all>)
target_include_directories(loopsmith INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(loopsmith INTERFACE cxx_std_20)

# A wheel holds the extension alone.
if(NOT SKBUILD)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Loopsmith)
  install(TARGETS loopsmith EXPORT LoopsmithTargets)
  install(EXPORT LoopsmithTargets NAMESPACE Loopsmith:: DESTINATION ${package})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/loopsmith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN *.h PATTERN *_test.h EXCLUDE PATTERN testing EXCLUDE)
  configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/LoopsmithConfig.cmake.in ${PROJECT_BINARY_DIR}/LoopsmithConfig.cmake
    INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/LoopsmithConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/LoopsmithConfig.cmake
                ${PROJECT_BINARY_DIR}/LoopsmithConfigVersion.cmake DESTINATION ${package})
endif()
