#include "actors/raft/proposer.hpp"

#include <ctime>

namespace nomad::raft {

void ProposalQueue::add(Proposal proposal) {
  std::optional<Error> refusal;
  std::function<void()> wake;
  {
    const std::scoped_lock lock{mutex_};
    if (closed_) {
      refusal = closed_;
    } else if (waiting_.size() >= max_count_
               || (!waiting_.empty() && waiting_bytes_ + proposal.payload.size() > max_bytes_)) {
      refusal = Error{Errc::overloaded, "too many writes are waiting for the log"};
    } else {
      if (waiting_.empty()) wake = wake_;
      waiting_bytes_ += proposal.payload.size();
      waiting_.push_back(std::move(proposal));
    }
  }
  if (refusal) return proposal.callback(std::move(*refusal));
  if (wake) wake();
}

std::vector<Proposal> ProposalQueue::take() {
  const std::scoped_lock lock{mutex_};
  waiting_bytes_ = 0;
  return std::exchange(waiting_, {});
}

void ProposalQueue::set_wake(std::function<void()> wake) {
  bool waits = false;
  {
    const std::scoped_lock lock{mutex_};
    wake_ = wake;
    waits = !waiting_.empty();
  }
  if (waits && wake) wake();
}

std::vector<Proposal> ProposalQueue::close(Error reason) {
  const std::scoped_lock lock{mutex_};
  closed_ = std::move(reason);
  wake_ = nullptr;
  waiting_bytes_ = 0;
  return std::exchange(waiting_, {});
}

bool LeaderLease::holds() const {
  return now() < until_.load(std::memory_order_acquire);
}

std::int64_t LeaderLease::now() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace nomad::raft
