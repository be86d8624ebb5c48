#include "actors/raft/pending_proposals.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace nomad::raft {

void PendingProposals::note_members(const Configuration& configuration) {
  std::erase_if(proven_, [&configuration](const auto& each) {
    return configuration.find(each.first) == nullptr;
  });
  for (const auto& member : configuration.members)
    proven_.try_emplace(member.id);
}

void PendingProposals::note(const Entry& applied) {
  if (applied.kind == EntryKind::command) {
    const auto known = parts_.fsm->parts_of(applied.payload.view());
    for (auto& [member, proven] : proven_) {
      proven.kinds = std::max(proven.kinds, known.number + 1);
      proven.parts |= known.later;
    }
  } else if (applied.kind == EntryKind::configuration) {
    if (const auto configuration = decode_configuration(applied.payload.view()))
      note_members(*configuration);
  }
}

/// A guard comes on top: it must not refuse what fits without.
Result<> PendingProposals::check_size(const Bytes& command) const {
  const auto most = parts_.options.max_entry_bytes;
  if (command.size() <= most) return {};
  const auto earlier = parts_.fsm->earlier_form(command.view());
  if (earlier && earlier->size() <= most) return {};
  return Error{Errc::too_large,
               fmt::format("a write of {} bytes exceeds {}", command.size(), most)};
}

bool PendingProposals::is_proven(const ServerId& member, const Bytes& command) const {
  const auto proven = proven_.find(member);
  if (proven == proven_.end()) return false;
  const auto& [kinds, parts] = proven->second;
  if (parts_.fsm->kind_of(command.view()) < kinds) return true;
  const auto needed = parts_.fsm->parts_of(command.view());
  return needed.later != 0 && needed.number < kinds && (needed.later & ~parts) == 0;
}

Result<> PendingProposals::check_known(const Bytes& command, const Core& core) const {
  const auto& fsm = *parts_.fsm;
  const auto common = fsm.common_commands();
  if (fsm.known_commands() <= common) return {};
  const auto kind = fsm.kind_of(command.view());
  if (kind < common) return {};
  for (const auto& member : core.configuration().members) {
    const auto* progress = core.progress(member.id);
    if (progress == nullptr) continue;  // this server itself; or it does not lead, and will say so
    const auto& known = progress->known_commands;
    if (known ? kind < *known : is_proven(member.id, command)) continue;
    const auto who = fmt::format("server \"{}\" at {}", member.id, member.address);
    if (!known)
      return Error{
          Errc::unavailable,
          fmt::format("{} has not said yet whether it can apply this change (kind {}): try "
                      "again, or remove it from the cluster if it is gone",
                      who, kind)};
    return Error{Errc::rejected,
                 fmt::format("{} can't apply this change (kind {}): upgrade it first, or remove it "
                             "from the cluster if it is gone",
                             who, kind)};
  }
  return {};
}

Result<> PendingProposals::check(Bytes& command, const Entering& more, const Core& core) const {
  NOMAD_TRY(check_size(command));
  const auto count = waiting_.size() + more.count;
  const auto bytes = waiting_bytes_ + more.bytes + command.size();
  if (count >= parts_.options.max_waiting_entries
      || (count > 0 && bytes > parts_.options.max_waiting_bytes))
    return Error{Errc::overloaded, "too many writes are waiting for the log"};
  auto known = check_known(command, core);
  if (known) return known;
  auto earlier = parts_.fsm->earlier_form(command.view());
  if (!earlier) return known;
  command = std::move(*earlier);
  return check_known(command, core);
}

void PendingProposals::await(Index index, std::size_t bytes, ProposalCallback callback) {
  gathering_.begin(parts_.clock());
  waiting_.push_back({index, parts_.clock(), bytes, std::move(callback)});
  waiting_bytes_ += bytes;
}

void PendingProposals::answer(const std::vector<Entry>& entries, std::vector<Outcome> outcomes) {
  std::size_t command = 0;
  for (const auto& entry : entries) {
    note(entry);
    Outcome outcome;
    if (entry.kind == EntryKind::command) outcome = std::move(outcomes[command++]);
    if (waiting_.empty() || waiting_.front().index != entry.index) continue;
    measure(parts_.clock() - waiting_.front().since);
    const auto callback = std::move(waiting_.front().callback);
    waiting_bytes_ -= waiting_.front().bytes;
    waiting_.pop_front();
    callback(Applied{entry.index, std::move(outcome)});
    if (waiting_.empty()) gathering_.end(parts_.clock());
  }
}

/// From its proposal to its position in the state.
void PendingProposals::measure(Time took) {
  if (!parts_.options.metrics) return;
  if (commit_time_ == nullptr) commit_time_ = &parts_.options.metrics->sample("raft.commitTime");
  commit_time_->observe(std::chrono::duration<double, std::milli>{took}.count());
}

void PendingProposals::fail(const Error& reason) {
  gathering_.abandon();
  if (waiting_.empty()) return;
  const auto code = reason.code == Errc::no_leader ? Errc::unavailable : reason.code;
  waiting_bytes_ = 0;
  const Error unknown{code, reason.what + " (the request may have been carried out)"};
  for (auto& each : std::exchange(waiting_, {}))
    each.callback(unknown);
}

}  // namespace nomad::raft
