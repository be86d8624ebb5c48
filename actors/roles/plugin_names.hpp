// PluginNames: what plugins of this agent bring under names of their own, beside what is built in:
// each name is one plugin's, from when it says what it is until it is not used any more. Plugins
// enter theirs; validation, the CLI's too, and whoever asks a plugin look here.
//
// Threads: any.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nomad {

/// An entry has a member `plugin`, the name of whose it is.
template <class EntryOfName>
class PluginNames {
public:
  using Entry = EntryOfName;

  /// False: the name is another plugin's. One's own entry is made anew.
  bool enter(const std::string& name, Entry entry) {
    const std::lock_guard lock{guard_};
    const auto known = entries_.find(name);
    if (known != entries_.end() && known->second.plugin != entry.plugin) return false;
    entries_.insert_or_assign(name, std::move(entry));
    return true;
  }

  /// The plugin is not used any more.
  void forget(std::string_view plugin) {
    const std::lock_guard lock{guard_};
    std::erase_if(entries_, [plugin](const auto& each) { return each.second.plugin == plugin; });
  }

  /// The plugin brings others no more.
  void keep_only(std::string_view plugin, const std::set<std::string>& names) {
    const std::lock_guard lock{guard_};
    std::erase_if(entries_, [&](const auto& each) {
      return each.second.plugin == plugin && !names.contains(each.first);
    });
  }

  std::optional<Entry> find(std::string_view name) const {
    const std::lock_guard lock{guard_};
    const auto known = entries_.find(name);
    return known == entries_.end() ? std::nullopt : std::optional{known->second};
  }

  std::vector<std::string> names() const {
    const std::lock_guard lock{guard_};
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_)
      names.push_back(name);
    return names;
  }

private:
  mutable std::mutex guard_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace nomad
