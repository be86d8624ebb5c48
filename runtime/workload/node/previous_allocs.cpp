#include "runtime/workload/node/previous_allocs.hpp"

#include <utility>

namespace nomad::workload {

void PreviousAllocs::keep(const std::string& alloc_id, const std::string& for_whom) {
  if (!for_whom.empty()) kept_[alloc_id].insert(for_whom);
}

void PreviousAllocs::await(const std::string& alloc_id, std::uint64_t ticket) {
  waiting_[alloc_id].push_back(ticket);
}

std::vector<std::uint64_t> PreviousAllocs::ended(const std::string& alloc_id) {
  auto waiting = waiting_.extract(alloc_id);
  return waiting.empty() ? std::vector<std::uint64_t>{} : std::move(waiting.mapped());
}

bool PreviousAllocs::put_off(const std::string& alloc_id) {
  if (!kept_.contains(alloc_id)) return false;
  put_off_.insert(alloc_id);
  return true;
}

std::vector<std::string> PreviousAllocs::release(const std::string& for_whom) {
  std::vector<std::string> free;
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    kept->second.erase(for_whom);
    if (!kept->second.empty()) {
      ++kept;
      continue;
    }
    if (put_off_.erase(kept->first) > 0) free.push_back(kept->first);
    kept = kept_.erase(kept);
  }
  return free;
}

}  // namespace nomad::workload
