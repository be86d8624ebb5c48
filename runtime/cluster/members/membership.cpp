#include "runtime/cluster/members/membership.hpp"

#include <algorithm>

#include "runtime/base/name_table.hpp"

namespace nomad::cluster {
namespace {

/// How far a row may be ahead of what is known, of whoever does not speak of himself.
constexpr std::uint64_t most_step = std::uint64_t{1} << 32U;

}  // namespace

std::string_view to_string(MemberStatus status) {
  static constexpr std::string_view names[] = {"alive", "leaving", "failed", "left"};
  return name_in(names, status, "none");
}

Membership::Membership(MemberInfo self, MembershipOptions options, Random random, Time now)
    : self_{self.id}, options_{options}, random_{random}, next_probe_{now} {
  rows_[self_] = {.info = std::move(self), .since = now};
}

MemberTable Membership::table() const {
  MemberTable table{.from = self_, .members = {}, .removed = {}};
  for (const auto& [id, row] : rows_)
    table.members.push_back(row.info);
  return table;
}

bool Membership::merge(const MemberTable& table, const std::string& region, Time now) {
  const Sender sender{region, table.from};
  bool changed = false;
  for (const auto& news : table.members) {
    if (news.id.empty() || news.region.empty()) continue;
    changed = (news.id == self_ ? answer_rumour(news) : accept(sender, news, now)) || changed;
  }
  return changed;
}

/// (7): whether the sender may say that at all.
bool Membership::may_tell(const Sender& sender, const MemberInfo& news) const {
  const auto& own_region = self().region;
  const auto* known = find(news.id);
  const bool is_near = sender.region == own_region;
  if (known != nullptr && known->region != news.region) return is_near && news.region == own_region;
  if (is_near || news.region == sender.region) return true;
  return known == nullptr && news.region != own_region && news.status == MemberStatus::alive;
}

bool Membership::has_room(const std::string& region) const {
  const bool is_near = region == self().region;
  const auto rows = std::ranges::count_if(rows_, [&](const auto& item) {
    return (item.second.info.region == self().region) == is_near;
  });
  return static_cast<std::size_t>(rows) < options_.most_rows;
}

/// (2)
bool Membership::answer_rumour(const MemberInfo& rumour) {
  auto& own = rows_.at(self_).info;
  const bool same = rumour.status == own.status && rumour.incarnation == own.incarnation;
  if (same || rumour.incarnation < own.incarnation) return false;
  if (rumour.incarnation - own.incarnation > most_step) return false;
  // Also a row of our own earlier life with a higher incarnation than ours.
  own.incarnation = rumour.incarnation + 1;
  return true;
}

bool Membership::accept(const Sender& sender, const MemberInfo& news, Time now) {
  if (!may_tell(sender, news)) return false;
  const auto found = rows_.find(news.id);
  const auto known = found == rows_.end() ? 0 : found->second.info.incarnation;
  const bool is_own_word = sender.means_himself(news);
  if (!is_own_word && news.incarnation > known + most_step) return false;
  if (found == rows_.end()) {
    // Who has left and is unknown here, or was pruned, is no news.
    if (news.status == MemberStatus::left || !has_room(news.region)) return false;
    rows_[news.id] = {.info = news, .since = now};
    round_.push_back(news.id);
    return true;
  }
  auto& row = found->second;
  const bool answers = row.info.status == MemberStatus::alive;
  if (news.status == MemberStatus::left && answers && !is_own_word) return false;  // (4)
  const auto order = std::pair{news.incarnation, news.status}
                     <=> std::pair{row.info.incarnation, row.info.status};
  const bool corrects = is_own_word && order == 0 && news != row.info;  // (8)
  if (order <= 0 && !corrects) return false;
  if (row.info.status != news.status) row.since = now;
  if (news.incarnation > row.info.incarnation) row.failures = 0;
  row.info = news;
  return true;
}

std::optional<MemberInfo> Membership::next_probe(Time now) {
  if (now < next_probe_) return std::nullopt;
  next_probe_ = now + options_.probe_interval;
  // At most two rounds' worth of names: those that are skipped in the first are in the second.
  for (auto left = 2 * rows_.size(); left > 0; --left) {
    if (round_.empty()) {
      for (const auto& [id, row] : rows_)
        if (id != self_) round_.push_back(id);
      for (auto at = round_.size(); at > 1; --at)
        std::swap(round_[at - 1], round_[random_.below(at)]);
    }
    if (round_.empty()) return std::nullopt;
    const auto found = rows_.find(round_.back());
    round_.pop_back();
    if (found == rows_.end()) continue;
    auto& row = found->second;
    if (row.info.status == MemberStatus::left) continue;
    const bool failed = row.info.status == MemberStatus::failed;
    if (failed && now - row.last_probe < options_.reconnect_interval) continue;
    row.last_probe = now;
    return row.info;
  }
  return std::nullopt;
}

std::vector<MemberInfo> Membership::helpers(const std::string& id) {
  auto found = others();
  std::erase_if(found, [&](const MemberInfo& member) { return member.id == id; });
  for (auto at = found.size(); at > 1; --at)
    std::swap(found[at - 1], found[random_.below(at)]);
  if (found.size() > options_.indirect) found.resize(options_.indirect);
  return found;
}

bool Membership::probed(const std::string& id, bool answered, Time now) {
  const auto found = rows_.find(id);
  if (found == rows_.end() || id == self_) return false;
  auto& row = found->second;
  if (answered) {
    // That it is alive again it says itself, with a higher incarnation (2).
    row.failures = 0;
    return false;
  }
  if (row.info.status == MemberStatus::failed || row.info.status == MemberStatus::left)
    return false;
  if (++row.failures < options_.failures) {
    round_.push_back(id);  // again with the next probe
    return false;
  }
  // Who was leaving and does not answer any more has left.
  set_row_status(
      row, row.info.status == MemberStatus::leaving ? MemberStatus::left : MemberStatus::failed,
      now);
  return true;
}

Result<> Membership::force_leave(const std::string& name, bool prune, Time now) {
  // A server that was installed anew has a row for each of its ids.
  bool is_known = false;
  for (auto& [id, row] : rows_) {
    if (row.info.name != name || id == self_) continue;
    is_known = true;
    if (row.info.status == MemberStatus::failed || row.info.status == MemberStatus::leaving)
      set_row_status(row, MemberStatus::left, now);
  }
  if (!is_known) return Error{Errc::not_found, "no member is named \"" + name + "\""};
  if (prune)
    std::erase_if(rows_, [&](const auto& item) {
      const auto& [id, row] = item;
      return row.info.name == name && id != self_ && row.info.status == MemberStatus::left;
    });
  return {};
}

void Membership::set_row_status(Row& row, MemberStatus status, Time now) {
  row.info.status = status;
  row.since = now;
}

void Membership::set_cluster_id(const std::string& cluster_id) {
  auto& own = rows_.at(self_).info;
  if (own.cluster_id == cluster_id) return;
  own.cluster_id = cluster_id;
  ++own.incarnation;
}

void Membership::set_status(MemberStatus status) {
  auto& own = rows_.at(self_).info;
  own.status = status;
  ++own.incarnation;
}

void Membership::expire(Time now) {
  std::erase_if(rows_, [&](const auto& item) {
    const auto& [id, row] = item;
    const bool gone
        = row.info.status == MemberStatus::left || row.info.status == MemberStatus::failed;
    return id != self_ && gone && now - row.since > options_.forget_after;
  });
}

const MemberInfo* Membership::find(const std::string& id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second.info;
}

std::vector<MemberInfo> Membership::members() const {
  std::vector<MemberInfo> all;
  for (const auto& [id, row] : rows_)
    all.push_back(row.info);
  std::ranges::sort(all, {}, [](const MemberInfo& member) {
    return std::pair{member.name, member.id};
  });
  return all;
}

Membership::Time Membership::since(const std::string& id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? Time{0} : found->second.since;
}

std::vector<MemberInfo> Membership::others() const {
  std::vector<MemberInfo> found;
  for (const auto& [id, row] : rows_)
    if (id != self_ && row.info.is_usable()) found.push_back(row.info);
  return found;
}

std::vector<MemberInfo> founders(const std::vector<MemberInfo>& members,
                                 const std::string& self,
                                 std::string* why) {
  const auto no = [why](std::string reason) {
    if (why != nullptr) *why = std::move(reason);
    return std::vector<MemberInfo>{};
  };
  const auto own = std::ranges::find(members, self, &MemberInfo::id);
  if (own == members.end() || own->expect == 0) return no("this server founds no cluster");
  if (!own->cluster_id.empty()) return no("this server has a log already");
  std::vector<MemberInfo> found;
  for (const auto& member : members) {
    if (member.region != own->region || member.status == MemberStatus::left) continue;
    if (!member.cluster_id.empty())
      return no("server " + member.name + " belongs to a cluster already; its leader will add us");
    if (member.status != MemberStatus::alive || member.non_voter) continue;
    if (member.expect != own->expect)
      return no("server " + member.name + " expects " + std::to_string(member.expect)
                + " servers, this one " + std::to_string(own->expect));
    found.push_back(member);
  }
  if (found.size() < own->expect)
    return no(std::to_string(found.size()) + " of " + std::to_string(own->expect)
              + " expected servers are there");
  std::ranges::sort(found, {}, &MemberInfo::id);
  if (found.front().id != self) return no("server " + found.front().name + " founds the cluster");
  return found;
}

}  // namespace nomad::cluster
