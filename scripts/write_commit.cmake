cmake_minimum_required(VERSION 3.25)
# Writes HEADER, which names the commit of the sources in SOURCE; leaves it alone where that is still the same.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=7 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define STICTION_COMMIT \"@commit@\"\n" @ONLY)
