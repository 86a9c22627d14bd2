# Compiles registers.cpp to assembler, and looks whether hold() keeps what the copy would destroy on the stack.
#   cmake -D COMPILER=g++ -D INCLUDE=... -D LEVEL=-O3 -P look.cmake
execute_process(COMMAND ${COMPILER} -std=c++17 ${LEVEL} -I ${INCLUDE} -S -o - ${CMAKE_CURRENT_LIST_DIR}/registers.cpp
                OUTPUT_VARIABLE assembler COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE ".*\nhold:" "" hold "${assembler}")
string(REGEX REPLACE "\\.cfi_endproc.*" "" hold "${hold}")
string(REGEX MATCHALL "zmm[0-9]+, [-0-9]*\\(%r[sb]p\\)" vectors "${hold}")
string(REGEX MATCHALL "(kmov[a-z]+[ \t]+%k[0-7], |mov[a-z]*[ \t]+%r[a-z0-9]+, )[-0-9]*\\(%r[sb]p\\)" masks "${hold}")
list(LENGTH vectors vector_count)
list(LENGTH masks mask_count)
message("${COMPILER} ${LEVEL}: on the stack: ${vector_count} vectors, ${mask_count} masks")
if(vector_count LESS 2 OR mask_count LESS 2)
  message(FATAL_ERROR "registers that copy_masked() changes are not kept")
endif()
