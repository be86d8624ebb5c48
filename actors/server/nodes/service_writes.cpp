#include "actors/server/nodes/service_writes.hpp"

#include <memory>
#include <vector>

namespace nomad::server {
namespace {

/// Half of what a log entry may have, so that one more message always fits.
constexpr std::size_t most_entry_bytes = std::size_t{8} << 20;
constexpr std::size_t most_waiting_bytes = std::size_t{64} << 20;

}  // namespace

Result<> ServiceWrites::check_room(const cluster::ServiceChange& change) const {
  if (waiting_bytes_ + change.bytes() <= most_waiting_bytes) return {};
  return Error{Errc::overloaded,
               "too many changes of services wait to be written; try again later"};
}

void ServiceWrites::add(cluster::ServiceChange change, Promise promise) {
  waiting_bytes_ += change.bytes();
  waiting_.push_back({std::move(change), std::move(promise)});
  write_next();
}

void ServiceWrites::write_next() {
  if (is_writing_ || waiting_.empty()) return;
  is_writing_ = true;
  std::vector<cluster::ServiceChange> changes;
  auto promises = std::make_shared<std::vector<Promise>>();
  for (std::size_t bytes = 0; !waiting_.empty() && bytes < most_entry_bytes; waiting_.pop_front()) {
    bytes += waiting_.front().change.bytes();
    changes.push_back(std::move(waiting_.front().change));
    promises->push_back(std::move(waiting_.front().promise));
    waiting_bytes_ -= changes.back().bytes();
  }
  write_(cluster::decide_service_changes(changes), [this, promises](Result<Committed> written) {
    is_writing_ = false;
    for (auto& promise : *promises) {
      if (written)
        promise.deliver(door::done(written->index));
      else
        promise.deliver(written.error());
    }
    write_next();
  });
}

}  // namespace nomad::server
