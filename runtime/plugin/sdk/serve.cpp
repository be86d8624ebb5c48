#include "runtime/plugin/sdk/serve.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <capnp/serialize.h>
#include <time.h>

#include "runtime/plugin/sdk/describe.hpp"
#include "runtime/plugin/sdk/session.hpp"

namespace nomad::plugin {
namespace {

constexpr std::size_t greatest_frame = std::size_t{16} << 20;

Nanoseconds monotonic() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds{now.tv_sec} + Nanoseconds{now.tv_nsec};
}

/// What was read and is no whole frame yet, and what the agent has not taken.
class Stream {
public:
  explicit Stream(int socket) : socket_{socket} {}

  void append(capnp::MessageBuilder& frame) {
    const auto words = capnp::messageToFlatArray(frame);
    const auto bytes = words.asBytes();
    const auto size = static_cast<std::uint32_t>(bytes.size());
    output_.append(reinterpret_cast<const char*>(&size), sizeof size);
    output_.append(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  }

  bool has_output() const { return sent_ < output_.size(); }

  Result<> flush() {
    while (has_output()) {
      const auto sent
          = ::send(socket_, output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return tidy();
      if (sent < 0) return errno_error("sending to the agent", errno, Errc::unavailable);
      sent_ += static_cast<std::size_t>(sent);
    }
    return tidy();
  }

  /// False: the agent has hung up.
  Result<bool> read() {
    char part[16 * 1024];
    for (;;) {
      const auto got = ::recv(socket_, part, sizeof part, 0);
      if (got == 0) return false;
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
      if (got < 0) return errno_error("reading from the agent", errno, Errc::unavailable);
      input_.append(part, static_cast<std::size_t>(got));
      if (input_.size() > kept_bytes) return true;
    }
  }

  /// Calls `take` with each whole frame.
  Result<> take_frames(const std::function<Result<>(std::span<const capnp::word>)>& take) {
    std::size_t begin = 0;
    while (input_.size() - begin >= sizeof(std::uint32_t)) {
      std::uint32_t size = 0;
      std::memcpy(&size, input_.data() + begin, sizeof size);
      if (size > greatest_frame || size % sizeof(capnp::word) != 0)
        return Error{Errc::corrupt, "the agent sent no frame"};
      if (input_.size() - begin - sizeof size < size) break;
      auto words = kj::heapArray<capnp::word>(size / sizeof(capnp::word));
      std::memcpy(words.begin(), input_.data() + begin + sizeof size, size);
      begin += sizeof size + size;
      const auto outcome = take({words.begin(), words.size()});
      if (!outcome) return outcome;
    }
    input_.erase(0, begin);
    if (input_.empty() && input_.capacity() > kept_bytes) input_.shrink_to_fit();
    return {};
  }

private:
  static constexpr std::size_t kept_bytes = 64 * 1024;
  static constexpr std::size_t most_sent_kept = std::size_t{1} << 20;

  /// Lets go of what was sent.
  Result<> tidy() {
    if (!has_output() || sent_ > most_sent_kept) output_.erase(0, std::exchange(sent_, 0));
    if (output_.empty() && output_.capacity() > kept_bytes) output_.shrink_to_fit();
    return {};
  }

  int socket_;
  std::string input_;
  std::string output_;
  std::size_t sent_ = 0;  ///< Of the output.
};

int timeout_of(const Session& session) {
  const auto due = session.next_timer();
  if (!due) return -1;
  const auto left
      = std::chrono::ceil<std::chrono::milliseconds>(std::max(*due - monotonic(), Nanoseconds{0}));
  return static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
}

}  // namespace

Result<> serve(const Plugin& plugin, int socket) {
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  Stream stream{socket};
  Session session{plugin, [&stream](capnp::MessageBuilder& frame) { stream.append(frame); }};
  session.begin();
  NOMAD_TRY(stream.flush());
  while (!session.is_over() || stream.has_output()) {
    auto waits = session.watched();
    waits.push_back({socket, static_cast<short>(POLLIN | (stream.has_output() ? POLLOUT : 0)), 0});
    if (::poll(waits.data(), waits.size(), timeout_of(session)) < 0 && errno != EINTR)
      return errno_error("waiting for the agent", errno);
    const auto wait = waits.back();
    waits.pop_back();
    if ((wait.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const auto goes_on = stream.read();
      if (!goes_on) return goes_on.error();
      NOMAD_TRY(stream.take_frames([&session](std::span<const capnp::word> frame) {
        return session.take(frame, monotonic());
      }));
      if (!*goes_on) return {};
    }
    NOMAD_TRY(session.run_ready(waits, monotonic()));
    NOMAD_TRY(session.run_timers(monotonic()));
    NOMAD_TRY(stream.flush());
  }
  return {};
}

}  // namespace nomad::plugin

int nomadctl_plugin_serve(void* describe, int socket, char* why, std::size_t size) {
  return nomad::plugin::serve_described(
      describe, [socket](const auto& plugin) { return nomad::plugin::serve(plugin, socket); }, why,
      size);
}
