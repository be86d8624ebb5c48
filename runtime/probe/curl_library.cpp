#include "runtime/probe/curl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace nomad::probe {
namespace {

constexpr auto file_name = "libcurl.so.4";

template <class Function>
bool find(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

Result<CurlLibrary> load() {
  void* const library = ::dlopen(file_name, RTLD_NOW | RTLD_LOCAL);  // never closed
  if (library == nullptr)
    return Error{Errc::unavailable,
                 fmt::format("checks need libcurl, which can't be loaded ({}); install libcurl4",
                             ::dlerror())};
  CurlLibrary found;
  const bool complete = find(library, found.global_init, "curl_global_init")
                        && find(library, found.free, "curl_free")
                        && find(library, found.slist_append, "curl_slist_append")
                        && find(library, found.slist_free_all, "curl_slist_free_all")
                        && find(library, found.easy_init, "curl_easy_init")
                        && find(library, found.easy_setopt, "curl_easy_setopt")
                        && find(library, found.easy_getinfo, "curl_easy_getinfo")
                        && find(library, found.easy_reset, "curl_easy_reset")
                        && find(library, found.easy_cleanup, "curl_easy_cleanup")
                        && find(library, found.easy_strerror, "curl_easy_strerror")
                        && find(library, found.multi_init, "curl_multi_init")
                        && find(library, found.multi_setopt, "curl_multi_setopt")
                        && find(library, found.multi_add_handle, "curl_multi_add_handle")
                        && find(library, found.multi_remove_handle, "curl_multi_remove_handle")
                        && find(library, found.multi_socket_action, "curl_multi_socket_action")
                        && find(library, found.multi_info_read, "curl_multi_info_read")
                        && find(library, found.multi_strerror, "curl_multi_strerror")
                        && find(library, found.multi_cleanup, "curl_multi_cleanup")
                        && find(library, found.url, "curl_url")
                        && find(library, found.url_get, "curl_url_get")
                        && find(library, found.url_set, "curl_url_set")
                        && find(library, found.url_cleanup, "curl_url_cleanup");
  if (!complete || found.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return Error{Errc::unavailable,
                 fmt::format("checks need another release of libcurl than this {}", file_name)};
  return found;
}

}  // namespace

const Result<CurlLibrary>& load_curl() {
  static const Result<CurlLibrary> library = load();
  return library;
}

const CurlLibrary& curl() {
  return *load_curl();
}

}  // namespace nomad::probe
