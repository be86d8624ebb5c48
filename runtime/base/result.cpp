#include "runtime/base/result.hpp"

#include <system_error>

namespace nomad {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::invalid_argument:
      return "invalid_argument";
    case Errc::permission_denied:
      return "permission_denied";
    case Errc::not_found:
      return "not_found";
    case Errc::conflict:
      return "conflict";
    case Errc::too_large:
      return "too_large";
    case Errc::rejected:
      return "rejected";
    case Errc::cancelled:
      return "cancelled";
    case Errc::timeout:
      return "timeout";
    case Errc::unavailable:
      return "unavailable";
    case Errc::overloaded:
      return "overloaded";
    case Errc::io:
      return "io";
    case Errc::corrupt:
      return "corrupt";
    case Errc::internal:
      return "internal";
    case Errc::no_leader:
      return "no_leader";
  }
  return "unknown";
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
