#include "runtime/cluster/variables/root_key_uses.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace nomad::cluster {
namespace {

/// When a key began to sign; of two at the same time, in their order.
std::pair<std::int64_t, std::uint64_t> began(const schema::RootKey::Reader& key) {
  return {std::max(key.getCreateTime(), key.getPublishTime()), key.getCreateIndex()};
}

std::int64_t longest_ttl_of(capnp::List<schema::Service>::Reader services) {
  std::int64_t longest = 0;
  for (const auto service : services)
    if (service.hasIdentity()) longest = std::max(longest, service.getIdentity().getTtl());
  return longest;
}

std::int64_t longest_ttl_of(schema::Job::Reader job) {
  std::int64_t longest = 0;
  for (const auto group : job.getTaskGroups()) {
    longest = std::max(longest, longest_ttl_of(group.getServices()));
    for (const auto task : group.getTasks()) {
      longest = std::max(longest, longest_ttl_of(task.getServices()));
      for (const auto identity : task.getIdentities())
        longest = std::max(longest, identity.getTtl());
    }
  }
  return longest;
}

}  // namespace

std::int64_t signed_until(const state::Snapshot& snapshot, const Object<schema::RootKey>& key) {
  auto until = std::numeric_limits<std::int64_t>::max();
  for (const auto& entry : snapshot.rows<state::kind::RootKeys>().all()) {
    const auto& other = *entry.value();
    if (other.getState() == schema::RootKeyState::PREPUBLISHED || began(other) <= began(*key))
      continue;
    until = std::min(until, began(other).first);
  }
  return until;
}

std::int64_t longest_ttl_of_jobs(const state::Snapshot& snapshot) {
  std::int64_t longest = 0;
  for (const auto& entry : snapshot.jobs_map().all())
    if (const auto& job = entry.value(); view(job->getStatus()) != "dead")
      longest = std::max(longest, longest_ttl_of(*job));
  return std::min(longest, longest_identity_ttl);
}

std::optional<SignedSince> lives_on(const state::Snapshot& snapshot,
                                    const Object<schema::RootKey>& key,
                                    std::int64_t now) {
  // Without a next one, or by a clock that went back, it may have signed until now.
  const auto began_next = std::min(signed_until(snapshot, key), now);
  if (key->getState() == schema::RootKeyState::PREPUBLISHED
      || now - began_next >= longest_identity_ttl)
    return {};
  const auto ttl = longest_ttl_of_jobs(snapshot);
  if (ttl == 0 || now - began_next >= ttl) return {};
  return SignedSince{.until = began_next + ttl, .ttl = ttl};
}

}  // namespace nomad::cluster
