// CurlLibrary: libcurl, loaded with the first probe. Linking it would bring 25 further libraries, 6
// MB and several milliseconds to every start of the agent and of each command, most of which never
// probe anything.
#pragma once

#define CURL_DISABLE_TYPECHECK  // the macros of that name would hide the members below
#include <curl/curl.h>

#include "runtime/base/result.hpp"

namespace nomad::probe {

struct CurlLibrary {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_free) free = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_reset) easy_reset = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_multi_init) multi_init = nullptr;
  decltype(&::curl_multi_setopt) multi_setopt = nullptr;
  decltype(&::curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&::curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&::curl_multi_socket_action) multi_socket_action = nullptr;
  decltype(&::curl_multi_info_read) multi_info_read = nullptr;
  decltype(&::curl_multi_strerror) multi_strerror = nullptr;
  decltype(&::curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&::curl_url) url = nullptr;
  decltype(&::curl_url_get) url_get = nullptr;
  decltype(&::curl_url_set) url_set = nullptr;
  decltype(&::curl_url_cleanup) url_cleanup = nullptr;
};

/// Loads it, once in a process; thread-safe. `unavailable` says what is missing; what is asked
/// later is answered the same.
const Result<CurlLibrary>& load_curl();

/// What `load_curl` gave, after it gave something.
const CurlLibrary& curl();

}  // namespace nomad::probe
