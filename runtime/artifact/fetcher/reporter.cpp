#include "runtime/artifact/fetcher/reporter.hpp"

#include <sys/socket.h>
#include <unistd.h>

namespace nomad::artifact {

void Reporter::received(std::uint64_t bytes) {
  received_ += bytes;
  const auto now = std::chrono::steady_clock::now();
  if (now - told_ < std::chrono::seconds{1}) return;
  told_ = now;
  send(FetchProgress{received_, expected_});
}

void Reporter::finish(const Result<FetchDone>& outcome) const {
  if (!outcome) return send(FetchFailed{outcome.error().what});
  auto done = *outcome;
  done.bytes = received_;
  send(done);
}

void Reporter::send(const FetchReport& report) const {
  const auto bytes = write_report(report);
  for (;;) {
    if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0) return;
    if (errno != EINTR) ::_exit(1);
  }
}

}  // namespace nomad::artifact
