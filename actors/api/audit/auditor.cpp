#include "actors/api/audit/auditor.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "runtime/base/ids.hpp"

namespace nomad::api {
namespace {

/// Waits for several sinks; the first failure counts.
class AllDone {
public:
  AllDone(std::size_t left, AuditFeed::Done done) : left_{left}, done_{std::move(done)} {}

  void one(const Result<>& outcome) {
    const std::unique_lock lock{guard_};
    if (!outcome && outcome_) outcome_ = outcome;
    if (--left_ > 0) return;
    const auto done = std::exchange(done_, nullptr);
    done(outcome_);
  }

private:
  std::mutex guard_;
  std::size_t left_;
  Result<> outcome_;
  AuditFeed::Done done_;
};

}  // namespace

Auditor::Auditor(std::vector<Sink> sinks, std::vector<audit::Filter> filters, std::string node_ip)
    : sinks_{std::move(sinks)},
      filters_{std::move(filters)},
      node_ip_{std::move(node_ip)},
      enforced_{static_cast<std::size_t>(std::count_if(
          sinks_.begin(), sinks_.end(), [](const Sink& s) { return s.is_enforced; }))},
      random_{Random::from_system()} {}

void Auditor::stop() const {
  for (const auto& sink : sinks_)
    actor::tell(sink.log.log, audit_log::Close{});
}

bool Auditor::wants(audit::Stage stage,
                    std::string_view endpoint,
                    std::string_view operation) const {
  return filters_.empty() || !audit::leaves_out(filters_, stage, endpoint, operation);
}

void Auditor::write(const std::string& event, AuditFeed::Done done) const {
  std::shared_ptr<AllDone> all;
  if (enforced_ > 0) all = std::make_shared<AllDone>(enforced_, std::move(done));
  for (const auto& sink : sinks_)
    if (sink.is_enforced)
      sink.log.feed->add(event, [all](const Result<>& outcome) { all->one(outcome); });
    else
      sink.log.feed->add(event, nullptr);
  if (!all) done(Result<>{});
}

std::string Auditor::make_id() {
  const std::lock_guard lock{guard_};
  return make_uuid(random_);
}

Result<std::shared_ptr<Auditor>> start_auditor(
    const actor::Owner& owner,
    AuditOptions options,
    const std::shared_ptr<telemetry::Registry>& metrics) {
  std::vector<Auditor::Sink> sinks;
  for (auto& sink : options.sinks) {
    sink.file.sync = sink.is_enforced;
    auto log = NOMAD_TRY(start_audit_log(owner, std::move(sink.file), metrics));
    sinks.push_back({std::move(log), sink.is_enforced});
  }
  return std::make_shared<Auditor>(std::move(sinks), std::move(options.filters),
                                   std::move(options.node_ip));
}

}  // namespace nomad::api
