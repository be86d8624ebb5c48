#include "actors/nodesim/meter.hpp"

#include <algorithm>
#include <utility>

#include "actors/core/supervise.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::nodesim {
namespace {

namespace link = client::server_link;
using client::ServerLink;

/// Hands `msg` on; `noted` sees the answer before the asker does.
template <class Reply, class Message, class Noted>
actor::Answer<Reply> hand_on(ServerLink::pointer self,
                             const ServerLink& to,
                             const std::shared_ptr<Meter>& meter,
                             const Message& msg,
                             Noted noted) {
  auto promise = self->make_response_promise<Reply>();
  self->request(to, actor::infinite, msg)
      .then(
          [promise, noted](const Reply& reply) mutable {
            noted(reply);
            promise.deliver(reply);
          },
          [promise, meter](const Error& err) mutable {
            meter->failed();
            promise.deliver(err);
          });
  return promise;
}

ServerLink::behavior_type metered_link(ServerLink::pointer self,
                                       const ServerLink& to,
                                       const std::shared_ptr<Meter>& meter) {
  return {
      [self, to, meter](const link::RegisterNode& msg) {
        return hand_on<link::Registered>(
            self, to, meter, msg, [meter, id = copy(msg.node->getId())](const link::Registered&) {
              meter->registered(id);
            });
      },
      [self, to, meter](const link::Heartbeat& msg) {
        const auto asked = std::chrono::steady_clock::now();
        return hand_on<link::Lease>(self, to, meter, msg, [meter, asked](const link::Lease& lease) {
          meter->beaten(std::chrono::steady_clock::now() - asked, lease.awaits_reports);
        });
      },
      [self, to, meter](const link::WatchAllocs& msg) {
        return hand_on<link::AssignedAllocs>(self, to, meter, msg,
                                             [](const link::AssignedAllocs&) {});
      },
      [self, to, meter](const link::UpdateAllocs& msg) {
        return hand_on<link::Updated>(self, to, meter, msg, [meter, msg](const link::Updated&) {
          meter->updated(msg, unix_now());
        });
      },
      [self, to, meter](const link::RegisterServices& msg) {
        return hand_on<link::Updated>(self, to, meter, msg, [](const link::Updated&) {});
      },
      [self, to, meter](const link::DeregisterServices& msg) {
        return hand_on<link::Updated>(self, to, meter, msg, [](const link::Updated&) {});
      },
      [self, to](const link::EmitEvents& msg) { return self->delegate(to, msg); },
      [self, to](const link::DrainNode& msg) { return self->delegate(to, msg); },
      [self, to](const link::AwaitPrevious& msg) { return self->delegate(to, msg); },
      [self, to](const link::WatchData& msg) { return self->delegate(to, msg); },
  };
}

}  // namespace

double percentile(const std::vector<double>& ascending, double part) {
  if (ascending.empty()) return 0;
  const auto place = static_cast<std::size_t>(part * static_cast<double>(ascending.size()));
  return ascending[std::min(ascending.size() - 1, place)];
}

Figures Meter::take() {
  const std::lock_guard lock{guard_};
  auto taken = std::exchange(figures_, Figures{});
  taken.registered = nodes_.size();
  taken.allocs = statuses_.size();
  std::sort(taken.heartbeat_ms.begin(), taken.heartbeat_ms.end());
  std::sort(taken.status_ms.begin(), taken.status_ms.end());
  return taken;
}

void Meter::registered(const std::string& node_id) {
  const std::lock_guard lock{guard_};
  nodes_.insert(node_id);
}

void Meter::beaten(std::chrono::nanoseconds took, bool awaits_reports) {
  const std::lock_guard lock{guard_};
  ++figures_.heartbeats;
  figures_.missed += awaits_reports ? 1 : 0;
  figures_.heartbeat_ms.push_back(static_cast<double>(took.count()) / 1e6);
}

void Meter::failed() {
  const std::lock_guard lock{guard_};
  ++figures_.failures;
}

void Meter::updated(const link::UpdateAllocs& sent, std::int64_t now) {
  const std::lock_guard lock{guard_};
  ++figures_.batches;
  figures_.updates += sent.allocs.size();
  for (const auto& alloc : sent.allocs) {
    const auto [place, is_new]
        = statuses_.try_emplace(copy(alloc->getId()), alloc->getClientStatus());
    if (!is_new
        && std::exchange(place->second, alloc->getClientStatus()) == alloc->getClientStatus())
      continue;
    figures_.status_ms.push_back(static_cast<double>(now - alloc->getModifyTime()) / 1e6);
  }
}

client::ServerLink spawn_metered_link(const actor::Owner& owner,
                                      const client::ServerLink& to,
                                      std::shared_ptr<Meter> meter) {
  return actor::spawn(owner, metered_link, to, std::move(meter));
}

}  // namespace nomad::nodesim
