# SPDX-License-Identifier: Apache-2.0

# loopsmith._core: all floors and the bindings in one module that shows nothing but its entry.
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module NumPy)
execute_process(
  COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind REQUIRED CONFIG)

file(GLOB bindings CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bindings/*.cc)
nanobind_add_module(_core NB_STATIC NOMINSIZE NB_DOMAIN loopsmith ${bindings})
get_property(floors GLOBAL PROPERTY LOOPSMITH_FLOORS)
# NumPy's headers alone: its arrays are read where they lie.
target_link_libraries(_core PRIVATE ${floors} Python::NumPy)
target_include_directories(_core PRIVATE ${PROJECT_SOURCE_DIR}/python)
target_compile_options(_core PRIVATE ${LOOPSMITH_WARNINGS})
loopsmith_join_sources(_core)
loopsmith_precompile(_core bindings.h)
if(LOOPSMITH_JOIN_SOURCES)
  set_target_properties(nanobind-static PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endif()
set(exports ${CMAKE_CURRENT_LIST_DIR}/python.exports)
# The unwinder's function for frames of C++ is bindings/end_of_python.cc's.
target_link_options(_core PRIVATE LINKER:--version-script=${exports}
                    LINKER:--wrap=__gxx_personality_v0)
set_target_properties(_core PROPERTIES LINK_DEPENDS ${exports})

if(SKBUILD)
  set(package ${PROJECT_BINARY_DIR}/python)
  install(TARGETS _core DESTINATION loopsmith COMPONENT python)
  install(FILES ${package}/_core.pyi DESTINATION loopsmith COMPONENT python)
else()
  # Beside the Python sources, where the virtual environment finds them.
  set(package ${PROJECT_SOURCE_DIR}/python/loopsmith)
  set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package})
endif()
nanobind_add_stub(_core_stub MODULE _core OUTPUT ${package}/_core.pyi
                  PATTERN_FILE ${PROJECT_SOURCE_DIR}/python/bindings/stub_patterns.txt
                  PYTHON_PATH $<TARGET_FILE_DIR:_core> DEPENDS _core)
