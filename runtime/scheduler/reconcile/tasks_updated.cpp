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
#include <capnp/dynamic.h>

#include "runtime/object/annotations.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"
#include "schema/annotations.capnp.h"

namespace nomad::scheduler {
namespace {

using Job = schema::Job::Reader;
using Group = schema::TaskGroup::Reader;
using Task = schema::Task::Reader;
using Networks = capnp::List<schema::NetworkResource>::Reader;

template <class Reader>
bool same_struct(Reader a, Reader b) {
  return capnp::AnyStruct::Reader{a} == capnp::AnyStruct::Reader{b};
}

bool same(capnp::Text::Reader a, capnp::Text::Reader b) {
  return view(a) == view(b);
}

// ---- what annotations say

/// The fields of a struct that running allocations can't take over, found once.
struct ComparedFields {
  struct Entry {
    capnp::StructSchema::Field field;
    const ComparedFields* nested = nullptr;  ///< of a struct
  };

  std::vector<Entry> entries;
};

schema::Update declared_update(capnp::StructSchema::Field field) {
  const auto said = object::Annotations{field.getProto()}.find(object::Annotation::update);
  return said ? static_cast<schema::Update>(said->getEnum()) : schema::Update::DESTRUCTIVE;
}

class ComparedStructs {
public:
  const ComparedFields& of(capnp::StructSchema schema) {
    const auto [slot, is_new] = structs_.try_emplace(schema.getProto().getId());
    if (!is_new) return slot->second;
    for (const auto field : schema.getFields()) {
      if (declared_update(field) != schema::Update::DESTRUCTIVE) continue;
      const auto type = field.getType();
      slot->second.entries.push_back({field, type.isStruct() ? &of(type.asStruct()) : nullptr});
    }
    return slot->second;
  }

private:
  std::map<std::uint64_t, ComparedFields> structs_;  // they stay where they are
};

struct Comparisons {
  const ComparedFields& group;
  const ComparedFields& task;
};

const Comparisons& comparisons() {
  static ComparedStructs structs;
  static const Comparisons all{structs.of(capnp::Schema::from<schema::TaskGroup>()),
                               structs.of(capnp::Schema::from<schema::Task>())};
  return all;
}

bool same_fields(const ComparedFields& fields,
                 const capnp::DynamicStruct::Reader& a,
                 const capnp::DynamicStruct::Reader& b);

/// Byte by byte, but an absent list is an empty one.
bool same_list(capnp::StructSchema::Field field,
               const capnp::DynamicStruct::Reader& a,
               const capnp::DynamicStruct::Reader& b) {
  const auto size = a.get(field).as<capnp::DynamicList>().size();
  if (b.get(field).as<capnp::DynamicList>().size() != size) return false;
  if (size == 0) return true;
  const auto place = field.getProto().getSlot().getOffset();
  const auto bytes = [place](const capnp::DynamicStruct::Reader& in) {
    return capnp::AnyStruct::Reader{in}.getPointerSection()[place].getAs<capnp::AnyList>();
  };
  return bytes(a) == bytes(b);
}

/// An absent struct is one of zeros, an absent text an empty one.
bool same_field(const ComparedFields::Entry& entry,
                const capnp::DynamicStruct::Reader& a,
                const capnp::DynamicStruct::Reader& b) {
  using Which = capnp::schema::Type::Which;
  const auto type = entry.field.getType();
  if (type.isList()) return same_list(entry.field, a, b);
  const auto left = a.get(entry.field);
  const auto right = b.get(entry.field);
  switch (type.which()) {
    case Which::STRUCT:
      return same_fields(*entry.nested, left.as<capnp::DynamicStruct>(),
                         right.as<capnp::DynamicStruct>());
    case Which::TEXT:
      return same(left.as<capnp::Text>(), right.as<capnp::Text>());
    case Which::DATA:
      return left.as<capnp::Data>() == right.as<capnp::Data>();
    case Which::BOOL:
      return left.as<bool>() == right.as<bool>();
    case Which::UINT8:
    case Which::UINT16:
    case Which::UINT32:
    case Which::UINT64:
      return left.as<std::uint64_t>() == right.as<std::uint64_t>();
    case Which::FLOAT32:
    case Which::FLOAT64:
      return left.as<double>() == right.as<double>();
    case Which::ENUM:
      return left.as<capnp::DynamicEnum>().getRaw() == right.as<capnp::DynamicEnum>().getRaw();
    default:
      return left.as<std::int64_t>() == right.as<std::int64_t>();
  }
}

bool same_fields(const ComparedFields& fields,
                 const capnp::DynamicStruct::Reader& a,
                 const capnp::DynamicStruct::Reader& b) {
  return std::ranges::all_of(fields.entries, [&](const ComparedFields::Entry& entry) {
    // Only one member of a union is there to be read.
    if (entry.field.getProto().getDiscriminantValue() != capnp::schema::Field::NO_DISCRIMINANT) {
      const auto is_set = [&](const capnp::DynamicStruct::Reader& in) {
        const auto which = in.which();
        return which != nullptr && KJ_ASSERT_NONNULL(which) == entry.field;
      };
      if (!is_set(a) || !is_set(b)) return is_set(a) == is_set(b);
      if (entry.field.getType().isVoid()) return true;
    }
    return same_field(entry, a, b);
  });
}

// ---- what they can't say

/// A port as far as it matters before it is given a value: a dynamic one is -1.
using PortKey = std::tuple<std::string_view, std::int32_t, std::int32_t, std::string_view>;

std::vector<PortKey> ports_of(schema::NetworkResource::Reader network) {
  std::vector<PortKey> ports;
  for (const auto port : network.getReservedPorts())
    ports.emplace_back(view(port.getLabel()), port.getValue(), port.getTo(),
                       view(port.getHostNetwork()));
  for (const auto port : network.getDynamicPorts())
    ports.emplace_back(view(port.getLabel()), -1, port.getTo(), view(port.getHostNetwork()));
  std::ranges::sort(ports);
  return ports;
}

bool same_networks(Networks a, Networks b) {
  if (a.size() != b.size()) return false;
  for (unsigned i = 0; i < a.size(); ++i) {
    if (!same(a[i].getMode(), b[i].getMode()) || a[i].getMBits() != b[i].getMBits()
        || !same(a[i].getHostname(), b[i].getHostname())
        || !same_struct(a[i].getDns(), b[i].getDns()) || ports_of(a[i]) != ports_of(b[i]))
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
                            [](auto x, auto y) { return same_struct(x, y); });
}

/// Connect of the group's services; its proxies are built once.
std::vector<std::tuple<std::string_view, std::string_view, std::string_view>> connect_of(
    Group group) {
  std::vector<std::tuple<std::string_view, std::string_view, std::string_view>> all;
  for (const auto service : group.getServices()) {
    if (service.getConnect().size() > 0)
      all.emplace_back(view(service.getName()), view(service.getPortLabel()),
                       view(service.getConnect()));
  }
  return all;
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
         && same_spreads(job_a, a, job_b, b) && connect_of(a) == connect_of(b);
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
