// Result<T> and Error: how every expected failure travels in this program.
//
// May be included by everything. An Error is a code for programs, which the HTTP layer maps to
// one status, and a sentence for people that names the object and the rule. Exceptions are for
// bugs: libraries' exceptions are caught where the library is called.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <boost/system/result.hpp>

namespace nomad {

/// Why an operation failed. One meaning, and one HTTP status, per code.
enum class Errc : std::uint8_t {
  invalid_argument = 1,  ///< 400: the caller sent something we cannot accept.
  permission_denied,     ///< 403: the caller lacks the capability.
  not_found,             ///< 404: no such object.
  conflict,              ///< 409: a check-and-set lost, or the state forbids it.
  too_large,             ///< 413: a bound on size, count or depth was exceeded.
  rejected,              ///< 500 where Nomad's clients rely on that status for their own mistakes.
  cancelled,             ///< 500: the caller, or a shutdown, withdrew the work.
  timeout,               ///< 504: no answer in time; the work may still happen.
  unavailable,           ///< 500 "No cluster leader", or the peer is gone; try again later.
  overloaded,            ///< 429: a bounded queue is full; try again later.
  io,                    ///< 500: the operating system refused (disk, socket, process).
  corrupt,               ///< 500: stored or received bytes fail their check.
  internal,              ///< 500: a bug; logged where it happens.
};

/// The code's name as it is written in logs: "not_found".
std::string_view to_string(Errc code);

/// An expected failure.
struct Error {
  Errc code = Errc::internal;
  std::string what;

  friend bool operator==(const Error&, const Error&) = default;

  /// The same failure seen one layer up: "<context>: <what>".
  Error within(std::string_view context) const {
    return {code, std::string{context} + ": " + what};
  }
};

/// Called by `Result::value()` on an error: unwrapping unchecked is a bug.
[[noreturn]] void throw_exception_from_error(const Error& err, const boost::source_location&);

/// Either a value or the `Error` that prevented it.
template <class T = void>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
public:
  using boost::system::result<T, Error>::result;
};

/// An `Error` from `errno`: "<what was tried>: <strerror>". `code` defaults to `io`.
Error errno_error(std::string_view attempt, int error_number, Errc code = Errc::io);

}  // namespace nomad

/// Returns the error of `expression` from the enclosing function, if it has one.
#define NOMAD_TRY(expression)                                                        \
  do {                                                                               \
    if (auto outcome_ = (expression); outcome_.has_error()) return outcome_.error(); \
  } while (false)
