// TemplateSettings: what the client's configuration says of templates. An immutable value, shared.
#pragma once

#include <memory>

#include "runtime/base/duration.hpp"
#include "runtime/template/change/retry_delay.hpp"
#include "runtime/template/functions/library.hpp"
#include "runtime/template/render.hpp"

namespace nomad::client {

struct TemplateSettings {
  templates::Functions functions = templates::task_functions(default_denylist());
  bool file_sandbox = true;  ///< Files outside of the task's directories are refused.
  Nanoseconds block_query_wait = std::chrono::minutes{5};  ///< A question to the servers.
  /// Of templates that say nothing about it.
  Nanoseconds wait_min = std::chrono::seconds{5};
  Nanoseconds wait_max = std::chrono::minutes{4};
  /// For those that do; 0: no bound.
  Nanoseconds wait_bound_min{0};
  Nanoseconds wait_bound_max{0};
  templates::RetryRule retry{.attempts = 0};  ///< Of questions to the servers.

  static std::vector<std::string> default_denylist() {
    return {std::begin(templates::default_function_denylist),
            std::end(templates::default_function_denylist)};
  }
};

}  // namespace nomad::client
