// JobTypes: which types of jobs the plugins of this server schedule, beside the built-in ones, and
// who is asked. Plugins enter theirs while they are used; validation, the CLI's too, and the
// scheduler workers look here.
//
// Decider: who decides for such a type. Asked with what a scheduler's Question has made; answered
// with the decision, or with the error that says why there is none.
//
// Threads: any.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/object/object.hpp"
#include "schema/scheduling.capnp.h"

namespace nomad::server {

namespace decider {

struct Decide {
  using is_message = void;
  Object<schema::plugin::Scheduling> question;
};

struct Decided {
  using is_message = void;
  Object<schema::plugin::Decision> decision;
};

}  // namespace decider

using Decider = actor::Interface<decider::Decided(decider::Decide)>;

class JobTypes {
public:
  struct Entry {
    std::string plugin;
    Decider decider{};
    std::vector<std::string> reads{};  ///< What it wants to know of nodes.
  };

  /// False: the type is another plugin's. One's own entry is made anew.
  bool enter(const std::string& type, Entry entry) {
    const std::lock_guard lock{guard_};
    const auto known = types_.find(type);
    if (known != types_.end() && known->second.plugin != entry.plugin) return false;
    types_.insert_or_assign(type, std::move(entry));
    return true;
  }

  /// The plugin is not used any more.
  void forget(std::string_view plugin) {
    const std::lock_guard lock{guard_};
    std::erase_if(types_, [plugin](const auto& each) { return each.second.plugin == plugin; });
  }

  std::optional<Entry> find(std::string_view type) const {
    const std::lock_guard lock{guard_};
    const auto known = types_.find(type);
    return known == types_.end() ? std::nullopt : std::optional{known->second};
  }

  std::vector<std::string> names() const {
    const std::lock_guard lock{guard_};
    std::vector<std::string> names;
    for (const auto& [type, entry] : types_)
      names.push_back(type);
    return names;
  }

private:
  mutable std::mutex guard_;
  std::map<std::string, Entry, std::less<>> types_;
};

}  // namespace nomad::server
