// The curl command that sends what `operator api` would send. A secret that the user has not typed
// himself is named by its environment variable, so that what is printed can be shown to others.
#pragma once

#include <string>
#include <vector>

#include "cli/api.hpp"

namespace nomad::cli {

struct CurlRequest {
  std::string method = "GET";
  std::string target;                ///< Path and query, escaped.
  std::vector<std::string> headers;  ///< "name: value", as the user typed them.
  bool has_body = false;             ///< Of what comes on stdin.
  bool verbose = false;
  bool is_token_typed = false;  ///< Rather than read from NOMAD_TOKEN.
};

/// Several lines for a POSIX shell, without a line break at the end. Errors are those of an address
/// that is none. Pure.
Result<std::string> curl_command(const CommonFlags& flags, const CurlRequest& request);

}  // namespace nomad::cli
