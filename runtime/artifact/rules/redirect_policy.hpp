// RedirectPolicy: whether an answer's Location is followed, and what the next request may carry.
//
// Headers of a job and credentials are for the origin that the job names. A redirect to another
// origin (another scheme, host or port) leaves them behind for good: coming back does not bring
// them back. (Nomad passes headers of the job on to whoever a server names.)
#pragma once

#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/text/url.hpp"

namespace nomad::artifact {

class RedirectPolicy {
public:
  static constexpr int most = 10;  ///< As in Go.

  explicit RedirectPolicy(Url first) : here_{std::move(first)} {}

  /// Where to ask now.
  const Url& here() const { return here_; }

  /// Whether the job's headers and credentials go with a request to `here`.
  bool carries_secrets() const { return carries_secrets_; }

  /// Goes on to where an answer of `status` leads. `rejected` after too many, for a Location that
  /// is missing or no URL, and for schemes other than http and https.
  Result<> follow(int status, std::string_view location);

  static bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  }

private:
  Url here_;
  int followed_ = 0;
  bool carries_secrets_ = true;
};

}  // namespace nomad::artifact
