# SPDX-License-Identifier: Apache-2.0

# loopsmith_isl: isl with imath for big integers, static, with hidden symbols. The sources are those
# that tools/fetch_isl.py keeps in the user's cache, or stand in LOOPSMITH_ISL_SOURCES.
set(LOOPSMITH_ISL_SOURCES "" CACHE PATH "Folder with isl/ and isl-supplementary/ of islpy's source package")
set(isl_folder ${LOOPSMITH_ISL_SOURCES})
if(NOT isl_folder)
  # Any Python reads the cache; to fill it takes one with pip.
  find_program(LOOPSMITH_PYTHON3 NAMES python3 REQUIRED)
  foreach(python ${PROJECT_SOURCE_DIR}/.venv/bin/python ${Python_EXECUTABLE} ${LOOPSMITH_PYTHON3})
    if(EXISTS ${python} AND NOT isl_folder)
      execute_process(
        COMMAND ${python} ${PROJECT_SOURCE_DIR}/tools/fetch_isl.py
        OUTPUT_VARIABLE isl_folder
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
  endforeach()
endif()
if(NOT EXISTS ${isl_folder}/isl/isl_map.c)
  message(FATAL_ERROR "The sources of isl are missing: run tools/setup.sh, or set LOOPSMITH_ISL_SOURCES")
endif()

# What we call, and what that needs.
set(isl_files
    basis_reduction_tab bset_from_bmap bset_to_bmap dep isl_aff isl_aff_map isl_affine_hull isl_arg
    isl_ast isl_ast_build isl_ast_build_expr isl_bernstein isl_blk isl_bound isl_coalesce
    isl_constraint isl_convex_hull isl_ctx isl_dim_map isl_equalities isl_factorization isl_farkas
    isl_ffs isl_fold isl_hash isl_id isl_id_to_ast_expr isl_id_to_id isl_ilp isl_imath isl_input
    isl_int_sioimath isl_local isl_local_space isl_lp isl_map isl_map_list isl_map_simplify
    isl_map_subtract isl_mat isl_morph isl_obj isl_options isl_output isl_point isl_polynomial
    isl_printer isl_range isl_reordering isl_sample isl_scan isl_schedule isl_schedule_band
    isl_schedule_node isl_schedule_read isl_schedule_tree isl_seq isl_set_list isl_sort isl_space
    isl_stream isl_stride isl_tab isl_tab_pip isl_tarjan isl_union_map isl_val isl_val_sioimath
    isl_vec isl_version isl_vertices print set_from_map set_list_from_map_list_inl set_to_map
    uset_from_umap uset_to_umap imath/gmp_compat imath/imath imath/imrat)
list(TRANSFORM isl_files REPLACE "(.+)" "${isl_folder}/isl/\\1.c")

add_library(loopsmith_isl STATIC ${isl_files})
target_include_directories(
  loopsmith_isl PRIVATE ${isl_folder}/isl-supplementary ${isl_folder}/isl/include ${isl_folder}/isl
                        ${isl_folder}/isl/imath)
target_compile_definitions(
  loopsmith_isl PRIVATE USE_IMATH_FOR_MP=1 USE_SMALL_INT_OPT=1 "GIT_HEAD_ID=\"0.28\"")
# Optimised in every configuration: it is no code of ours to debug, and tests call it a lot.
target_compile_options(loopsmith_isl PRIVATE -O2 -w)
set_target_properties(loopsmith_isl PROPERTIES C_VISIBILITY_PRESET hidden C_STANDARD 99)

# Only the files that speak to isl see its headers, and only the linker knows the library.
set_source_files_properties(
  ${PROJECT_SOURCE_DIR}/loopsmith/arith/dependence/affine_sets.cc
  ${PROJECT_SOURCE_DIR}/loopsmith/arith/dependence/polyhedra.cc
  ${PROJECT_SOURCE_DIR}/loopsmith/arith/dependence/coherence.cc
  ${PROJECT_SOURCE_DIR}/loopsmith/arith/dependence/preservation.cc
  ${PROJECT_SOURCE_DIR}/loopsmith/arith/dependence/version_checker.cc
  PROPERTIES INCLUDE_DIRECTORIES "${isl_folder}/isl-supplementary;${isl_folder}/isl/include")
target_link_libraries(loopsmith_arith PRIVATE loopsmith_isl)
