#include "actors/agent/self_drain.hpp"

#include <algorithm>

#include "actors/core/self.hpp"

namespace nomad::agent {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto look_interval = 1s;
constexpr auto answer_time = 10s;
constexpr auto begin_patience = 10s;
/// The servers say a little after the deadline that it is over.
constexpr auto slack = 5s;

}  // namespace

Result<> drain_own_node(actor::System& system,
                        const NodeDoor& servers,
                        const SelfDrain& drain,
                        const std::function<bool(std::chrono::milliseconds)>& wait) {
  actor::BlockingAsker self{system};
  const auto ask = [&](bool start) {
    Result<bool> draining = false;
    auto order = door::make_ask(drain.node_id, [&](auto& ask) {
      auto order = ask.initDrain();
      order.setStart(start);
      order.setDeadline(drain.deadline.count());
      order.setIgnoreSystemJobs(drain.ignore_system_jobs);
    });
    self.request(servers, answer_time, std::move(order))
        .receive([&](const door::Reply& reply) { draining = reply->getDrain().getDraining(); },
                 [&](const Error& error) { draining = error; });
    return draining;
  };
  const auto began = Clock::now();
  bool has_begun = false;
  for (;;) {
    const auto draining = ask(!has_begun);
    const auto now = Clock::now();
    if (draining && has_begun && !*draining) return {};
    if (!draining && draining.error().code == Errc::not_found) return draining.error();
    if (!draining && !has_begun && now - began > begin_patience) return draining.error();
    has_begun = has_begun || draining.has_value();
    if (drain.deadline != 0s && now - began > std::max<Nanoseconds>(drain.deadline, 0s) + slack)
      return Error{Errc::timeout, "self-drain exceeded deadline"};
    if (!wait(look_interval))
      return Error{Errc::cancelled, "another signal came, which ends the agent at once"};
  }
}

}  // namespace nomad::agent
