#include "actors/raft/pending_reads.hpp"

#include <utility>

namespace nomad::raft {

std::uint64_t PendingReads::add(actor::Promise<ReadReady> promise) {
  asked_.emplace(next_, std::move(promise));
  return next_++;
}

void PendingReads::carry_out(const Outputs& out) {
  for (const auto& read : out.reads) {
    auto asked = asked_.extract(read.id);
    if (!asked.empty()) granted_.push_back({read.index, std::move(asked.mapped())});
  }
  for (const auto id : out.refused_reads) {
    auto asked = asked_.extract(id);
    if (!asked.empty())
      actor::answer(asked.mapped(),
                    Result<ReadReady>{Error{Errc::unavailable, "node is not the leader"}});
  }
}

void PendingReads::answer(Index applied) {
  while (!granted_.empty() && granted_.front().index <= applied) {
    auto read = std::move(granted_.front());
    granted_.pop_front();
    actor::answer(read.promise, Result<ReadReady>{ReadReady{applied}});
  }
}

void PendingReads::fail(const Error& reason) {
  for (auto& [id, promise] : std::exchange(asked_, {}))
    actor::answer(promise, Result<ReadReady>{reason});
  for (auto& read : std::exchange(granted_, {}))
    actor::answer(read.promise, Result<ReadReady>{reason});
}

}  // namespace nomad::raft
