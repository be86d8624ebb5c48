#include "actors/api/jobs/namespace_use.hpp"

#include <fmt/format.h>

namespace nomad::api {
namespace {

using namespace std::chrono_literals;

constexpr auto counted_for = 1s;
constexpr std::uint64_t writes_until_counted = 20'000;

/// Namespaces that are remembered; with more, all are counted anew.
constexpr std::size_t most_namespaces = 10'000;

std::uint64_t bytes_of(const state::Snapshot& snapshot, std::string_view ns) {
  std::uint64_t bytes = 0;
  for (const auto& entry : snapshot.jobs(ns))
    bytes += entry.value().size_in_bytes();
  return bytes;
}

}  // namespace

Result<> NamespaceUse::admit(const state::Snapshot& snapshot,
                             std::string_view ns,
                             std::uint64_t bytes,
                             std::uint64_t most,
                             Clock::time_point now) {
  if (most == 0) return {};
  const std::lock_guard lock{guard_};
  if (uses_.size() >= most_namespaces) uses_.clear();
  const auto [place, is_new] = uses_.try_emplace(std::string{ns});
  auto& use = place->second;
  const bool is_full = use.bytes + bytes > most && now - use.at >= counted_for;
  if (is_new || is_full || snapshot.index() > use.index + writes_until_counted)
    use = {bytes_of(snapshot, ns), snapshot.index(), now};
  if (use.bytes + bytes > most)
    return Error{Errc::invalid_argument,
                 fmt::format("namespace \"{}\" has {} bytes of jobs, with the {} of this one more "
                             "than the {} that it may have (limits.namespace_jobs_max_mb)",
                             ns, use.bytes, bytes, most)};
  use.bytes += bytes;
  return {};
}

}  // namespace nomad::api
