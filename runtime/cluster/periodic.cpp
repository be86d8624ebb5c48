#include "runtime/cluster/periodic.hpp"

#include <algorithm>

#include "runtime/base/whole_number.hpp"
#include "runtime/jobspec/cron/cron.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/job_kind.hpp"

namespace nomad::cluster {
namespace {

std::vector<std::string_view> specs_of(schema::PeriodicConfig::Reader periodic) {
  std::vector<std::string_view> specs;
  for (const auto spec : periodic.getSpecs())
    specs.push_back(view(spec));
  if (specs.empty() && periodic.getSpec().size() > 0) specs.push_back(view(periodic.getSpec()));
  return specs;
}

/// The time in a child's id, "<job>/periodic-<Unix seconds>".
std::optional<std::int64_t> launch_time(std::string_view child_id) {
  const auto dash = child_id.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  return whole_number<std::int64_t>(child_id.substr(dash + 1));
}

/// The newest launch that is known.
std::optional<std::int64_t> last_launch(const state::Snapshot& snapshot,
                                        std::string_view ns,
                                        std::string_view job_id) {
  if (const auto launch = snapshot.periodic_launch(ns, job_id)) return launch->getTime();
  std::optional<std::int64_t> last;
  for (const auto& entry : snapshot.jobs(ns, std::string{job_id} + "/periodic-")) {
    const auto time = launch_time(view(entry.value()->getId()));
    if (time && (!last || *time > *last)) last = time;
  }
  return last;
}

}  // namespace

std::optional<std::int64_t> next_periodic_launch(schema::PeriodicConfig::Reader periodic,
                                                 std::int64_t from) {
  auto found = TimeZone::find(view(periodic.getTimeZone()));
  const auto zone = found ? *found : TimeZone{};
  std::optional<std::int64_t> earliest;
  for (const auto spec : specs_of(periodic)) {
    const auto cron = jobspec::CronExpression::parse(spec);
    if (!cron) continue;  // refused at registration
    const auto next = cron->next(from, zone);
    if (next && (!earliest || *next < *earliest)) earliest = *next;
  }
  return earliest;
}

bool is_periodic_active(schema::Job::Reader job) {
  return job.hasPeriodic() && job.getPeriodic().getEnabled() && !job.getStop()
         && !is_parameterized(job);
}

bool has_running_child(const state::Snapshot& snapshot,
                       std::string_view ns,
                       std::string_view job_id) {
  for (const auto& entry : snapshot.jobs(ns, std::string{job_id} + "/periodic-")) {
    if (view(entry.value()->getStatus()) != "dead") return true;
  }
  return false;
}

void PeriodicSchedule::set_next(const Key& key,
                                Tracked& tracked,
                                std::optional<std::int64_t> next) {
  if (tracked.next != 0) by_time_.erase({tracked.next, key});
  tracked.next = next.value_or(0);
  if (tracked.next != 0) by_time_.emplace(tracked.next, key);
}

void PeriodicSchedule::sync(const state::Snapshot& snapshot, std::int64_t now) {
  std::set<Key> seen;
  for (const auto& entry : snapshot.jobs()) {
    const auto job = *entry.value();
    if (!is_periodic_active(job)) continue;
    const Key key{copy(job.getNamespace()), copy(job.getId())};
    seen.insert(key);
    auto& tracked = jobs_[key];
    if (tracked.job_modify_index == job.getJobModifyIndex()) continue;
    tracked.job_modify_index = job.getJobModifyIndex();
    set_next(key, tracked, next_periodic_launch(job.getPeriodic(), now));
  }
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    if (seen.contains(it->first)) {
      ++it;
      continue;
    }
    set_next(it->first, it->second, std::nullopt);
    it = jobs_.erase(it);
  }
}

std::vector<PeriodicSchedule::Launch> PeriodicSchedule::missed(const state::Snapshot& snapshot,
                                                               std::int64_t now) const {
  std::vector<Launch> launches;
  for (const auto& [key, tracked] : jobs_) {
    const auto job = snapshot.job(key.first, key.second);
    if (!job) continue;
    const auto last = last_launch(snapshot, key.first, key.second).value_or(0);
    const auto from = std::max(last, job->getSubmitTime() / 1'000'000'000);
    if (from == 0) continue;
    const auto due = next_periodic_launch(job->getPeriodic(), from);
    if (due && *due <= now) launches.push_back({key.first, key.second, now});
  }
  return launches;
}

std::vector<PeriodicSchedule::Launch> PeriodicSchedule::take_due(const state::Snapshot& snapshot,
                                                                 std::int64_t now) {
  std::vector<Launch> launches;
  while (!by_time_.empty() && by_time_.begin()->first <= now) {
    const auto [time, key] = *by_time_.begin();
    auto& tracked = jobs_.at(key);
    const auto job = snapshot.job(key.first, key.second);
    std::optional<std::int64_t> next;
    if (job && is_periodic_active(*job)) {
      launches.push_back({key.first, key.second, time});
      next = next_periodic_launch(job->getPeriodic(), now);
    }
    set_next(key, tracked, next);
  }
  return launches;
}

std::optional<std::int64_t> PeriodicSchedule::next() const {
  if (by_time_.empty()) return std::nullopt;
  return by_time_.begin()->first;
}

void PeriodicSchedule::clear() {
  jobs_.clear();
  by_time_.clear();
}

}  // namespace nomad::cluster
