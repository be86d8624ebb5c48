// A scheduler: jobs of the type "labels" go where the node's label is that of the job, evenly:
//
//     job "db" { type = "labels"  meta { label = "ssd" }  … }      client { meta { label = "ssd" }
//     }
//
// What runs elsewhere, because a label has changed, is stopped and placed anew.
#include <algorithm>

#include <nomadctl/plugin/plugin.hpp>

using namespace nomad;
using namespace nomad::plugin;

namespace {

struct Location {
  std::string node_id;
  std::size_t allocs = 0;  ///< Of the job.
  std::int64_t memory_mb = 0;

  /// The one with fewer allocations is taken first; of those the one with more room.
  bool operator<(const Location& other) const {
    return allocs != other.allocs ? allocs < other.allocs : memory_mb > other.memory_mb;
  }
};

std::string label_of(schema::Job::Reader job) {
  for (const auto entry : job.getMeta())
    if (view(entry.getKey()) == "label") return copy(entry.getValue());
  return {};
}

Result<Decision> decide(Agent&, schema::plugin::Scheduling::Reader question) {
  const auto label = label_of(question.getJob());
  std::vector<Location> locations;
  for (const auto node : question.getNodes())
    if (view(node.getValues()[0]) == label)
      locations.push_back({copy(node.getId()), 0, node.getMemoryMb()});
  const auto location_of = [&locations](std::string_view node_id) {
    return std::ranges::find(locations, node_id, &Location::node_id);
  };

  Decision decision;
  for (const auto group : question.getJob().getTaskGroups()) {
    std::int64_t kept = 0;
    for (const auto alloc : question.getAllocs()) {
      if (view(alloc.getGroup()) != view(group.getName()) || !counts(alloc)) continue;
      const auto location = location_of(view(alloc.getNodeId()));
      if (location == locations.end()) {
        decision.stops.push_back({copy(alloc.getId()), "its node has another label"});
      } else if (alloc.getOutdated() || kept == group.getCount()) {
        decision.stops.push_back({copy(alloc.getId())});
      } else {
        ++kept;
        ++location->allocs;
      }
    }
    if (const auto missing = group.getCount() - kept; missing > 0 && locations.empty())
      decision.unplaced.push_back({copy(group.getName()), static_cast<unsigned>(missing),
                                   "no node has the label \"" + label + '"'});
    for (; kept < group.getCount() && !locations.empty(); ++kept) {
      const auto best = std::min_element(locations.begin(), locations.end());
      decision.placements.push_back({copy(group.getName()), best->node_id});
      ++best->allocs;
    }
  }
  return decision;
}

}  // namespace

void describe(Plugin& plugin) {
  plugin.is("labels", "1.0.0");
  plugin.scheduler({.type = "labels", .reads = {"${meta.label}"}}, scheduler_of(decide));
}

NOMADCTL_PLUGIN(describe)
