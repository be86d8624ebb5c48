#include "runtime/scheduler/explain/changes.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/object/enum_name.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"

namespace nomad::scheduler::explain {
namespace {

using JobBuilder = schema::Job::Builder;
using NodeBuilder = schema::Node::Builder;

/// What Nomad's validation asks of a task at least.
constexpr std::int64_t least_cpu_mhz = 1;
constexpr std::int64_t least_memory_mb = 10;
constexpr std::int64_t least_disk_mb = 10;

/// Calls `use` with the group of that name.
template <class Use>
void with_group(JobBuilder job, std::string_view name, Use use) {
  for (auto group : job.getTaskGroups())
    if (view(group.asReader().getName()) == name) use(group);
}

/// The constraints that `is_kept` likes, in a list of their own.
template <class Owner, class Kept>
void keep_constraints(Owner owner, Kept is_kept) {
  const auto all = owner.asReader().getConstraints();
  std::vector<unsigned> kept;
  for (unsigned i = 0; i < all.size(); ++i)
    if (is_kept(all[i])) kept.push_back(i);
  if (kept.size() == all.size()) return;
  // A list is not copied out of the message that it is replaced in.
  Draft<schema::TaskGroup> aside;
  aside->setConstraints(all);
  const auto from = aside.reader().getConstraints();
  auto to = owner.initConstraints(static_cast<unsigned>(kept.size()));
  for (unsigned i = 0; i < to.size(); ++i)
    to.setWithCaveats(i, from[kept[i]]);
}

/// A constraint's texts, apart from the job that they are of.
struct OwnedConstraint {
  std::string left;
  std::string operand;
  std::string right;

