# SPDX-License-Identifier: Apache-2.0

# What every source of ours is compiled with.
set(LOOPSMITH_WARNINGS -Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND LOOPSMITH_WARNINGS -Werror=dangling) # Pointers into temporaries: `support/lifetime.h`.
endif()

# loopsmith_join_sources(target)
#
# Says which C++ sources of a target are compiled as one where LOOPSMITH_JOIN_SOURCES is on: most of the
# time of a small file goes into headers that its neighbours read, too. Those of a folder whose names
# have the same hash go together, so that a new file changes one group and leaves the others as they
# were compiled before.
function(loopsmith_join_sources target)
  if(NOT LOOPSMITH_JOIN_SOURCES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    string(MD5 key ${folder})
    list(APPEND of_${key} ${source})
    list(APPEND keys ${key})
  endforeach()
  list(REMOVE_DUPLICATES keys)
  foreach(key IN LISTS keys)
    list(LENGTH of_${key} count)
    set(groups 1)
    math(EXPR most "12 * ${groups}")
    while(count GREATER most)
      math(EXPR groups "2 * ${groups}")
      math(EXPR most "2 * ${most}")
    endwhile()
    foreach(source IN LISTS of_${key})
      cmake_path(GET source FILENAME name)
      string(MD5 hash ${name})
      string(SUBSTRING ${hash} 0 4 hash)
      math(EXPR group "0x${hash} % ${groups}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${key}_${group})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# loopsmith_precompile(target header)
#
# Lets the sources of a target read the headers of others that `header` lists, compiled once: the
# first target of a header makes it, and others with the same options use that. They make a third of
# the time of a source; ours are not among them, so a change of ours compiles what includes it, and
# no more. GCC's alone, and not where sources are joined: what joined units save, another build folder
# loses, whose objects the compiler cache then does not have.
function(loopsmith_precompile target header)
  if(NOT LOOPSMITH_PRECOMPILE_HEADERS OR LOOPSMITH_JOIN_SOURCES
     OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  get_property(maker GLOBAL PROPERTY LOOPSMITH_MAKER_OF_${header})
  if(maker)
    target_precompile_headers(${target} REUSE_FROM ${maker})
  else()
    set_property(GLOBAL PROPERTY LOOPSMITH_MAKER_OF_${header} ${target})
    target_precompile_headers(
      ${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/precompiled/${header}>)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.c$")
  set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  # So that the compiler cache can tell what was read.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endfunction()

# loopsmith_include_all(source patterns... [EXCEPT patterns...])
#
# Makes all.h for a source with a table: it stands in the folder of the first pattern, under loopsmith/, and
# includes the headers that match. So what the table lists needs no include of its own beside its row.
# tools/check_includes.py reads these lines.
function(loopsmith_include_all source first)
  cmake_parse_arguments(PARSE_ARGV 1 all "" "" "EXCEPT")
  cmake_path(GET first PARENT_PATH folder)
  list(TRANSFORM all_UNPARSED_ARGUMENTS PREPEND ${PROJECT_SOURCE_DIR}/loopsmith/)
  file(GLOB headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${all_UNPARSED_ARGUMENTS})
  if(all_EXCEPT)
    list(TRANSFORM all_EXCEPT PREPEND ${PROJECT_SOURCE_DIR}/loopsmith/)
    file(GLOB exceptions RELATIVE ${PROJECT_SOURCE_DIR} ${all_EXCEPT})
    list(REMOVE_ITEM headers ${exceptions})
  endif()
  list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"")
  list(JOIN headers "\n" includes)
  set(made ${PROJECT_BINARY_DIR}/headers)
  file(CONFIGURE OUTPUT ${made}/loopsmith/${folder}/all.h CONTENT "#pragma once\n${includes}\n")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/loopsmith/${source} PROPERTIES INCLUDE_DIRECTORIES ${made})
endfunction()

# loopsmith_add_tests(name sources...)
#
# Makes the tests of <name>_test known to ctest: each by itself, or, with LOOPSMITH_TEST_SHARDS, all in some
# processes, one for every six sources.
function(loopsmith_add_tests name)
  if(NOT LOOPSMITH_TEST_SHARDS)
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60)
    return()
  endif()
  list(LENGTH ARGN sources)
  math(EXPR shards "(${sources} + 5) / 6")
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    set(test ${name}.${shard}_of_${shards})
    add_test(NAME ${test} COMMAND ${name}_test --gtest_brief=1)
    set_tests_properties(
      ${test} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# loopsmith_floor(name LINK floors... [LIBRARIES libraries...] [TEST_WITH floors...])
#
# Makes the library loopsmith_<name> of all sources in loopsmith/<name>, and the test <name>_test of
# all *_test.cc beside them. What tests share stands in testing/ and is the library
# loopsmith_<name>_testing; TEST_WITH names the floors below whose testing/ the tests use, too. The
# link list is the layer rule: a floor sees those that it links, through others too, and no other.
function(loopsmith_floor name)
  cmake_parse_arguments(PARSE_ARGV 1 floor "" "" "LINK;LIBRARIES;TEST_WITH")
  set(folder ${PROJECT_SOURCE_DIR}/loopsmith/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc ${folder}/*.c)
  # What exported kernels have instead of ours.
  list(FILTER sources EXCLUDE REGEX "_test\\.c$|/standalone/")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/testing/")
  set(shared_by_tests ${tests})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER shared_by_tests INCLUDE REGEX "/testing/")
  list(FILTER shared_by_tests EXCLUDE REGEX "_test\\.cc$")
  file(GLOB_RECURSE c_tests CONFIGURE_DEPENDS ${folder}/*_test.c)

  set(links ${floor_LIBRARIES})
  foreach(link IN LISTS floor_LINK)
    if(TARGET loopsmith_${link})
      list(APPEND links loopsmith_${link})
    else()
      list(APPEND links ${link})
    endif()
  endforeach()

  if(sources)
    add_library(loopsmith_${name} STATIC ${sources})
    target_link_libraries(loopsmith_${name} PUBLIC ${links})
    target_include_directories(
      loopsmith_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                               $<INSTALL_INTERFACE:include>)
    target_compile_features(loopsmith_${name} PUBLIC cxx_std_20)
    target_compile_options(loopsmith_${name} PRIVATE ${LOOPSMITH_WARNINGS})
    loopsmith_join_sources(loopsmith_${name})
    loopsmith_precompile(loopsmith_${name} standard.h)
  else()
    add_library(loopsmith_${name} INTERFACE)
    target_link_libraries(loopsmith_${name} INTERFACE ${links})
  endif()
  set_property(GLOBAL APPEND PROPERTY LOOPSMITH_FLOORS loopsmith_${name})

  if(LOOPSMITH_BUILD_TESTS AND tests)
    if(shared_by_tests)
      add_library(loopsmith_${name}_testing STATIC ${shared_by_tests})
      target_link_libraries(loopsmith_${name}_testing PUBLIC loopsmith_${name})
      target_compile_options(loopsmith_${name}_testing PRIVATE ${LOOPSMITH_WARNINGS})
      loopsmith_join_sources(loopsmith_${name}_testing)
      loopsmith_precompile(loopsmith_${name}_testing standard.h)
      foreach(shared IN LISTS floor_TEST_WITH)
        target_link_libraries(loopsmith_${name}_testing PUBLIC loopsmith_${shared}_testing)
      endforeach()
    endif()
    add_executable(${name}_test ${tests} ${c_tests})
    loopsmith_join_sources(${name}_test)
    foreach(shared IN LISTS name floor_TEST_WITH)
      if(TARGET loopsmith_${shared}_testing)
        target_link_libraries(${name}_test PRIVATE loopsmith_${shared}_testing)
      endif()
    endforeach()
    target_link_libraries(${name}_test PRIVATE loopsmith_${name} GTest::gtest_main)
    target_compile_options(
      ${name}_test PRIVATE ${LOOPSMITH_WARNINGS} $<$<COMPILE_LANGUAGE:C>:-std=c99 -pedantic-errors>)
    # Twice as quick to compile, and quick enough to run.
    target_compile_options(
      ${name}_test PRIVATE $<$<CONFIG:Release>:-O1> ${LOOPSMITH_TEST_OPTIONS})
    loopsmith_precompile(${name}_test tests.h)
    loopsmith_add_tests(${name} ${tests})
  endif()
endfunction()
