#include "runtime/access/policy/rule_table.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "runtime/access/policy/glob.hpp"
#include "runtime/base/sorting/sort_stably.hpp"

namespace nomad::access {
namespace {

/// Sorts by key and unites neighbours of one key.
void unite(std::vector<RuleTable::Entry>& entries) {
  sort_stably(entries, {}, &RuleTable::Entry::key);
  std::vector<RuleTable::Entry> united;
  for (auto& entry : entries) {
    if (united.empty() || united.back().key != entry.key) {
      united.push_back(std::move(entry));
      continue;
    }
    auto& same = united.back();
    same.given |= entry.given;
    std::ranges::move(entry.sources, std::back_inserter(same.sources));
  }
  united.shrink_to_fit();
  entries = std::move(united);
}

/// Whether anything can have that key.
bool can_be(const RuleKey& key) {
  return !key.name.empty() && key.name.find('\0') == std::string_view::npos
         && key.path.find('\0') == std::string_view::npos;
}

bool globs_match(const RuleKey& pattern, const RuleKey& key) {
  return glob_matches(pattern.name, key.name) && glob_matches(pattern.path, key.path);
}

}  // namespace

bool matches(const RuleKey& pattern, const RuleKey& key) {
  return can_be(key) && globs_match(pattern, key);
}

void RuleTable::add(RuleKey key, CapabilitySet given, RuleSource source) {
  const bool is_pattern = is_glob(key.name) || is_glob(key.path);
  const auto closeness = literal_size(key.name) + literal_size(key.path);
  (is_pattern ? patterns_ : names_)
      .push_back({key, static_cast<std::uint32_t>(closeness), given, {source}});
}

void RuleTable::seal() {
  unite(names_);
  unite(patterns_);
  std::ranges::sort(patterns_, [](const Entry& a, const Entry& b) {
    return std::tie(a.closeness, a.key) > std::tie(b.closeness, b.key);
  });
  for (const auto* entries : {&names_, &patterns_})
    for (const auto& entry : *entries)
      any_ |= entry.effective();
}

const RuleTable::Entry* RuleTable::exact(RuleKey key) const {
  const auto found = std::ranges::lower_bound(names_, key, {}, &Entry::key);
  return found != names_.end() && found->key == key ? &*found : nullptr;
}

const RuleTable::Entry* RuleTable::closest(RuleKey key) const {
  if (!can_be(key)) return nullptr;
  const auto found = std::ranges::find_if(
      patterns_, [&](const Entry& entry) { return globs_match(entry.key, key); });
  return found != patterns_.end() ? &*found : nullptr;
}

}  // namespace nomad::access
