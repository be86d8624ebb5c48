#include "actors/api/jobs/namespace_use.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/state/tracked_versions.hpp"

namespace nomad::api {
namespace {

using namespace std::chrono_literals;

constexpr auto counted_for = 1s;
constexpr std::uint64_t writes_until_counted = 20'000;

/// Namespaces that are remembered; with more, all are counted anew.
constexpr std::size_t most_namespaces = 10'000;

std::uint64_t bytes_of_version(const state::Snapshot& snapshot, const Object<schema::Job>& job) {
  const auto source
      = snapshot.job_submission(view(job->getNamespace()), view(job->getId()), job->getVersion());
  return job.size_in_bytes() + (source ? source.size_in_bytes() : 0);
}

std::uint64_t bytes_of(const state::Snapshot& snapshot, std::string_view ns) {
  std::uint64_t bytes = 0;
  for (const auto& entry : snapshot.jobs(ns)) {
    const auto id = view(entry.value()->getId());
    for (const auto& version : snapshot.job_versions(ns, id))
      bytes += bytes_of_version(snapshot, version);
    if (const auto events = snapshot.scaling_events(ns, id)) bytes += events.size_in_bytes();
  }
  return bytes;
}

}  // namespace

JobGrowth JobGrowth::of(const state::Snapshot& snapshot,
                        std::string_view ns,
                        std::string_view id,
                        std::uint64_t bytes) {
  JobGrowth growth{.ns = std::string{ns}, .bytes = bytes};
  const auto versions = snapshot.job_versions(ns, id);
  if (versions.empty()) return growth;
  growth.is_smaller = bytes <= bytes_of_version(snapshot, versions.front());
  std::size_t untagged = 0;
  const Object<schema::Job>* oldest = nullptr;
  for (const auto& version : versions) {
    if (version->hasVersionTag()) continue;
    ++untagged;
    oldest = &version;
  }
  if (untagged >= state::tracked_versions)
    growth.bytes -= std::min(bytes, bytes_of_version(snapshot, *oldest));
  return growth;
}

Result<> NamespaceUse::check(const state::Snapshot& snapshot,
                             const JobGrowth& growth,
                             std::uint64_t most,
                             Clock::time_point now) {
  if (most == 0) return {};
  const auto bound = growth.is_smaller ? 2 * most : most;
  std::unique_lock lock{guard_};
  if (uses_.size() >= most_namespaces && !uses_.contains(growth.ns)) uses_.clear();
  const auto [position, is_new] = uses_.try_emplace(growth.ns);
  const auto& use = position->second;
  const bool is_full = use.bytes() + growth.bytes > bound && now - use.at >= counted_for;
  if (is_new || is_full || snapshot.index() > use.index + writes_until_counted) {
    position->second = {.counted = use.counted, .added = 0, .index = snapshot.index(), .at = now};
    lock.unlock();
    const auto counted = bytes_of(snapshot, growth.ns);
    lock.lock();
    uses_[growth.ns].counted = counted;
  }
  const auto has = uses_[growth.ns].bytes();
  if (has + growth.bytes <= bound) return {};
  return Error{Errc::invalid_argument,
               fmt::format("namespace \"{}\" has {} bytes of jobs with their versions and sources, "
                           "with the {} of this one more than the {} that it may have "
                           "(limits.namespace_jobs_max_mb): purge jobs, or make them smaller",
                           growth.ns, has, growth.bytes, bound)};
}

void NamespaceUse::add(const JobGrowth& growth) {
  const std::lock_guard lock{guard_};
  const auto found = uses_.find(growth.ns);
  if (found != uses_.end()) found->second.added += growth.bytes;
}

}  // namespace nomad::api
