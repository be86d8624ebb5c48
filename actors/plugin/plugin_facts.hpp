// PluginFacts: the newest facts of a plugin's fingerprinters, which the client reads in its own
// turns.
//
// Threads: any.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/host/fingerprint/fingerprint.hpp"

namespace nomad::plugin {

class PluginFacts {
public:
  struct Found {
    std::map<std::string, std::string> attributes{};
    std::vector<host::DeviceGroup> devices{};
  };

  void set(const std::string& fingerprinter, Found facts) {
    const std::lock_guard lock{guard_};
    facts_[fingerprinter] = std::move(facts);
  }

  Found get(const std::string& fingerprinter) const {
    const std::lock_guard lock{guard_};
    const auto found = facts_.find(fingerprinter);
    return found == facts_.end() ? Found{} : found->second;
  }

private:
  mutable std::mutex guard_;
  std::map<std::string, Found> facts_;
};

}  // namespace nomad::plugin
