// ReadOptions: the query parameters that nearly every read takes, with Nomad's rules for what is
// refused and what is passed over; and what ids must look like.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/base/result.hpp"
#include "runtime/net/http/http_message.hpp"
#include "runtime/query/members.hpp"

namespace nomad::api {

struct ReadOptions {
  std::string ns = "default";
  std::string region;  ///< Empty: ours.
  std::string prefix;
  std::string filter;
  query::Members fields;  ///< Ours: of the rows of a list.
  std::int32_t per_page = 0;
  std::string next_token;
  bool reverse = false;
  bool stale = false;
  std::uint64_t min_index = 0;  ///< 0: answer at once.
  std::chrono::nanoseconds wait{std::chrono::minutes{5}};

  bool all_namespaces() const { return ns == "*"; }

  /// Whether an object of `object_ns` is asked for.
  bool wants(std::string_view object_ns) const { return all_namespaces() || object_ns == ns; }
};

/// Errors are `invalid_argument` with Nomad's texts: "Invalid index", "Invalid wait time".
Result<ReadOptions> parse_read_options(const net::Request& request);

/// A parameter that is a Go bool; `absent` when it is not there. The error is
/// `Failed to parse value of "purge" (x) as a bool: …`, which Nomad answers with 500.
Result<bool> bool_parameter(const net::Request& request,
                            std::string_view name,
                            bool absent = false);

/// Checks the `prefix` parameter of a list of UUIDs; the error is "<what> lookup failed: index
/// error: …", without its beginning if `what` is empty. An odd number of digits,
/// which Nomad refuses, is fine.
Result<> check_id_prefix(std::string_view what, const ReadOptions& options);

/// Checks a whole UUID, of a path or a parameter; the error is as that of `check_id_prefix`.
Result<> check_id(std::string_view what, std::string_view id);

}  // namespace nomad::api
