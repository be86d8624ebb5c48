#include "runtime/raft/config_change.hpp"

#include <algorithm>

#include "runtime/raft/invariant.hpp"

namespace nomad::raft {
namespace {

Error refuse(Errc code, const ServerId& id, std::string_view rule) {
  return {code, "server \"" + id + "\" " + std::string{rule}};
}

Result<Configuration> with_learner(Configuration next, const MemberChange& change) {
  if (next.find(change.id) != nullptr)
    return refuse(Errc::conflict, change.id, "is a member already");
  if (std::ranges::find(next.removed, change.id) != next.removed.end())
    return refuse(Errc::conflict, change.id,
                  "was removed; a server joins again only with a new id and an empty directory");
  const auto same_address = std::ranges::find(next.members, change.address, &Member::address);
  if (!change.address.empty() && same_address != next.members.end())
    return refuse(Errc::conflict, change.id,
                  "has the address of member \"" + same_address->id + "\"");
  const auto at = std::ranges::lower_bound(next.members, change.id, {}, &Member::id);
  next.members.insert(at, {.id = change.id, .address = change.address, .voter = false});
  return next;
}

}  // namespace

Result<Configuration> changed(const Configuration& configuration, const MemberChange& change) {
  if (change.id.empty()) return Error{Errc::invalid_argument, "a member needs an id"};
  auto next = configuration;
  if (change.action == MemberAction::add_learner) return with_learner(std::move(next), change);

  const auto member = std::ranges::find(next.members, change.id, &Member::id);
  if (member == next.members.end()) return refuse(Errc::not_found, change.id, "is no member");
  const bool last_voter = member->voter && next.voter_count() == 1;
  switch (change.action) {
    case MemberAction::add_learner:
      break;
    case MemberAction::promote:
      if (member->voter) return refuse(Errc::conflict, change.id, "is a voter already");
      member->voter = true;
      break;
    case MemberAction::demote:
      if (!member->voter) return refuse(Errc::conflict, change.id, "is no voter");
      if (last_voter) return refuse(Errc::conflict, change.id, "is the last voter");
      member->voter = false;
      break;
    case MemberAction::remove:
      if (last_voter) return refuse(Errc::conflict, change.id, "is the last voter");
      next.members.erase(member);
      next.removed.push_back(change.id);
      break;
    case MemberAction::move:
      member->address = change.address;
      break;
  }
  return next;
}

const ConfigHistory::Version& ConfigHistory::at(Index index) const {
  const auto behind = std::ranges::upper_bound(versions_, index, {}, &Version::index);
  require(behind != versions_.begin(), "a configuration is in force at every index");
  return *std::prev(behind);
}

void ConfigHistory::append(Index index, Configuration configuration) {
  require(index > latest_index() || versions_.size() == 1, "configurations are in log order");
  versions_.push_back({index, std::move(configuration)});
}

void ConfigHistory::truncate_from(Index first) {
  while (versions_.size() > 1 && versions_.back().index >= first)
    versions_.pop_back();
}

void ConfigHistory::compact_to(Index through) {
  while (versions_.size() > 1 && versions_[1].index <= through)
    versions_.erase(versions_.begin());
}

}  // namespace nomad::raft
