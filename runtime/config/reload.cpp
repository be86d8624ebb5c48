#include "runtime/config/reload.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "runtime/config/keys.hpp"

namespace nomad::config {
namespace {

/// Keys, or blocks, which end in a dot. What a client node is and offers can change while it runs;
/// who it is, where it keeps what, and how it reaches others cannot.
constexpr std::array<std::string_view, 26> reloadable{
    "client.cni_config_dir",
    "client.cpu_total_compute",
    "client.disable_remote_exec",
    "client.disk_free_mb",
    "client.disk_total_mb",
    "client.ephemeral_disk_enforce",
    "client.ephemeral_disk_interval",
    "client.gc_disk_usage_threshold",
    "client.gc_inode_usage_threshold",
    "client.gc_interval",
    "client.gc_max_allocs",
    "client.gc_parallel_destroys",
    "client.host_network.",
    "client.host_volume.",
    "client.max_dynamic_port",
    "client.max_kill_timeout",
    "client.memory_total_mb",
    "client.meta",
    "client.min_dynamic_port",
    "client.network_interface",
    "client.network_speed",
    "client.node_class",
    "client.reservable_cores",
    "client.reserved.",
    "client.usage_history",
    "log_level",
};

bool is_same(const Target& a, const Target& b) {
  return std::visit(
      [&b](auto member) {
        if constexpr (std::is_same_v<decltype(member), std::monostate>)
          return true;
        else
          return *member == *std::get<decltype(member)>(b);
      },
      a);
}

void assign(const Target& to, const Target& from) {
  std::visit(
      [&from](auto member) {
        if constexpr (!std::is_same_v<decltype(member), std::monostate>)
          *member = *std::get<decltype(member)>(from);
      },
      to);
}

/// Compares the blocks with labels, each or none of which takes effect.
template <class Blocks>
void compare_blocks(const std::string& block,
                    Blocks& running,
                    const Blocks& wanted,
                    Reload& into,
                    bool takes_effect) {
  auto& changed = takes_effect ? into.applied : into.pending;
  for (const auto& [label, content] : wanted)
    if (const auto known = running.find(label); known == running.end() || known->second != content)
      changed.push_back(block + '.' + label);
  for (const auto& [label, content] : running)
    if (!wanted.contains(label)) changed.push_back(block + '.' + label);
  if (takes_effect) running = wanted;
}

}  // namespace

bool is_reloadable(std::string_view path) {
  return std::any_of(reloadable.begin(), reloadable.end(), [path](std::string_view each) {
    return each.ends_with('.') ? path.starts_with(each) : path == each;
  });
}

Reload reload(const AgentConfig& running, const AgentConfig& wanted) {
  Reload made{.config = running, .applied = {}, .pending = {}};
  auto before = running;
  auto after = wanted;
  std::set<Target> seen;  // Some members have two keys.
  for (const Key& key : keys()) {
    const bool has_label
        = key.path.find('*') != std::string::npos || key.path.starts_with("plugin.");
    if (key.member == nullptr || has_label) continue;
    const auto old = key.member(before, "");
    const auto fresh = key.member(after, "");
    if (is_same(old, fresh) || !seen.insert(old).second) continue;
    const bool takes_effect = is_reloadable(key.path);
    (takes_effect ? made.applied : made.pending).push_back(key.path);
    if (takes_effect) assign(key.member(made.config, ""), fresh);
  }
  compare_blocks("client.host_volume", made.config.client.host_volumes, wanted.client.host_volumes,
                 made, true);
  compare_blocks("client.host_network", made.config.client.host_networks,
                 wanted.client.host_networks, made, true);
  compare_blocks("audit.sink", made.config.audit.sinks, wanted.audit.sinks, made, false);
  compare_blocks("audit.filter", made.config.audit.filters, wanted.audit.filters, made, false);
  compare_blocks("plugin", made.config.plugins, wanted.plugins, made, false);
  // Those of plugin_dir, where there was one when the agent started.
  compare_blocks("plugin", made.config.plugin_blocks, wanted.plugin_blocks, made,
                 !running.plugin_dir.empty());
  return made;
}

}  // namespace nomad::config
