// Transfers by HTTP (libcurl): one GET after the other, redirects followed by RedirectPolicy.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/artifact/fetcher/reporter.hpp"
#include "runtime/artifact/rules/reach.hpp"
#include "runtime/artifact/rules/s3.hpp"
#include "runtime/base/result.hpp"
#include "runtime/text/url.hpp"

namespace nomad::artifact {

/// Takes bytes as they come.
using Sink = std::function<Result<>(std::string_view)>;

struct Request {
  Url url;            ///< Its user and password are used, and are not shown.
  Headers headers{};  ///< For the origin of `url` alone.
  std::chrono::steady_clock::time_point deadline;
  std::uint64_t max_bytes = 0;  ///< 0: any number.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds{30};
  const char* method = "GET";
  bool counts = true;  ///< What comes is part of the artifact: it is told as progress.
  /// Where the agent's configuration says, and no job: any address is reached.
  bool is_operators = false;
  bool insecure = false;  ///< Whoever answers is believed, whatever certificate he shows.
};

struct Answer {
  int status = 0;
  std::string error_body{};  ///< The beginning of what a failure said.
  Url url{};                 ///< Whose answer it is, after redirects.

  bool is_success() const { return status == 200; }
};

class Transfers {
public:
  Transfers(const ReachJudge& judge, Reporter& reporter);
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers();

  /// The body of a 200 goes to `sink`. Any other status is an answer, too. Errors: `timeout` after
  /// the deadline, and when nothing has come for five minutes; `too_large`; `rejected` for a
  /// redirect that is not followed, and for an address that the judge refuses; `unavailable` for
  /// everything else that the network does.
  Result<Answer> get(const Request& request, const Sink& sink);

  /// A body of no more than 1 MiB as a text. `answer` is set when there is one, of any status.
  Result<std::string> get_text(Request request, Answer* answer = nullptr);

private:
  struct Call;

  Result<Answer> get_once(const Request& request,
                          const Url& url,
                          bool with_secrets,
                          const Sink& sink,
                          std::string& location);

  const ReachJudge& judge_;
  Reporter& reporter_;
  void* curl_;
};

/// "bad response code: 404 (…what the server said…)" of an answer.
Error bad_response(const Answer& answer);

}  // namespace nomad::artifact
