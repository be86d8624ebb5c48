#include "actors/raft/raft_inbox.hpp"

#include <algorithm>

#include "actors/raft/proposer.hpp"
#include "runtime/raft/configuration.hpp"
#include "runtime/raft/wire.hpp"

namespace nomad::raft {
namespace {

Result<> check(const Entry& entry, const Fsm& fsm) {
  switch (entry.kind) {
    case EntryKind::command:
      return fsm.check(entry.payload.view());
    case EntryKind::barrier:
      return {};
    case EntryKind::configuration:
      NOMAD_TRY(decode_configuration(entry.payload.view()));
      return {};
  }
  return Error{Errc::corrupt, "an entry of unknown kind"};
}

Result<> check(const Message& message, const Fsm& fsm) {
  const auto* request = std::get_if<AppendRequest>(&message.body);
  if (request == nullptr) return {};
  for (const auto& entry : request->entries)
    if (auto sound = check(entry, fsm); !sound)
      return sound.error().within("entry " + std::to_string(entry.index) + " from server "
                                  + message.from);
  return {};
}

}  // namespace

RaftInbox::RaftInbox(Recipient node, std::shared_ptr<const Fsm> fsm, std::size_t max_bytes)
    : node_{std::move(node)}, fsm_{std::move(fsm)}, max_bytes_{max_bytes} {}

Result<> RaftInbox::deliver(const Bytes& bytes) const {
  auto read = NOMAD_TRY(read_wire(bytes));
  NOMAD_TRY(check(read.message, *fsm_));
  const bool urgent = lane_of(read.message) == Lane::urgent;
  const auto size = bytes.size();
  const auto& waiting = urgent ? urgent_waiting_ : waiting_;
  if (waiting->load(std::memory_order_relaxed) >= (urgent ? max_urgent_bytes : max_bytes_))
    return Error{Errc::overloaded, "too much waits to be taken in"};
  waiting->fetch_add(size, std::memory_order_relaxed);
  const std::shared_ptr<const void> budget{
      this, [waiting, size](const void*) { waiting->fetch_sub(size, std::memory_order_relaxed); }};
  Incoming incoming{std::move(read.message), std::move(read.from_address), budget};
  if (urgent)
    actor::tell_urgent(node_, std::move(incoming));
  else
    actor::tell(node_, std::move(incoming));
  return {};
}

std::chrono::nanoseconds LeaderView::last_contact() const {
  const auto heard = heard_.load(std::memory_order_relaxed);
  if (heard == leading) return std::chrono::nanoseconds{0};
  return std::chrono::nanoseconds{std::max<std::int64_t>(0, LeaderLease::now() - heard)};
}

}  // namespace nomad::raft
