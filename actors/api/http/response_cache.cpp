#include "actors/api/http/response_cache.hpp"

#include <utility>

#include "runtime/net/http/gzip.hpp"

namespace nomad::api {
namespace {

constexpr std::size_t smallest_kept = 512;  ///< Rendering less again costs next to nothing.
constexpr std::size_t most_entries = 1024;

}  // namespace

std::shared_ptr<const ResponseCache::Rendering> ResponseCache::find(std::string_view target,
                                                                    std::uint64_t index,
                                                                    bool wants_gzip,
                                                                    const access::Principal& who) {
  std::shared_ptr<Rendering> found;
  {
    const std::lock_guard lock{guard_};
    const auto known = by_target_.find(target);
    if (known == by_target_.end() || known->second->index != index || !known->second->rendering)
      return nullptr;
    entries_.splice(entries_.begin(), entries_, known->second);
    found = known->second->rendering;
  }
  if (!access::are_same_for(who, found->verdicts)) return nullptr;
  if (!wants_gzip || found->gzip) return found;
  auto packed = std::make_shared<Rendering>(*found);  // others may be reading `found`
  packed->gzip = std::make_shared<const std::string>(net::gzip(*found->body));
  const std::lock_guard lock{guard_};
  const auto known = by_target_.find(target);
  if (known != by_target_.end() && known->second->rendering == found) {
    known->second->rendering = packed;
    known->second->bytes += packed->gzip->size();
    bytes_ += packed->gzip->size();
    evict();
  }
  return packed;
}

std::shared_ptr<const ResponseCache::Rendering> ResponseCache::offer(
    std::string_view target,
    std::uint64_t index,
    std::string& body,
    const std::string& next_token,
    const std::vector<access::Verdict>& verdicts) {
  if (body.size() < smallest_kept || is_too_large(body.size())) return nullptr;
  const std::lock_guard lock{guard_};
  auto* known = noted(target, index);
  if (known == nullptr) return nullptr;
  auto& entry = *known;
  auto rendering = std::make_shared<Rendering>();
  rendering->body = std::make_shared<const std::string>(std::move(body));
  rendering->next_token = next_token;
  rendering->verdicts = verdicts;
  entry.rendering = rendering;
  entry.bytes = rendering->body->size();
  bytes_ += entry.bytes;
  evict();
  return rendering;
}

/// Under the lock: what is known of the rendering if it was asked for before; else notes that.
ResponseCache::Entry* ResponseCache::noted(std::string_view target, std::uint64_t index) {
  const auto known = by_target_.find(target);
  if (known == by_target_.end()) {
    entries_.push_front({std::string{target}, index, nullptr, 0, false});
    by_target_.emplace(entries_.front().target, entries_.begin());
    evict();
    return nullptr;
  }
  auto& entry = *known->second;
  entries_.splice(entries_.begin(), entries_, known->second);
  if (entry.index == index && !entry.rendering) return &entry;
  bytes_ -= std::exchange(entry.bytes, 0);
  entry.rendering.reset();
  entry.is_too_large = false;
  return std::exchange(entry.index, index) == index ? &entry : nullptr;
}

bool ResponseCache::wants(std::string_view target, std::uint64_t index) const {
  const std::lock_guard lock{guard_};
  const auto known = by_target_.find(target);
  return known != by_target_.end() && known->second->index == index && !known->second->is_too_large;
}

void ResponseCache::note(std::string_view target, std::uint64_t index, std::size_t bytes) {
  const std::lock_guard lock{guard_};
  noted(target, index);
  const auto known = by_target_.find(target);
  if (known != by_target_.end()) known->second->is_too_large = is_too_large(bytes);
}

std::size_t ResponseCache::bytes() const {
  const std::lock_guard lock{guard_};
  return bytes_;
}

void ResponseCache::evict() {
  while (entries_.size() > 1 && (bytes_ > max_bytes_ || entries_.size() > most_entries)) {
    bytes_ -= entries_.back().bytes;
    by_target_.erase(entries_.back().target);
    entries_.pop_back();
  }
}

}  // namespace nomad::api
