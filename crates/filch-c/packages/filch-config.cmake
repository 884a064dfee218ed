# The targets filch::filch, the shared library, and filch::static. The folder FILCH_LACE has lace.h, for programs that
# were written for Lace.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

get_filename_component(_filch_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(FILCH_LACE "${_filch_prefix}/include/filch/lace")

if(NOT TARGET filch::filch)
  add_library(filch::filch SHARED IMPORTED)
  set_target_properties(filch::filch PROPERTIES
    IMPORTED_LOCATION "${_filch_prefix}/lib/libfilch_c${CMAKE_SHARED_LIBRARY_SUFFIX}"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${_filch_prefix}/include/filch")
  add_library(filch::static STATIC IMPORTED)
  set_target_properties(filch::static PROPERTIES
    IMPORTED_LOCATION "${_filch_prefix}/lib/libfilch_c.a"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m"
    INTERFACE_INCLUDE_DIRECTORIES "${_filch_prefix}/include/filch")
endif()
