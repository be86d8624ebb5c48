// Serves a plugin on a thread of an agent, by a Channel.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

#include <poll.h>

#include <capnp/serialize.h>
#include <time.h>

#include "runtime/plugin/sdk/describe.hpp"
#include "runtime/plugin/sdk/serve.hpp"
#include "runtime/plugin/sdk/session.hpp"

namespace nomad::plugin {
namespace {

/// So many frames are taken before descriptors and timers have their turn.
constexpr int most_in_a_row = 64;

/// So long a thread looks for news before it sleeps, for to be woken costs more.
constexpr Nanoseconds looks_for = std::chrono::microseconds{20};

Nanoseconds time_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds{now.tv_sec} + Nanoseconds{now.tv_nsec};
}

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

class ChannelServer {
public:
  ChannelServer(const Plugin& plugin, const Channel& agent)
      : agent_{agent}, session_{plugin, [this](capnp::MessageBuilder& frame) { tell(frame); }} {}

  Result<> run() {
    session_.begin();
    for (;;) {
      NOMAD_TRY(turn());
      if (agent_.is_over(agent_.agent) || (session_.is_over() && untaken_.empty())) return {};
      if (!agent_.has_news(agent_.agent)) NOMAD_TRY(rest());
    }
  }

private:
  void tell(capnp::MessageBuilder& frame) {
    auto words = capnp::messageToFlatArray(frame);
    if (!untaken_.empty() || !give(words)) untaken_.push_back(std::move(words));
  }

  bool give(const kj::Array<capnp::word>& words) const {
    return agent_.tell(agent_.agent, words.begin(), words.size() * sizeof(capnp::word));
  }

  /// What there is to do now.
  Result<> turn() {
    while (!untaken_.empty() && give(untaken_.front()))
      untaken_.pop_front();
    std::size_t bytes = 0;
    for (int taken = 0; taken < most_in_a_row; ++taken) {
      const auto* const frame = agent_.next(agent_.agent, &bytes);
      if (frame == nullptr) break;
      auto words = kj::heapArray<capnp::word>(bytes / sizeof(capnp::word));
      std::memcpy(words.begin(), frame, words.size() * sizeof(capnp::word));
      NOMAD_TRY(session_.take({words.begin(), words.size()}, time_now()));
    }
    auto waits = session_.watched();
    if (!waits.empty()) {
      ::poll(waits.data(), waits.size(), 0);
      NOMAD_TRY(session_.run_ready(waits, time_now()));
    }
    if (const auto due = session_.next_timer(); due && *due <= time_now())
      NOMAD_TRY(session_.run_timers(time_now()));
    return {};
  }

  /// Until there is something to do.
  Result<> rest() {
    for (const auto end = time_now() + looks_for; time_now() < end;)
      for (int looks = 0; looks < 32; ++looks) {
        if (agent_.has_news(agent_.agent)) return {};
        pause_briefly();
      }
    if (!agent_.may_wait(agent_.agent)) return {};
    auto waits = session_.watched();
    waits.push_back({agent_.wake, POLLIN, 0});
    const auto outcome = ::poll(waits.data(), waits.size(), patience());
    const auto problem = errno;
    agent_.woke(agent_.agent);
    if (outcome < 0 && problem != EINTR) return errno_error("waiting for the agent", problem);
    return {};
  }

  int patience() const {
    const auto due = session_.next_timer();
    if (!due) return -1;
    const auto left
        = std::chrono::ceil<std::chrono::milliseconds>(std::max(*due - time_now(), Nanoseconds{0}));
    return static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
  }

  const Channel& agent_;
  std::deque<kj::Array<capnp::word>> untaken_;  ///< That the agent has not taken yet.
  Session session_;
};

}  // namespace

Result<> serve(const Plugin& plugin, const Channel& agent) {
  return ChannelServer{plugin, agent}.run();
}

}  // namespace nomad::plugin

int nomadctl_plugin_serve_channel(void* describe,
                                  const nomad::plugin::Channel* agent,
                                  char* why,
                                  std::size_t size) {
  return nomad::plugin::serve_described(
      describe, [agent](const auto& plugin) { return nomad::plugin::serve(plugin, *agent); }, why,
      size);
}
