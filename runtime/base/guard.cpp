#include "runtime/base/guard.hpp"

#include "runtime/base/log.hpp"

namespace nomad {

Error thrown_now() {
  try {
    throw;
  } catch (const std::exception& err) {
    return {Errc::internal, err.what()};
  } catch (...) {
    return {Errc::internal, "something was thrown that is no std::exception"};
  }
}

namespace detail {

void log_thrown(std::string_view component) {
  log::error(component, "an exception was thrown", {{"error", thrown_now()}});
}

}  // namespace detail
}  // namespace nomad
