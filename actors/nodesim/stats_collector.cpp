#include "actors/nodesim/stats_collector.hpp"

#include <algorithm>
#include <utility>

#include "actors/core/supervise.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/object/alloc_view.hpp"

namespace nomad::nodesim {
namespace {

using door::Question;

NodeDoor::behavior_type metered_link(NodeDoor::pointer self,
                                     const NodeDoor& to,
                                     const std::shared_ptr<StatsCollector>& meter) {
  return {[self, to, meter](const door::Ask& msg) {
    auto promise = self->make_response_promise<door::Reply>();
    self->request(to, actor::infinite, msg)
        .then(
            [promise, meter, msg,
             asked = std::chrono::steady_clock::now()](const door::Reply& reply) {
              meter->answered(msg, reply, std::chrono::steady_clock::now() - asked, unix_now());
              promise.deliver(reply);
            },
            [promise, meter](const Error& err) {
              meter->failed();
              promise.deliver(err);
            });
    return promise;
  }};
}

}  // namespace

double percentile(const std::vector<double>& ascending, double part) {
  if (ascending.empty()) return 0;
  const auto position = static_cast<std::size_t>(part * static_cast<double>(ascending.size()));
  return ascending[std::min(ascending.size() - 1, position)];
}

Stats StatsCollector::take() {
  const std::lock_guard lock{guard_};
  auto taken = std::exchange(stats_, Stats{});
  taken.registered = nodes_.size();
  taken.allocs = statuses_.size();
  std::sort(taken.heartbeat_ms.begin(), taken.heartbeat_ms.end());
  std::sort(taken.status_ms.begin(), taken.status_ms.end());
  return taken;
}

void StatsCollector::answered(const door::Ask& ask,
                              const door::Reply& reply,
                              std::chrono::nanoseconds took,
                              std::int64_t now) {
  const std::lock_guard lock{guard_};
  switch (ask->which()) {
    case Question::REGISTER:
      nodes_.insert(ask.subject());
      return;
    case Question::HEARTBEAT:
      ++stats_.heartbeats;
      stats_.missed += reply->getLease().getAwaitsReports() ? 1 : 0;
      stats_.heartbeat_ms.push_back(static_cast<double>(took.count()) / 1e6);
      return;
    case Question::UPDATE_ALLOCS:
      return updated(ask, now);
    default:
      return;
  }
}

void StatsCollector::failed() {
  const std::lock_guard lock{guard_};
  ++stats_.failures;
}

void StatsCollector::updated(const door::Ask& report, std::int64_t now) {
  ++stats_.batches;
  stats_.updates += report.rows.size();
  for (const auto& row : report.rows) {
    const auto alloc = row.as<schema::Allocation>();
    if (!alloc) continue;
    const auto status = (*alloc)->client_status();
    const auto [position, is_new] = statuses_.try_emplace(std::string{(*alloc)->id()}, status);
    if (!is_new && std::exchange(position->second, status) == status) continue;
    stats_.status_ms.push_back(static_cast<double>(now - (*alloc)->modify_time()) / 1e6);
  }
}

NodeDoor spawn_metered_link(const actor::Owner& owner,
                            const NodeDoor& to,
                            std::shared_ptr<StatsCollector> meter) {
  return actor::spawn(owner, metered_link, to, std::move(meter));
}

}  // namespace nomad::nodesim
