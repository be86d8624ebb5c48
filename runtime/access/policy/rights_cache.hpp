// RightsCache: policies as they were read, and the rights that sets of them give, shared by all
// tokens that have the same. Within bounds; what was used longest ago goes first.
//
// A policy is known by its text, and a set by the names and modify indexes of its policies, by
// these themselves and by the workload, so that nothing has to be told when a policy changes, and
// the same name and index with another text, as after a restore, are another set.
//
// Thread-safe. Nothing is read or compiled under the lock.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/access/policy/policy.hpp"

namespace nomad::access {

/// What was used last, by keys, up to a weight in all.
template <class Key, class Value>
class Recent {
public:
  explicit Recent(std::size_t most) : most_{most} {}

  /// Null: it is not there.
  const Value* find(const Key& key) {
    const auto found = positions_.find(key);
    if (found == positions_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &entries_.front().value;
  }

  /// What is heavier than all together may be is not kept.
  void keep(Key key, Value value, std::size_t weight) {
    if (weight > most_ || positions_.contains(key)) return;
    entries_.push_front({key, std::move(value), weight});
    positions_.emplace(std::move(key), entries_.begin());
    for (weight_ += weight; weight_ > most_; entries_.pop_back()) {
      weight_ -= entries_.back().weight;
      positions_.erase(entries_.back().key);
    }
  }

  std::size_t size() const { return entries_.size(); }

private:
  struct Entry {
    Key key;
    Value value;
    std::size_t weight;
  };

  const std::size_t most_;
  std::size_t weight_ = 0;
  std::list<Entry> entries_;  ///< Most recently used first.
  std::unordered_map<Key, typename std::list<Entry>::iterator> positions_;
};

struct RightsCacheLimits {
  std::size_t text_bytes = std::size_t{16} << 20U;  ///< Of all policies.
  std::size_t rules = 500'000;                      ///< Of all sets.
};

class RightsCache {
public:
  explicit RightsCache(RightsCacheLimits limits = {})
      : policies_{limits.text_bytes}, sets_{limits.rules} {}

  /// As the functions of these names without a cache.
  Result<PolicyRef> read_policy(std::string_view rules);
  RightsRef rights_of(std::vector<NamedPolicy> policies, const ImplicitRights* workload = nullptr);

private:
  std::mutex guard_;
  Recent<std::string_view, PolicyRef> policies_;  ///< By texts, which they own.
  Recent<std::string, RightsRef> sets_;
};

}  // namespace nomad::access
