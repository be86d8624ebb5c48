// Features: what may occur in a case. Each can be left out, so that a failing case is made smaller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nomad::properties {

enum class Feature : std::uint8_t {
  batch,
  system,
  sysbatch,
  rolling_updates,
  canaries,
  devices,
  spread,
  affinity,
  distinct,
  static_ports,
  dynamic_ports,
  cores,
  volumes,
  constraints,
  lifecycles,
  several_groups,
  limited_reschedules,
  disconnects,
  places,  ///< Datacenters, node pools.
  drains,
  ineligibility,
  node_loss,     ///< Nodes go down, come back, are deregistered.
  node_changes,  ///< Attributes of nodes that run something change.
  failures,      ///< Tasks fail.
  health,        ///< Allocations of deployments become unhealthy.
  operators,     ///< Allocations are stopped, deployments paused, failed, promoted by hand.
  several_workers,
  leader_changes,
  crashes,  ///< A worker loses what it works on; the evaluation is delivered again.
  purges,
  settings,  ///< Scheduler configuration changes.
  all_at_once,
  preemption,
  parts,  ///< Plans are cut, as those are that are too long for an entry.
};

inline constexpr std::array<std::string_view, 34> feature_names{"batch",
                                                                "system",
                                                                "sysbatch",
                                                                "rolling_updates",
                                                                "canaries",
                                                                "devices",
                                                                "spread",
                                                                "affinity",
                                                                "distinct",
                                                                "static_ports",
                                                                "dynamic_ports",
                                                                "cores",
                                                                "volumes",
                                                                "constraints",
                                                                "lifecycles",
                                                                "several_groups",
                                                                "limited_reschedules",
                                                                "disconnects",
                                                                "places",
                                                                "drains",
                                                                "ineligibility",
                                                                "node_loss",
                                                                "node_changes",
                                                                "failures",
                                                                "health",
                                                                "operators",
                                                                "several_workers",
                                                                "leader_changes",
                                                                "crashes",
                                                                "purges",
                                                                "settings",
                                                                "all_at_once",
                                                                "preemption",
                                                                "parts"};

class Features {
public:
  bool has(Feature feature) const { return (bits_ >> static_cast<unsigned>(feature) & 1) != 0; }

  Features without(Feature feature) const {
    auto rest = *this;
    rest.bits_ &= ~(std::uint64_t{1} << static_cast<unsigned>(feature));
    return rest;
  }

  Features with(Feature feature) const {
    auto more = *this;
    more.bits_ |= std::uint64_t{1} << static_cast<unsigned>(feature);
    return more;
  }

  static Features all();

  static std::optional<Feature> find(std::string_view name) {
    for (std::size_t i = 0; i < feature_names.size(); ++i)
      if (feature_names[i] == name) return static_cast<Feature>(i);
    return std::nullopt;
  }

private:
  std::uint64_t bits_ = 0;
};

inline Features Features::all() {
  Features all;
  for (std::size_t i = 0; i < feature_names.size(); ++i)
    all = all.with(static_cast<Feature>(i));
  return all;
}

}  // namespace nomad::properties
