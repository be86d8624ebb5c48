#include "runtime/access/grant.hpp"

#include <algorithm>
#include <utility>

#include <sodium.h>

namespace nomad::access {

TokenHash::TokenHash() {
  static_assert(sizeof key_ == crypto_shorthash_siphashx24_KEYBYTES);
  randombytes_buf(key_.data(), key_.size());
}

TokenHash::Value TokenHash::of(std::string_view token) const {
  Value value{};
  static_assert(sizeof value == crypto_shorthash_siphashx24_BYTES);
  crypto_shorthash_siphashx24(reinterpret_cast<unsigned char*>(value.data()),
                              reinterpret_cast<const unsigned char*>(token.data()), token.size(),
                              key_.data());
  return value;
}

std::optional<GrantRef> GrantCache::find(const Key& key, const NewestIndex& newest, Time now) {
  const auto found = positions_.find(key);
  if (found == positions_.end()) return {};
  const auto position = found->second;
  if (position->index != (position->grant ? newest.of_known : newest.of_unknown)
      || position->until <= now) {
    if (!position->grant) forget(position);
    return {};
  }
  auto& entries = list_of(*position);
  entries.splice(entries.begin(), entries, position);
  return position->grant;
}

GrantRef GrantCache::last_known(const Key& key, Time now) const {
  const auto found = positions_.find(key);
  if (found == positions_.end()) return {};
  const auto& grant = found->second->grant;
  return grant && now < grant->ends ? grant : GrantRef{};
}

GrantRef GrantCache::keep(const Key& key,
                          std::shared_ptr<Grant> grant,
                          std::uint64_t index,
                          Time now) {
  const auto latest = now + (grant ? limits_.known_for : limits_.unknown_for);
  if (grant) {
    grant->ends = grant->until;
    grant->until = std::min(grant->until, latest);
  }
  Entry entry{key, std::move(grant), index, latest};
  if (entry.grant) entry.until = entry.grant->until;
  return put(std::move(entry));
}

GrantRef GrantCache::extend(const Key& key, std::shared_ptr<Grant> grant, Time until) {
  grant->until = std::min(grant->ends, until);
  Entry entry{key, std::move(grant), 0, {}};
  entry.index = entry.grant->index;
  entry.until = entry.grant->until;
  return put(std::move(entry));
}

GrantRef GrantCache::put(Entry entry) {
  const auto key = entry.key;
  if (const auto found = positions_.find(key); found != positions_.end()) forget(found->second);
  auto& entries = list_of(entry);
  auto kept = entry.grant;
  entries.push_front(std::move(entry));
  positions_.emplace(key, entries.begin());
  if (entries.size() > (kept ? limits_.known : limits_.unknown)) forget(std::prev(entries.end()));
  return kept;
}

void GrantCache::forget(Entries::iterator position) {
  positions_.erase(position->key);
  list_of(*position).erase(position);
}

}  // namespace nomad::access
