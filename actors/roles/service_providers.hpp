// ServiceProviders: which providers of services the plugins of this agent bring, beside "nomad" and
// "consul", and who is asked. Servers look here when they validate jobs, the hooks of a client when
// they register services.
//
// Threads: any.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/roles/plugin_names.hpp"
#include "actors/roles/service_provider.hpp"

namespace nomad::client {

struct PluginProvider {
  std::string plugin;
  ServiceProvider provider{};
  bool hears_checks = false;  ///< It wants to be told how checks stand.
};

class ServiceProviders : public PluginNames<PluginProvider> {
public:
  /// `who` hears whenever a provider begins, until its end. Not kept alive.
  void watch(const ProviderWatcher& who) {
    const std::lock_guard lock{guard_};
    if (watchers_.size() >= next_sweep_) {
      std::erase_if(watchers_, [](const auto& each) { return !each.lock(); });
      next_sweep_ = std::max(least_sweep, 2 * watchers_.size());
    }
    watchers_.push_back(actor::weak(who));
  }

  /// The plugin's process is another one: it knows nothing of what was registered.
  void began(const std::string& provider) {
    std::vector<actor::Weak<ProviderWatcher>> all;
    {
      const std::lock_guard lock{guard_};
      all = watchers_;
    }
    for (const auto& each : all)
      if (const auto watcher = each.lock()) actor::tell(watcher, service_provider::Began{provider});
  }

private:
  static constexpr std::size_t least_sweep = 64;

  std::mutex guard_;
  std::vector<actor::Weak<ProviderWatcher>> watchers_;
  std::size_t next_sweep_ = least_sweep;
};

}  // namespace nomad::client
