// PluginFacts: the newest facts of a plugin's fingerprinters, which the client reads in its own
// turns.
//
// Threads: any.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace nomad::plugin {

class PluginFacts {
public:
  using Attributes = std::map<std::string, std::string>;

  void set(const std::string& fingerprinter, Attributes facts) {
    const std::lock_guard lock{guard_};
    facts_[fingerprinter] = std::move(facts);
  }

  Attributes get(const std::string& fingerprinter) const {
    const std::lock_guard lock{guard_};
    const auto found = facts_.find(fingerprinter);
    return found == facts_.end() ? Attributes{} : found->second;
  }

private:
  mutable std::mutex guard_;
  std::map<std::string, Attributes> facts_;
};

}  // namespace nomad::plugin
