#include "runtime/scheduler/placement/job_spec.hpp"

#include <algorithm>
#include <charconv>

#include "runtime/object/entries.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/state/volumes/claims.hpp"

namespace nomad::scheduler {
namespace {

using Constraints = capnp::List<schema::Constraint>::Reader;

bool is_false(std::string_view text) {
  return text == "0" || text == "f" || text == "F" || text == "false" || text == "FALSE"
         || text == "False";
}

std::uint64_t parse_limit(std::string_view text) {
  std::uint64_t limit = 1;
  if (!text.empty()) std::from_chars(text.data(), text.data() + text.size(), limit);
  return limit;
}

/// Takes the constraints that one node answers alone; returns whether one of them escapes.
bool collect(Constraints from, std::vector<ConstraintSpec>& into) {
  bool escapes = false;
  for (const auto constraint : from) {
    const auto operand = view(constraint.getOperand());
    if (operand == "distinct_hosts" || operand == "distinct_property") continue;
    const auto left = view(constraint.getLTarget());
    const auto right = view(constraint.getRTarget());
    into.push_back({left, right, operand});
    escapes = escapes || target_escapes_class(left) || target_escapes_class(right);
  }
  return escapes;
}

/// Takes the constraints about other allocations of the job.
void collect_distinct(Constraints from, bool whole_job, GroupSpec& into) {
  for (const auto constraint : from) {
    const auto operand = view(constraint.getOperand());
    if (operand == "distinct_hosts" && !is_false(view(constraint.getRTarget())))
      (whole_job ? into.distinct_hosts_of_job : into.distinct_hosts_of_group) = true;
    if (operand == "distinct_property") {
      into.distinct_properties.push_back(
          {view(constraint.getLTarget()), parse_limit(view(constraint.getRTarget())), whole_job});
    }
  }
}

void collect(capnp::List<schema::Affinity>::Reader from, std::vector<AffinitySpec>& into) {
  for (const auto affinity : from) {
    into.push_back({view(affinity.getLTarget()), view(affinity.getRTarget()),
                    view(affinity.getOperand()), static_cast<double>(affinity.getWeight())});
  }
}

void collect(capnp::List<schema::Spread>::Reader from, std::vector<SpreadSpec>& into) {
  for (const auto spread : from) {
    const auto attribute = view(spread.getAttribute());
    const bool known = std::ranges::any_of(
        into, [attribute](const SpreadSpec& other) { return other.attribute == attribute; });
    if (known) continue;
    SpreadSpec spec{attribute, static_cast<double>(spread.getWeight()), {}};
    for (const auto target : spread.getSpreadTarget())
      spec.targets.push_back({view(target.getValue()), static_cast<double>(target.getPercent())});
    into.push_back(std::move(spec));
  }
}

TaskSpec make_task(schema::Task::Reader task) {
  const auto resources = task.getResources();
  TaskSpec spec;
  spec.name = view(task.getName());
  spec.task = task;
  spec.cpu = resources.getCpu();
  spec.cores = resources.getCores();
  spec.memory_mb = resources.getMemoryMb();
  spec.memory_max_mb = resources.getMemoryMaxMb();
  return spec;
}

}  // namespace

JobSpec::JobSpec(Object<schema::Job> job) : job_{std::move(job)} {
  const auto reader = *job_;
  type_ = view(reader.getType());
  escapes_class_ = collect(reader.getConstraints(), constraints_);
  groups_.reserve(reader.getTaskGroups().size());
  for (const auto group : reader.getTaskGroups())
    groups_.push_back(make_group(group));
}

GroupSpec JobSpec::make_group(schema::TaskGroup::Reader group) const {
  const auto job = *job_;
  GroupSpec spec;
  spec.name = view(group.getName());
  spec.group = group;
  spec.count = group.getCount();
  spec.disk_mb = group.getEphemeralDisk().getSizeMb();
  spec.escapes_class = collect(group.getConstraints(), spec.constraints);
  collect_distinct(job.getConstraints(), true, spec);
  collect_distinct(group.getConstraints(), false, spec);
  collect(job.getAffinities(), spec.affinities);
  collect(group.getAffinities(), spec.affinities);
  collect(job.getSpreads(), spec.spreads);
  collect(group.getSpreads(), spec.spreads);
  for (const auto task : group.getTasks()) {
    spec.tasks.push_back(make_task(task));
    spec.drivers.push_back(view(task.getDriver()));
    spec.escapes_class |= collect(task.getConstraints(), spec.constraints);
    collect(task.getAffinities(), spec.affinities);
    spec.has_devices = spec.has_devices || task.getResources().getDevices().size() > 0;
  }
  std::ranges::sort(spec.drivers);
  spec.drivers.erase(std::unique(spec.drivers.begin(), spec.drivers.end()), spec.drivers.end());
  for (const auto entry : group.getVolumes()) {
    const auto volume = entry.getValue();
    auto& volumes = view(volume.getType()) == "host" ? spec.host_volumes : spec.csi_volumes;
    volumes.push_back({view(volume.getSource()), volume.getReadOnly(), volume.getPerAlloc(),
                       state::access_mode_of(view(volume.getAccessMode())),
                       state::attachment_mode_of(view(volume.getAttachmentMode()))});
  }
  return spec;
}

const GroupSpec* JobSpec::find(std::string_view group) const {
  for (const auto& spec : groups_) {
    if (spec.name == group) return &spec;
  }
  return nullptr;
}

}  // namespace nomad::scheduler
