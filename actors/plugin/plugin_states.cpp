#include "actors/plugin/plugin_states.hpp"

#include <algorithm>

namespace nomad::plugin {

std::string_view to_string(PluginState state) {
  switch (state) {
    case PluginState::starting:
      return "starting";
    case PluginState::configuring:
      return "configuring";
    case PluginState::running:
      return "running";
    case PluginState::restarting:
      return "restarting";
    case PluginState::refused:
      break;
  }
  return "refused";
}

void PluginStates::update(const std::string& name,
                          const std::function<void(PluginStatus&)>& change) {
  const std::lock_guard lock{guard_};
  auto& status = plugins_[name];
  status.name = name;
  change(status);
  changed_.notify_all();
}

void PluginStates::forget(const std::string& name) {
  const std::lock_guard lock{guard_};
  plugins_.erase(name);
  changed_.notify_all();
}

std::vector<PluginStatus> PluginStates::list() const {
  const std::lock_guard lock{guard_};
  std::vector<PluginStatus> all;
  for (const auto& [name, status] : plugins_)
    all.push_back(status);
  return all;
}

std::optional<PluginState> PluginStates::state_of(const std::string& name) const {
  const std::lock_guard lock{guard_};
  const auto known = plugins_.find(name);
  return known == plugins_.end() ? std::nullopt : std::optional{known->second.state};
}

bool PluginStates::wait_for_all(std::chrono::steady_clock::time_point deadline) const {
  std::unique_lock lock{guard_};
  return changed_.wait_until(lock, deadline, [this] {
    return std::ranges::all_of(plugins_, [](const auto& each) {
      return each.second.state == PluginState::refused || each.second.declaration;
    });
  });
}

}  // namespace nomad::plugin
