#include "runtime/base/result.hpp"

#include <system_error>

#include "runtime/base/name_table.hpp"

namespace nomad {

std::string_view to_string(Errc code) {
  static constexpr std::string_view names[] = {
      "invalid_argument", "permission_denied", "not_found",   "conflict",   "too_large", "rejected",
      "cancelled",        "timeout",           "unavailable", "overloaded", "io",        "corrupt",
      "internal",         "no_leader"};
  static_assert(std::size(names) == static_cast<std::size_t>(last_errc));
  return name_in<1>(names, code, "unknown");
}

namespace detail {

const Error no_error;

void unwrapped(const Error& err) {
  throw std::logic_error("unchecked result: " + err.what);
}

}  // namespace detail

Error errno_error(std::string_view attempt, int error_number, Errc code) {
  return {code, std::string{attempt} + ": " + std::generic_category().message(error_number)};
}

}  // namespace nomad
