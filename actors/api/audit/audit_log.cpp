#include "actors/api/audit/audit_log.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "runtime/audit/event.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/log.hpp"

namespace nomad::api {
namespace {

using audit_log::Close;
using audit_log::Flush;

constexpr std::chrono::seconds complain_again{60};

struct AuditLogState {
  static constexpr const char* name = "audit_log";

  using Self = AuditLog::stateful_pointer<AuditLogState>;

  Self self = nullptr;
  std::shared_ptr<audit::AuditFile> file;
  std::shared_ptr<AuditFeed> feed;
  std::shared_ptr<telemetry::Registry> metrics;
  std::optional<std::chrono::steady_clock::time_point> complained;

  void count(std::string_view what, std::uint64_t more) const {
    if (metrics && more > 0) metrics->counter(what).add(static_cast<double>(more));
  }

  void flush() {
    auto taken = feed->take();
    if (taken.events.empty() && taken.lost == 0) return;
    const auto now = unix_now();
    const auto written = taken.events.size();
    if (taken.lost > 0)
      taken.events.insert(taken.events.begin(),
                          audit::note_text(now, "EventsLost", {{"count", taken.lost}}));
    const auto outcome = file->append(taken.events, now);
    if (outcome) {
      count("audit.written", written);
      count("audit.lost", taken.lost);
    } else {
      feed->count_lost(taken.lost + written);
      complain(outcome.error());
    }
    for (auto& delivery : taken.deliveries)
      delivery(outcome);
  }

  void complain(const Error& why) {
    count("audit.failed", 1);
    const auto now = self->now();
    if (complained && now - *complained < complain_again) return;
    complained = now;
    log::error("audit", "the audit log was not written", {{"error", why}});
  }
};

AuditLog::behavior_type audit_log_actor(AuditLogState::Self self,
                                        std::shared_ptr<audit::AuditFile> file,
                                        std::shared_ptr<AuditFeed> feed,
                                        std::shared_ptr<telemetry::Registry> metrics) {
  auto& state = self->state;
  state.self = self;
  state.file = std::move(file);
  state.feed = std::move(feed);
  state.metrics = std::move(metrics);
  state.feed->set_wake(actor::turns_of(self).callback([self] { self->state.flush(); }));
  return {
      [self](Flush) { self->state.flush(); },
      [self](Close) {
        self->state.flush();
        self->state.feed->close();
        self->quit();
      },
  };
}

}  // namespace

Result<StartedAuditLog> start_audit_log(const actor::Owner& owner,
                                        audit::FileOptions file,
                                        std::shared_ptr<telemetry::Registry> metrics) {
  auto opened = NOMAD_TRY(audit::AuditFile::open(std::move(file), unix_now()));
  auto shared = std::make_shared<audit::AuditFile>(std::move(opened));
  auto feed = std::make_shared<AuditFeed>();
  auto spawned = actor::spawn_detached<actor::Policy::restart>(
      owner, audit_log_actor, std::move(shared), feed, std::move(metrics));
  return StartedAuditLog{std::move(spawned), std::move(feed)};
}

}  // namespace nomad::api
