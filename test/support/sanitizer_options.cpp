// Where sanitizers write what they find, linked into every program of a build that has them. A file
// each, for most programs have no standard error that anybody reads: executors, what runs plugins
// and agents of tests, whose logs are removed when the test passes. By the program itself, for they
// are started without the environment. What ASAN_OPTIONS and the like say goes before.
//
// Compiled when the build is configured, with SANITIZER_REPORTS: the start of the files' names.
#include <sys/prctl.h>

#include <dlfcn.h>

#define TO_FILES "log_exe_name=1:log_path=\"" SANITIZER_REPORTS "\""

extern "C" {

__attribute__((visibility("default"))) const char* __asan_default_options() {
  return TO_FILES;
}

__attribute__((visibility("default"))) const char* __ubsan_default_options() {
  return "print_stacktrace=1:" TO_FILES;
}

__attribute__((visibility("default"))) const char* __tsan_default_options() {
  return TO_FILES;
}

/// A confined process may neither be stopped, to be looked at, nor open a file; the end of the
/// check would be waited for without end.
__attribute__((visibility("default"))) int __lsan_is_turned_off() {
  return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0 ? 1 : 0;
}

/// Beside ASan, UBSan's library reads its options, but not this one.
__attribute__((constructor)) static void let_ubsan_write_to_files() {
  void* const ubsan = ::dlopen("libubsan.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (ubsan == nullptr) return;
  if (void* const set = ::dlsym(ubsan, "__sanitizer_set_report_path"))
    reinterpret_cast<void (*)(const char*)>(set)(SANITIZER_REPORTS
                                                 "-ubsan");  // not one file with ASan
  ::dlclose(ubsan);
}

}  // extern "C"