  bool is(schema::Constraint::Reader other) const {
    return view(other.getLTarget()) == left && view(other.getOperand()) == operand
           && view(other.getRTarget()) == right;
  }
};

Change without_constraint(const NodeJudge& judge, std::size_t number) {
  const auto& spec = judge.constraints().at(number);
  const OwnedConstraint gone{std::string{spec.left}, std::string{spec.operand},
                             std::string{spec.right}};
  const auto is_kept = [gone](schema::Constraint::Reader one) { return !gone.is(one); };
  Change change{.text = "without the constraint " + shown(spec)};
  if (judge.constraints().is_of_job(number)) {
    change.of_job.emplace_back([is_kept](JobBuilder job) { keep_constraints(job, is_kept); });
    return change;
  }
  change.of_job.emplace_back([is_kept, name = std::string{judge.group().name}](JobBuilder job) {
    with_group(job, name, [&](schema::TaskGroup::Builder group) {
      keep_constraints(group, is_kept);
      for (auto task : group.getTasks())
        keep_constraints(task, is_kept);
    });
  });
  return change;
}

Change without_distinct_hosts(const NodeJudge& judge) {
  const auto is_kept
      = [](schema::Constraint::Reader one) { return view(one.getOperand()) != "distinct_hosts"; };
  Change change{.text = "without distinct_hosts"};
  change.of_job.emplace_back([is_kept, name = std::string{judge.group().name}](JobBuilder job) {
    keep_constraints(job, is_kept);
    with_group(job, name,
               [&](schema::TaskGroup::Builder group) { keep_constraints(group, is_kept); });
  });
  return change;
}

std::optional<Change> more_of_property(const NodeJudge& judge,
                                       std::size_t index,
                                       schema::Node::Reader node) {
  const auto& property = judge.group().distinct_properties[index];
  const auto value = resolve_target(property.attribute, node);
  if (!value) return std::nullopt;
  const auto& counts = judge.ground().selector().distinct_counts(judge.group())[index];
  const auto limit = std::to_string(counts.count(*value) + 1);
  const auto attribute = std::string{property.attribute};
  Change change{.text
                = fmt::format("distinct_property {} {} -> {}", attribute, property.limit, limit)};
  const auto raise = [attribute, limit](auto owner) {
    for (auto one : owner.getConstraints())
      if (view(one.asReader().getOperand()) == "distinct_property"
          && view(one.asReader().getLTarget()) == attribute)
        one.setRTarget(text(limit));
  };
  const auto name = std::string{judge.group().name};
  change.of_job.emplace_back([raise, name, whole = property.whole_job](JobBuilder job) {
    if (whole) raise(job);
    if (!whole) with_group(job, name, raise);
  });
  return change;
}

Change with_datacenter(schema::Node::Reader node) {
  const auto name = copy(node.getDatacenter());
  Change change{.text = fmt::format("datacenter \"{}\" among the job's", name)};
  change.of_job.emplace_back([name](JobBuilder job) {
    auto names = texts_of(job.asReader().getDatacenters());
    names.push_back(name);
    auto list = job.initDatacenters(static_cast<unsigned>(names.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.set(i, text(names[i]));
  });
  return change;
}

Change with_pool(schema::Node::Reader node) {
  const auto name = copy(node.getNodePool());
  Change change{.text = fmt::format("node_pool = \"{}\"", name)};
  change.of_job.emplace_back([name](JobBuilder job) { job.setNodePool(text(name)); });
  return change;
}

Change with_port_anywhere(const NodeJudge& judge, std::size_t index) {
  const auto ports = judge.group().group.getNetworks()[0].getReservedPorts();
  const auto port = ports[static_cast<unsigned>(index)];
  const auto label = copy(port.getLabel());
  Change change{.text = fmt::format("port \"{}\" not static", label)};
  change.of_job.emplace_back([label, name = std::string{judge.group().name}](JobBuilder job) {
    with_group(job, name, [&](schema::TaskGroup::Builder group) {
      auto network = group.getNetworks()[0];
      Draft<schema::NetworkResource> aside{network.asReader()};
      const auto fixed = aside.reader().getReservedPorts();
      const auto free = aside.reader().getDynamicPorts();
      std::vector<schema::Port::Reader> kept;
      std::vector<schema::Port::Reader> moved;
      for (const auto one : free)
        moved.push_back(one);
      for (const auto one : fixed)
        (view(one.getLabel()) == label ? moved : kept).push_back(one);
      auto statics = network.initReservedPorts(static_cast<unsigned>(kept.size()));
      for (unsigned i = 0; i < statics.size(); ++i)
        statics.setWithCaveats(i, kept[i]);
      auto dynamics = network.initDynamicPorts(static_cast<unsigned>(moved.size()));
      for (unsigned i = 0; i < dynamics.size(); ++i) {
        dynamics.setWithCaveats(i, moved[i]);
        if (view(moved[i].getLabel()) == label) dynamics[i].setValue(0);
      }
    });
  });
  return change;
}

/// The task that asks for most of an amount, by its name.
template <class Of>
const TaskSpec* largest_task(const GroupSpec& group, Of of) {
  const auto largest
      = std::ranges::max_element(group.tasks, {}, [&of](const TaskSpec& task) { return of(task); });
  return largest == group.tasks.end() ? nullptr : &*largest;
}

using SetAmount = void (*)(schema::Resources::Builder resources, std::int64_t value);

/// `less` of the amount for the task that has most of it, if that leaves it `least`.
template <class Of>
std::optional<Change> less_of_task(const GroupSpec& group,
                                   std::string_view what,
                                   std::int64_t less,
                                   std::int64_t least,
                                   Of of,
                                   SetAmount set) {
  const auto* task = largest_task(group, of);
  if (task == nullptr || of(*task) - less < least) return std::nullopt;
  const auto left = of(*task) - less;
  Change change{.text = fmt::format("{} {} (task \"{}\": {} -> {})", less, what, task->name,
                                    of(*task), left)};
  change.of_job.emplace_back(
      [name = std::string{group.name}, task = std::string{task->name}, left, set](JobBuilder job) {
        with_group(job, name, [&](schema::TaskGroup::Builder builder) {
          for (auto one : builder.getTasks())
            if (view(one.asReader().getName()) == task) set(one.getResources(), left);
        });
      });
  return change;
}

std::optional<Change> less_disk(const GroupSpec& group, std::int64_t less) {
  if (group.disk_mb - less < least_disk_mb) return std::nullopt;
  const auto left = group.disk_mb - less;
  Change change{.text = fmt::format("{} MiB less disk (ephemeral_disk: {} -> {})", less,
                                    group.disk_mb, left)};
  change.of_job.emplace_back([name = std::string{group.name}, left](JobBuilder job) {
    with_group(job, name, [left](schema::TaskGroup::Builder builder) {
      builder.getEphemeralDisk().setSizeMb(left);
    });
  });
  return change;
}

std::optional<Change> less_of(const GroupSpec& group, Obstacle what, const Amount& amount) {
  const auto less = amount.asked - std::max<std::int64_t>(amount.free, 0);
  if (amount.free < 0 && amount.asked == 0) return std::nullopt;
  if (what == Obstacle::disk) return less_disk(group, less);
  if (what == Obstacle::memory)
    return less_of_task(
        group, "MiB less memory", less, least_memory_mb,
        [](const TaskSpec& task) { return task.memory_mb; },
        [](schema::Resources::Builder resources, std::int64_t value) {
          resources.setMemoryMb(value);
        });
  if (what == Obstacle::cores)
    return less_of_task(
        group, less == 1 ? "core less" : "cores less", less, 1,
        [](const TaskSpec& task) { return task.cores; },
        [](schema::Resources::Builder resources, std::int64_t value) {
          resources.setCores(value);
        });
  // The processor time of reserved cores is theirs.
  return less_of_task(
      group, "MHz less cpu", less, least_cpu_mhz,
      [](const TaskSpec& task) { return task.cores > 0 ? 0 : task.cpu; },
      [](schema::Resources::Builder resources, std::int64_t value) { resources.setCpu(value); });
}

Change with_driver(std::string_view driver, schema::Node::Reader node) {
  const auto position = find_entry(node.getDrivers(), driver);
  const bool is_there = position && node.getDrivers()[*position].getValue().getDetected();
  Change change{
      .text = fmt::format("driver \"{}\" {}", driver, is_there ? "healthy there" : "on the node")};
  change.of_node.emplace_back([name = std::string{driver}](NodeBuilder builder) {
    Draft<schema::Node> aside{builder.asReader()};
    std::map<std::string, schema::DriverInfo::Reader> all;
    for (const auto entry : aside.reader().getDrivers())
      all.emplace(copy(entry.getKey()), entry.getValue());
    all.try_emplace(name);
    auto list = builder.initDrivers(static_cast<unsigned>(all.size()));
    unsigned next = 0;
    for (const auto& [key, info] : all) {
      list[next].setKey(text(key));
      list[next].setValue(info);
      if (key == name) {
        list[next].getValue().setDetected(true);
        list[next].getValue().setHealthy(true);
      }
      ++next;
    }
  });
  return change;
}

Change with_volume(const VolumeSpec& volume, std::string_view name, schema::Node::Reader node) {
  const auto source = source_of(volume, name);
  const bool is_there = find_entry(node.getHostVolumes(), source).has_value();
  Change change{.text = fmt::format("host volume \"{}\" {}", source,
                                    is_there ? "writable there" : "on the node")};
  change.of_node.emplace_back([source](NodeBuilder builder) {
    Draft<schema::Node> aside{builder.asReader()};
    std::map<std::string, schema::HostVolume::Reader> all;
    for (const auto entry : aside.reader().getHostVolumes())
      all.emplace(copy(entry.getKey()), entry.getValue());
    all.try_emplace(source);
    auto list = builder.initHostVolumes(static_cast<unsigned>(all.size()));
    unsigned next = 0;
    for (const auto& [key, info] : all) {
      list[next].setKey(text(key));
      list[next].setValue(info);
      if (key == source) list[next].getValue().setReadOnly(false);
      ++next;
    }
  });
  return change;
}

Change with_ready_node(Obstacle what, schema::Node::Reader node) {
  if (what == Obstacle::status) {
    Change change{.text = fmt::format("the node ready (it is {})", enum_name(node.getStatus()))};
    change.of_node.emplace_back(
        [](NodeBuilder builder) { builder.setStatus(schema::NodeStatus::READY); });
    return change;
  }
  Change change{.text = what == Obstacle::drain ? "the node's drain ended" : "the node eligible"};
  change.of_node.emplace_back([](NodeBuilder builder) {
    builder.disownDrainStrategy();
    builder.setSchedulingEligibility(schema::SchedulingEligibility::ELIGIBLE);
  });
  return change;
}

std::optional<Change> change_of_node(const NodeJudge& judge,
                                     ReasonId id,
                                     schema::Node::Reader node) {
  const auto what = obstacle_of(id);
  if (what == Obstacle::status || what == Obstacle::drain || what == Obstacle::eligibility)
    return with_ready_node(what, node);
  if (what == Obstacle::driver) return with_driver(judge.group().drivers[index_of(id)], node);
  if (what == Obstacle::host_volume)
    return with_volume(judge.group().host_volumes[index_of(id)], judge.alloc_name(), node);
  return std::nullopt;
}

std::optional<Change> change_of_job(const NodeJudge& judge, ReasonId id, const Refused& refused) {
  const auto node = **refused.node;
  const auto what = obstacle_of(id);
  if (what == Obstacle::constraint) return without_constraint(judge, index_of(id));
  if (what == Obstacle::distinct_hosts) return without_distinct_hosts(judge);
  if (what == Obstacle::distinct_property) return more_of_property(judge, index_of(id), node);
  if (what == Obstacle::datacenter) return with_datacenter(node);
  if (what == Obstacle::node_pool) return with_pool(node);
  if (what == Obstacle::port) return with_port_anywhere(judge, index_of(id));
  if (is_amount(what) && refused.amounts)
    return less_of(judge.group(), what, refused.amounts->of(what));
  return std::nullopt;
}

}  // namespace

std::optional<Change> change_for(const NodeJudge& judge,
                                 std::span<const ReasonId> against,
                                 const Refused& refused) {
  Change all;
  std::vector<std::string> texts;
  for (const auto id : against) {
    auto one = change_of_node(judge, id, **refused.node);
    if (!one) one = change_of_job(judge, id, refused);
    if (!one) return std::nullopt;
    texts.push_back(std::move(one->text));
    std::ranges::move(one->of_job, std::back_inserter(all.of_job));
    std::ranges::move(one->of_node, std::back_inserter(all.of_node));
  }
  all.text = join(texts, ", and ");
  return all;
}

Object<schema::Job> changed(const Object<schema::Job>& job, const Change& change) {
  if (change.of_job.empty()) return job;
  Draft<schema::Job> draft{job};
  for (const auto& edit : change.of_job)
    edit(*draft);
  return draft.freeze();
}

Object<schema::Node> changed(const Object<schema::Node>& node, const Change& change) {
  if (change.of_node.empty()) return node;
  Draft<schema::Node> draft{node};
  for (const auto& edit : change.of_node)
    edit(*draft);
  draft->setComputedClass("");  // it is like no other
  return draft.freeze();
}

int reach_of(std::span<const ReasonId> against) {
  int reach = 0;
  for (const auto id : against) {
    const auto what = obstacle_of(id);
    if (is_amount(what)) continue;
    const bool is_of_machine
        = what == Obstacle::driver || what == Obstacle::host_volume || what == Obstacle::status;
    reach = std::max(reach, is_of_machine ? 2 : 1);
  }
  return reach;
}

}  // namespace nomad::scheduler::explain
