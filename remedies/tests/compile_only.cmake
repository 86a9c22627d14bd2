# What compiles and what must not: nothing here runs.

# Every header compiles by itself, and twice included. Four are parts of the one that includes them, which says what they need.
file(GLOB_RECURSE HEADERS CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/*.h
     ${PROJECT_SOURCE_DIR}/include/*.hpp)
list(REMOVE_ITEM HEADERS memtoll/detail/count_malloc.hpp memtoll/detail/count_operator_new.hpp
     memtoll/detail/system_memory_linux.hpp memtoll/detail/system_memory_windows.hpp)
set(HEADER_USERS)
foreach(header IN LISTS HEADERS)
  string(MAKE_C_IDENTIFIER ${header} name)
  set(HEADER_USER ${CMAKE_CURRENT_BINARY_DIR}/headers_alone/${name}.cpp)
  file(CONFIGURE OUTPUT ${HEADER_USER} CONTENT "#include <@header@>\n#include <@header@>\n" @ONLY)
  list(APPEND HEADER_USERS ${HEADER_USER})
endforeach()
set(HEADER_COMPILERS ${CMAKE_CXX_COMPILER})
if(NOT CMAKE_CROSSCOMPILING)
  find_program(CLANG clang++ REQUIRED) # Debian: clang
  list(APPEND HEADER_COMPILERS ${CLANG})
endif()
foreach(compiler IN LISTS HEADER_COMPILERS)
  get_filename_component(name ${compiler} NAME)
  foreach(standard IN ITEMS 17 20)
    add_test(NAME headers_${name}_${standard} COMMAND ${compiler} -std=c++${standard} -fsyntax-only ${WARNINGS} -Wold-style-cast
                                                      -I ${PROJECT_SOURCE_DIR}/include ${HEADER_USERS})
  endforeach()
  add_test(NAME headers_${name}_c COMMAND ${compiler} -x c -std=c99 -fsyntax-only ${WARNINGS}
                                          -I ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_BINARY_DIR}/headers_alone/memtoll_h.cpp)
endforeach()

# Each form of a switch that must not compile, beside one that must: config.cpp is right but for the form.
foreach(form IN ITEMS MEMTOLL_ON MEMTOLL_OFF)
  add_test(NAME switch_${form} COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 -fsyntax-only -D "GAME_TRACING=${form}"
                                       -I ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/config.cpp)
endforeach()
foreach(use IN ITEMS IN_PREPROCESSOR IN_CODE)
  foreach(form IN ITEMS UNDEFINED "GAME_TRACNG=MEMTOLL_ON" "GAME_TRACING=" "GAME_TRACING=0" "GAME_TRACING=1" "GAME_TRACING=true"
                        "GAME_TRACING=ON")
    add_test(NAME "switch_${use}_${form}" COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 -fsyntax-only -D "${form}" -D ${use}
             -I ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/config.cpp)
    set_tests_properties("switch_${use}_${form}" PROPERTIES WILL_FAIL ON)
  endforeach()
endforeach()

# What cannot be formatted without allocating does not compile.
if(NOT CMAKE_CROSSCOMPILING)
  set(i 0)
  foreach(form IN ITEMS "\"{:5} {:.3f} {{}} {}\", 1, 2.0, nullptr" "\"{:{}}\", 1, 2" "\"{:.{}f}\", 1.0, 2" "\"{:L}\", 1" "\"{}\", 1.0L"
                        "\"{}\", L'x'" "\"{}\"" "\"{:d}\", \"text\"" "\"{:<9}\", 1.0" "\"{:.1075f}\", 1.0" "\"{:a}\", 1.0")
    add_test(NAME "format_${i}" COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -D "FORMAT=${form}"
                                        -I ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/format.cpp)
    if(i GREATER 0)
      set_tests_properties("format_${i}" PROPERTIES WILL_FAIL ON)
    endif()
    math(EXPR i "${i} + 1")
  endforeach()
endif()

# Counting where it is switched off does not compile.
foreach(state IN ITEMS ON OFF)
  add_test(NAME count_${state} COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 -fsyntax-only -D MEMTOLL_EXPECTATIONS=MEMTOLL_${state}
                                       -I ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/count.cpp)
endforeach()
set_tests_properties(count_OFF PROPERTIES WILL_FAIL ON)
