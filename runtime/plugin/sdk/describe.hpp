// Has a plugin described by its library's function, and serves it. Internal to the SDK.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

#include "runtime/plugin/sdk/serve.hpp"

namespace nomad::plugin {

/// 0, or one of the codes of serve.hpp with the reason in `why`.
template <class Serve>
int serve_described(void* describe, const Serve& serve, char* why, std::size_t size) {
  const auto fail = [why, size](int code, const std::string& reason) {
    std::snprintf(why, size, "%s", reason.c_str());
    return code;
  };
  Plugin plugin;
  try {
    reinterpret_cast<void (*)(Plugin&)>(describe)(plugin);
  } catch (const std::exception& thrown) {
    return fail(exit_not_loaded, std::string{"describing itself it threw: "} + thrown.what());
  } catch (...) {
    return fail(exit_not_loaded, "describing itself it threw");
  }
  const Result<> outcome = serve(plugin);
  return outcome ? 0 : fail(exit_failed, outcome.error().what);
}

}  // namespace nomad::plugin
