// What of a group and its tasks must be equal is told by the $update annotations of the schema: a
// field that says nothing is compared as it is, those marked `special` are compared here, each for
// the reason given.
#include "runtime/scheduler/reconcile/tasks_updated.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include <capnp/any.h>

#include "runtime/object/annotations.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/meaning.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"
#include "schema/annotations.capnp.h"

namespace nomad::scheduler {
namespace {

using Job = schema::Job::Reader;
using Group = schema::TaskGroup::Reader;
using Task = schema::Task::Reader;
using Networks = capnp::List<schema::NetworkResource>::Reader;

bool same(capnp::Text::Reader a, capnp::Text::Reader b) {
  return view(a) == view(b);
}

// ---- what annotations say

/// The fields of a struct that running allocations can't take over, found once.
struct ComparedFields {
  struct Entry {
    const object::FieldPlan& field;
    const ComparedFields* nested = nullptr;  ///< of a struct
  };

  std::vector<Entry> entries;
};

schema::Update declared_update(const object::FieldPlan& field) {
  const auto said = object::Annotations{field.field.getProto()}.find(object::Annotation::update);
  return said ? static_cast<schema::Update>(said->getEnum()) : schema::Update::DESTRUCTIVE;
}

class ComparedStructs {
public:
  const ComparedFields& of(const object::StructPlan& plan) {
    const auto [slot, is_new] = structs_.try_emplace(&plan);
    if (!is_new) return slot->second;
    for (const auto& field : plan.fields) {
      if (declared_update(field) != schema::Update::DESTRUCTIVE) continue;
      const bool is_struct = field.value.shape == object::Shape::object;
      slot->second.entries.push_back({field, is_struct ? &of(*field.value.fields) : nullptr});
    }
    return slot->second;
  }

private:
  std::map<const object::StructPlan*, ComparedFields> structs_;  // they stay where they are
};

struct Comparisons {
  const ComparedFields& group;
  const ComparedFields& task;
};

const Comparisons& comparisons() {
  static ComparedStructs structs;
  static const Comparisons all{
      structs.of(object::plan_of(capnp::Schema::from<schema::TaskGroup>())),
      structs.of(object::plan_of(capnp::Schema::from<schema::Task>()))};
  return all;
}

bool same_fields(const ComparedFields& fields,
                 capnp::AnyStruct::Reader a,
                 capnp::AnyStruct::Reader b) {
  return std::ranges::all_of(fields.entries, [&](const ComparedFields::Entry& entry) {
    if (entry.nested == nullptr) return object::same_field(entry.field, a, b);
    const auto slot = entry.field.slot;
    return same_fields(*entry.nested, object::struct_at(slot, a), object::struct_at(slot, b));
  });
}

// ---- what they can't say

/// A port as far as it matters before it is given a value: a dynamic one is -1.
using PortKey = std::tuple<std::string_view, std::int32_t, std::int32_t, std::string_view, bool>;

std::vector<PortKey> ports_of(schema::NetworkResource::Reader network) {
  std::vector<PortKey> ports;
  for (const auto port : network.getReservedPorts())
    ports.emplace_back(view(port.getLabel()), port.getValue(), port.getTo(),
                       view(port.getHostNetwork()), port.getIgnoreCollision());
  for (const auto port : network.getDynamicPorts())
    ports.emplace_back(view(port.getLabel()), -1, port.getTo(), view(port.getHostNetwork()), false);
  std::ranges::sort(ports);
  return ports;
}

bool same_networks(Networks a, Networks b) {
  if (a.size() != b.size()) return false;
  for (unsigned i = 0; i < a.size(); ++i) {
    if (!same(a[i].getMode(), b[i].getMode()) || a[i].getMBits() != b[i].getMBits()
        || !same(a[i].getHostname(), b[i].getHostname())
        || !object::same_meaning(a[i].getDns(), b[i].getDns()) || ports_of(a[i]) != ports_of(b[i]))
      return false;
  }
  return true;
}

using Meta = std::map<std::string_view, std::string_view>;

void merge(Meta& into, capnp::List<schema::TextEntry>::Reader from) {
  for (const auto entry : from)
    into[view(entry.getKey())] = view(entry.getValue());
}

Meta merged_meta(Job job, Group group, Task task) {
  Meta meta;
  merge(meta, job.getMeta());
  merge(meta, group.getMeta());
  merge(meta, task.getMeta());
  return meta;
}

using AffinityKey = std::tuple<std::string_view, std::string_view, std::string_view, int>;

std::vector<AffinityKey> merged_affinities(Job job, Group group) {
  std::vector<AffinityKey> all;
  const auto add = [&all](capnp::List<schema::Affinity>::Reader affinities) {
    for (const auto affinity : affinities)
      all.emplace_back(view(affinity.getLTarget()), view(affinity.getRTarget()),
                       view(affinity.getOperand()), affinity.getWeight());
  };
  add(job.getAffinities());
  add(group.getAffinities());
  for (const auto task : group.getTasks())
    add(task.getAffinities());
  return all;
}

bool same_spreads(Job job_a, Group a, Job job_b, Group b) {
  const auto collect = [](Job job, Group group) {
    std::vector<schema::Spread::Reader> all;
    for (const auto spread : job.getSpreads())
      all.push_back(spread);
    for (const auto spread : group.getSpreads())
      all.push_back(spread);
    return all;
  };
  return std::ranges::equal(collect(job_a, a), collect(job_b, b),
                            [](auto x, auto y) { return object::same_meaning(x, y); });
}

/// Connect of the group's services; its proxies are built once.
bool same_connect(Group a, Group b) {
  const auto collect = [](Group group) {
    std::vector<schema::Service::Reader> all;
    for (const auto service : group.getServices())
      if (service.getConnect().size() > 0) all.push_back(service);
    return all;
  };
  return std::ranges::equal(collect(a), collect(b), [](auto x, auto y) {
    return x.getName() == y.getName() && x.getPortLabel() == y.getPortLabel()
           && object::same_json(view(x.getConnect()), view(y.getConnect()),
                                object::EmptyMember::is_absent);
  });
}

/// Beside what annotations say: ports of networks have no values yet, names and meta are compared
/// by who looks for the task, and affinities with those of the group.
bool same_task(Task a, Task b) {
  return same_fields(comparisons().task, a, b)
         && same_networks(a.getResources().getNetworks(), b.getResources().getNetworks());
}

/// Beside what annotations say: ports as above; affinities and spreads count together with the
/// job's; of services only Connect counts.
bool same_group(Job job_a, Group a, Job job_b, Group b) {
  return a.getTasks().size() == b.getTasks().size() && same_fields(comparisons().group, a, b)
         && same_networks(a.getNetworks(), b.getNetworks())
         && merged_affinities(job_a, a) == merged_affinities(job_b, b)
         && same_spreads(job_a, a, job_b, b) && same_connect(a, b);
}

std::optional<Task> find_task(Group group, capnp::Text::Reader name) {
  for (const auto task : group.getTasks()) {
    if (same(task.getName(), name)) return task;
  }
  return std::nullopt;
}

}  // namespace

bool tasks_updated(Job before, Job after, std::string_view name) {
  const auto old_group = find_group(before, name);
  const auto new_group = find_group(after, name);
  if (!old_group || !new_group) return true;
  if (!same_group(before, *old_group, after, *new_group)) return true;
  for (const auto task : old_group->getTasks()) {
    const auto match = find_task(*new_group, task.getName());
    if (!match || !same_task(task, *match)
        || merged_meta(before, *old_group, task) != merged_meta(after, *new_group, *match))
      return true;
  }
  return false;
}

}  // namespace nomad::scheduler
