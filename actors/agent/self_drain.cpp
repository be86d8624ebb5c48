#include "actors/agent/self_drain.hpp"

#include <algorithm>

#include "actors/core/self.hpp"

namespace nomad::agent {
namespace {

using namespace std::chrono_literals;
using client::server_link::DrainNode;
using client::server_link::NodeDrain;
using Clock = std::chrono::steady_clock;

constexpr auto look_interval = 1s;
constexpr auto answer_time = 10s;
constexpr auto begin_patience = 10s;
/// The servers say a little after the deadline that it is over.
constexpr auto slack = 5s;

}  // namespace

Result<> drain_own_node(actor::System& system,
                        const client::ServerLink& servers,
                        const SelfDrain& drain,
                        const std::function<bool(std::chrono::milliseconds)>& wait) {
  actor::Outsider self{system};
  const auto ask = [&](bool start) {
    Result<NodeDrain> outcome = NodeDrain{};
    self.request(servers, answer_time,
                 DrainNode{.node_id = drain.node_id,
                           .start = start,
                           .deadline = drain.deadline,
                           .ignore_system_jobs = drain.ignore_system_jobs})
        .receive([&](const NodeDrain& drained) { outcome = drained; },
                 [&](const Error& error) { outcome = error; });
    return outcome;
  };
  const auto began = Clock::now();
  bool has_begun = false;
  for (;;) {
    const auto stands = ask(!has_begun);
    const auto now = Clock::now();
    if (stands && has_begun && !stands->draining) return {};
    if (!stands && stands.error().code == Errc::not_found) return stands.error();
    if (!stands && !has_begun && now - began > begin_patience) return stands.error();
    has_begun = has_begun || stands.has_value();
    if (drain.deadline != 0s && now - began > std::max<Nanoseconds>(drain.deadline, 0s) + slack)
      return Error{Errc::timeout, "self-drain exceeded deadline"};
    if (!wait(look_interval))
      return Error{Errc::cancelled, "another signal came, which ends the agent at once"};
  }
}

}  // namespace nomad::agent
