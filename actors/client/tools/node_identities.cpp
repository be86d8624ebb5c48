#include "actors/client/tools/node_identities.hpp"

#include <utility>

namespace nomad::client {

void NodeIdentities::put(const std::string& alloc_id, Shown shown, SecretText token) {
  Location location{alloc_id, shown.task, shown.service, shown.name};
  const std::lock_guard lock{guard_};
  held_.insert_or_assign(std::move(location), Held{std::move(shown), std::move(token)});
}

void NodeIdentities::forget(const std::string& alloc_id, const std::string& task) {
  const std::lock_guard lock{guard_};
  auto at = held_.lower_bound(Location{alloc_id, task, {}, {}});
  while (at != held_.end() && at->first.alloc_id == alloc_id && at->first.task == task)
    at = held_.erase(at);
}

std::optional<SecretText> NodeIdentities::token_of(const std::string& alloc_id,
                                                   const std::string& task,
                                                   const std::string& service,
                                                   const std::string& name) const {
  const std::lock_guard lock{guard_};
  const auto found = held_.find(Location{alloc_id, task, service, name});
  if (found == held_.end()) return {};
  return found->second.token;
}

std::vector<NodeIdentities::Shown> NodeIdentities::list(const std::string& alloc_id) const {
  std::vector<Shown> all;
  const std::lock_guard lock{guard_};
  for (auto at = held_.lower_bound(Location{alloc_id, {}, {}, {}});
       at != held_.end() && at->first.alloc_id == alloc_id; ++at)
    all.push_back(at->second.shown);
  return all;
}

}  // namespace nomad::client
