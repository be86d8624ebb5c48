// Explain beside a brute force that shares nothing with it but the operators of constraints, and
// beside the real scheduler, on random clusters. NOMAD_SEED and NOMAD_CASES choose others.
#include <cmath>
#include <cstdlib>
#include <regex>
#include <set>

#include "runtime/object/entries.hpp"
#include "runtime/scheduler/explain/ground.hpp"
#include "runtime/scheduler/placement/operand.hpp"
#include "test/unit/runtime/scheduler/explain/explain_harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const auto* given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

using Words = std::multiset<std::string>;

std::string in_lines(const Words& words) {
  std::string text;
  for (const auto& word : words)
    text += word + '\n';
  return text;
}

/// A random cluster of a few nodes, other jobs on them, and a job "web" that wants one more.
struct RandomGround : ExplainHarness {
  explicit RandomGround(std::uint64_t seed) : draw{seed} { random = Random{seed + 1'000}; }

  Random draw;
  std::vector<std::string> nodes;

  std::string one_of(std::initializer_list<const char*> words) {
    return *(words.begin() + static_cast<std::ptrdiff_t>(draw.below(words.size())));
  }

  void fill_node(schema::Node::Builder node) {
    node.setDatacenter(text(one_of({"dc1", "dc2"})));
    node.setNodePool(text(draw.chance(0.8) ? std::string{"default"} : std::string{"gpu"}));
    auto resources = node.getNodeResources();
    resources.getCpu().setCpuShares(400 + 200 * static_cast<std::int64_t>(draw.below(6)));
    resources.getMemory().setMemoryMb(128 + 128 * static_cast<std::int64_t>(draw.below(8)));
    resources.getDisk().setDiskMb(draw.chance(0.9) ? 10'000 : 50);
    if (draw.chance(0.3)) {
      resources.getCpu().setTotalCpuCores(4);
      auto cores = resources.getCpu().initReservableCpuCores(static_cast<unsigned>(draw.below(4)));
      for (unsigned i = 0; i < cores.size(); ++i)
        cores.set(i, static_cast<std::uint16_t>(i));
    }
    auto attributes = node.initAttributes(draw.chance(0.8) ? 3 : 2);
    attributes[0].setKey("driver.mock_driver");
    attributes[0].setValue(draw.chance(0.9) ? "1" : "0");
    attributes[1].setKey("kernel.name");
    attributes[1].setValue(text(one_of({"linux", "darwin"})));
    if (attributes.size() > 2) {
      attributes[2].setKey("kernel.version");
      attributes[2].setValue(text("5." + std::to_string(draw.below(4)) + ".0"));
    }
    if (draw.chance(0.8)) set_meta(node, "rack", "r" + std::to_string(draw.below(3)));
    if (draw.chance(0.5)) {
      auto volume = node.initHostVolumes(1)[0];
      volume.setKey("data");
      volume.initValue().setReadOnly(draw.chance(0.3));
    }
    if (draw.chance(0.1)) node.setStatus(schema::NodeStatus::DOWN);
    if (draw.chance(0.1)) node.setSchedulingEligibility(schema::SchedulingEligibility::INELIGIBLE);
    if (draw.chance(0.1)) node.initReservedResources().initNetworks().setReservedHostPorts("8000");
  }

  void fill_constraint(schema::Constraint::Builder one) {
    switch (draw.below(6)) {
      case 0:
        return constrain(one, "${attr.kernel.name}", "=", one_of({"linux", "darwin"}).c_str());
      case 1:
        return constrain(one, "${attr.kernel.version}", "version", ">= 5.1");
      case 2:
        return constrain(one, "${meta.rack}", one_of({"!=", "<", ">="}).c_str(), "r1");
      case 3:
        return constrain(one, "${meta.rack}", "is_set", "");
      case 4:
        return constrain(one, "${node.unique.name}", "regexp", "[0-7]$");
      default:
        return constrain(one, "${attr.kernel.name}", "set_contains_any", "linux,plan9");
    }
  }

  void fill_group(schema::TaskGroup::Builder group) {
    auto task = group.getTasks()[0];
    task.getResources().setCpu(100 + 100 * static_cast<std::int64_t>(draw.below(6)));
    task.getResources().setMemoryMb(64 + 64 * static_cast<std::int64_t>(draw.below(8)));
    if (draw.chance(0.15))
      task.getResources().setCores(1 + static_cast<std::int64_t>(draw.below(2)));
    if (draw.chance(0.4)) {
      auto network = group.initNetworks(1)[0];
      auto fixed = network.initReservedPorts(1)[0];
      fixed.setLabel("http");
      fixed.setValue(8000 + static_cast<int>(draw.below(2)));
      if (draw.chance(0.3)) network.initDynamicPorts(1)[0].setLabel("admin");
    }
  }

  Object<schema::Job> random_job(std::int64_t count) {
    return make_job(count, [this](schema::Job::Builder job) {
      job.setType(draw.chance(0.7) ? "service" : "batch");
      if (draw.chance(0.3)) job.initDatacenters(1).set(0, text(one_of({"dc1", "dc*", "dc2"})));
      // A pool comes into being with its first node.
      const auto pool = one_of({"gpu", "all"});
      if (draw.chance(0.2) && state().node_pool(pool)) job.setNodePool(text(pool));
      auto constraints = job.initConstraints(static_cast<unsigned>(draw.below(3)));
      for (auto one : constraints)
        fill_constraint(one);
      auto group = job.getTaskGroups()[0];
      fill_group(group);
      const auto distinct = draw.below(5);
      auto own = group.initConstraints(distinct < 2 ? 2 : 1);
      fill_constraint(own[0]);
      if (distinct == 0) constrain(own[1], "", "distinct_hosts", "true");
      if (distinct == 1) constrain(own[1], "${meta.rack}", "distinct_property", "1");
      if (draw.chance(0.3)) {
        auto volume = group.initVolumes(1)[0];
        volume.setKey("data");
        volume.initValue().setType("host");
        volume.getValue().setSource("data");
        volume.getValue().setReadOnly(draw.chance(0.5));
      }
      if (draw.chance(0.3)) {
        auto affinity = group.initAffinities(1)[0];
        affinity.setLTarget("${attr.kernel.name}");
        affinity.setOperand("=");
        affinity.setRTarget("linux");
        affinity.setWeight(draw.chance(0.5) ? 50 : -50);
      }
    });
  }

  /// Returns the evaluation that wants one more of "web".
  Object<schema::Evaluation> make() {
    const auto count = 1 + draw.below(7);
    for (std::uint64_t i = 0; i < count; ++i)
      nodes.push_back(add_node([this](schema::Node::Builder node) { fill_node(node); }));
    for (std::uint64_t i = draw.below(3); i > 0; --i)
      process(register_job(
          make_job(1 + static_cast<std::int64_t>(draw.below(3)), [&](schema::Job::Builder job) {
            const auto id = "other-" + std::to_string(i);
            job.setId(text(id));
            job.setName(text(id));
            job.setPriority(10);
            fill_group(job.getTaskGroups()[0]);
          })));
    const auto first = random_job(static_cast<std::int64_t>(draw.below(3)));
    process(register_job(first));
    Draft<schema::Job> more{first};
    more->getTaskGroups()[0].setCount(static_cast<std::int64_t>(live().size()) + 1);
    return register_job(more.freeze());
  }
};

// -- the brute force ------------------------------------------------------------------------------

std::optional<std::string> value_on(schema::Node::Reader node, const std::string& target) {
  if (target == "${node.unique.name}") return copy(node.getName());
  const auto in = [](auto entries, const std::string& name) -> std::optional<std::string> {
    for (const auto entry : entries)
      if (view(entry.getKey()) == name) return copy(entry.getValue());
    return std::nullopt;
  };
  if (target.starts_with("${attr."))
    return in(node.getAttributes(), target.substr(7, target.size() - 8));
  if (target.starts_with("${meta.")) return in(node.getMeta(), target.substr(7, target.size() - 8));
  return target;
}

struct Brute {
  const state::Snapshot& state;
  schema::Job::Reader job;
  OperandChecker operands{};

  schema::TaskGroup::Reader group() const { return job.getTaskGroups()[0]; }

  bool holds(schema::Constraint::Reader one, schema::Node::Reader node) {
    return operands.holds(view(one.getOperand()), value_on(node, copy(one.getLTarget())),
                          value_on(node, copy(one.getRTarget())));
  }

  /// All that holds something of the node.
  std::vector<state::AllocRef> on(schema::Node::Reader node) const {
    std::vector<state::AllocRef> rows;
    for (const auto& entry : state.allocs())
      if (!entry.value()->client_terminal && entry.value()->alloc->node_id() == view(node.getId()))
        rows.push_back(entry.value());
    return rows;
  }

  bool is_own(const state::AllocRow& row) const { return row.alloc->job_id() == view(job.getId()); }

  void add_constraints(schema::Node::Reader node, Words& out) {
    const auto add = [&](auto list) {
      for (const auto one : list)
        if (!holds(one, node))
          out.insert("constraint " + copy(one.getLTarget()) + ' ' + copy(one.getOperand()) + ' '
                     + copy(one.getRTarget()));
    };
    add(job.getConstraints());
    add(group().getConstraints());
  }

  void add_distinct(schema::Node::Reader node, Words& out) {
    for (const auto one : group().getConstraints()) {
      const auto operand = view(one.getOperand());
      if (operand == "distinct_hosts")
        for (const auto& row : on(node))
          if (is_own(*row)) {
            out.insert("distinct-hosts");
            break;
          }
      if (operand != "distinct_property") continue;
      const auto here = value_on(node, "${meta.rack}");
      int used = 0;
      for (const auto& entry : state.nodes())
        for (const auto& row : on(*entry.value()))
          used += here && is_own(*row) && !row->terminal()
                  && value_on(*entry.value(), "${meta.rack}") == here;
      if (!here || used >= 1) out.insert("distinct-property");
    }
  }

  Words static_reasons(schema::Node::Reader node) {
    Words out;
    if (node.getStatus() != schema::NodeStatus::READY) out.insert("status");
    if (node.getSchedulingEligibility() != schema::SchedulingEligibility::ELIGIBLE)
      out.insert("eligibility");
    const auto pool = view(job.getNodePool());
    if (pool != "all" && pool != view(node.getNodePool())) out.insert("node-pool");
    const auto wanted = copy(job.getDatacenters()[0]);
    if (wanted.find('*') == std::string::npos && wanted != view(node.getDatacenter()))
      out.insert("datacenter");
    add_constraints(node, out);
    if (value_on(node, "${attr.driver.mock_driver}") != "1") out.insert("driver");
    for (const auto entry : group().getVolumes()) {
      const auto there = node.getHostVolumes();
      if (there.size() == 0
          || (there[0].getValue().getReadOnly() && !entry.getValue().getReadOnly()))
        out.insert("host-volume");
    }
    add_distinct(node, out);
    return out;
  }

  struct Left {
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::int64_t disk = 0;
    std::int64_t cores = 0;
    std::set<int> ports{};
  };

  Left left_on(schema::Node::Reader node) const {
    const auto all = node.getNodeResources();
    Left left{all.getCpu().getCpuShares(), all.getMemory().getMemoryMb(), all.getDisk().getDiskMb(),
              all.getCpu().getReservableCpuCores().size()};
    if (node.getReservedResources().getNetworks().getReservedHostPorts().size() > 0)
      left.ports.insert(8000);
    for (const auto& row : on(node)) {
      const auto taken = row->alloc->resources();
      left.disk -= taken.getShared().getDiskMb();
      for (const auto port : taken.getShared().getPorts())
        left.ports.insert(port.getValue());
      for (const auto entry : taken.getTasks()) {
        left.cpu -= entry.getValue().getCpu().getCpuShares();
        left.cores -= entry.getValue().getCpu().getReservedCores().size();
        left.memory -= entry.getValue().getMemory().getMemoryMb();
      }
    }
    return left;
  }

  std::int64_t cpu_asked(schema::Node::Reader node) const {
    const auto resources = group().getTasks()[0].getResources();
    const auto cpu = node.getNodeResources().getCpu();
    if (resources.getCores() == 0) return resources.getCpu();
    return cpu.getTotalCpuCores() == 0
               ? 0
               : cpu.getCpuShares() / cpu.getTotalCpuCores() * resources.getCores();
  }

  Words room_reasons(schema::Node::Reader node) const {
    Words out;
    const auto left = left_on(node);
    const auto resources = group().getTasks()[0].getResources();
    if (resources.getCores() > left.cores) out.insert("cores");
    if (cpu_asked(node) > left.cpu) out.insert("cpu");
    if (resources.getMemoryMb() > left.memory) out.insert("memory");
    if (group().getEphemeralDisk().getSizeMb() > left.disk) out.insert("disk");
    for (const auto network : group().getNetworks())
      for (const auto port : network.getReservedPorts())
        if (left.ports.contains(port.getValue())) out.insert("port");
    return out;
  }

  double score(schema::Node::Reader node) {
    const auto left = left_on(node);
    const auto all = node.getNodeResources();
    const auto share = [](std::int64_t rest, std::int64_t whole) {
      return whole <= 0 ? 0.0 : static_cast<double>(rest) / static_cast<double>(whole);
    };
    const auto memory = group().getTasks()[0].getResources().getMemoryMb();
    const double empty
        = std::pow(10, share(left.cpu - cpu_asked(node), all.getCpu().getCpuShares()))
          + std::pow(10, share(left.memory - memory, all.getMemory().getMemoryMb()));
    double sum = std::clamp(20 - empty, 0.0, 18.0) / 18;
    int terms = 1;
    double own = 0;
    for (const auto& row : on(node))
      own += is_own(*row) ? 1 : 0;
    if (own > 0) {
      sum -= (own + 1) / static_cast<double>(group().getCount());
      ++terms;
    }
    for (const auto affinity : group().getAffinities()) {
      if (!operands.holds("=", value_on(node, copy(affinity.getLTarget())),
                          copy(affinity.getRTarget())))
        continue;
      sum += affinity.getWeight() > 0 ? 1 : -1;
      ++terms;
    }
    return sum / terms;
  }
};

Words said(const std::vector<explain::Reason>& reasons) {
  Words out;
  for (const auto& reason : reasons)
    out.insert(reason.what == explain::Obstacle::constraint ? reason.subject
                                                            : std::string{to_string(reason.what)});
  return out;
}

/// Whether the real scheduler places one more of "web" on the node, if that is the only one that
/// takes new allocations.
bool places_on(const RandomGround& ground,
               const Object<schema::Evaluation>& eval,
               const std::string& node) {
  state::Store store{ground.state()};
  auto index = ground.next_index;
  for (const auto& other : ground.nodes) {
    if (other == node) continue;
    Draft<schema::Command> draft;
    auto update = draft->initNodeEligibilityUpdate();
    update.setNodeId(text(other));
    update.setEligibility(schema::SchedulingEligibility::INELIGIBLE);
    REQUIRE_FALSE(store.apply(++index, *draft.freeze()).error);
  }
  store.publish();
  const auto snapshot = store.snapshot();
  const auto step = make_scheduler(eval, 7)->start({snapshot, ground.now, nullptr});
  if (!step.plan) return false;
  const auto changes = step.plan->nodes.find(node);
  if (changes == step.plan->nodes.end()) return false;
  return std::ranges::any_of(changes->second.placements,
                             [](const PlannedAlloc& placed) { return placed.is_new; });
}

void check_ranks(RandomGround& ground, Brute& brute) {
  const auto answer = ground.group();
  std::map<std::string, double> scores;
  for (const auto& one : answer.best)
    scores.emplace(one.node.id, brute.score(*ground.state().node(one.node.id)));
  for (const auto& one : answer.best) {
    CHECK(std::abs(one.normalized - scores.at(one.node.id)) < 1e-9);
    std::size_t better = 0;
    for (const auto& [id, score] : scores)
      better += score > scores.at(one.node.id) + 1e-12 ? 1 : 0;
    CHECK(one.rank == 1 + better);
  }
}

void check_case(std::uint64_t seed) {
  CAPTURE(seed);
  RandomGround ground{seed};
  const auto eval = ground.make();
  const auto snapshot = ground.state();
  const auto job = snapshot.job("default", "web");
  Brute brute{snapshot, *job};
  std::size_t fitting = 0;
  for (const auto& id : ground.nodes) {
    CAPTURE(id);
    const auto node = snapshot.node(id);
    auto wanted = brute.static_reasons(*node);
    wanted.merge(brute.room_reasons(*node));
    const auto asked = ground.ask_node(id);
    CHECK(in_lines(said(asked.reasons)) == in_lines(wanted));
    CHECK(asked.candidate.has_value() == wanted.empty());
    fitting += wanted.empty() ? 1 : 0;
    CHECK(places_on(ground, eval, id) == wanted.empty());
  }
  const auto answer = ground.group();
  CHECK(answer.fitting == fitting);
  std::size_t refused = 0;
  for (const auto& one : answer.refused)
    refused += one.count;
  CHECK(answer.fitting + refused == ground.nodes.size());
  check_ranks(ground, brute);
}

}  // namespace

TEST_CASE("brute force: explain says of random clusters what looking at everything says") {
  const auto seed = number_of("NOMAD_SEED", 1);
  const auto cases = number_of("NOMAD_CASES", 300);
  MESSAGE("NOMAD_SEED=" << seed << " NOMAD_CASES=" << cases);
  for (std::uint64_t i = 0; i < cases; ++i)
    check_case(seed + i);
}

TEST_CASE("brute force: a suggested amount is enough, and one more of it is too much") {
  static const std::regex amount{
      R"((\d+) (MiB less memory|MHz less cpu) \(task "server": \d+ -> (\d+)\))"};
  const auto seed = number_of("NOMAD_SEED", 1);
  std::size_t tried = 0;
  for (std::uint64_t i = 0; i < number_of("NOMAD_CASES", 300); ++i) {
    CAPTURE(seed + i);
    RandomGround ground{seed + i};
    ground.make();
    const auto job = ground.state().job("default", "web");
    for (const auto& one : ground.group().suggestions) {
      std::smatch found;
      if (!std::regex_match(one.text, found, amount)) continue;
      ++tried;
      const auto snapshot = ground.state();
      const auto rows = ground.allocs();
      const auto fits = [&](std::int64_t left) {
        Draft<schema::Job> changed{job};
        auto resources = changed->getTaskGroups()[0].getTasks()[0].getResources();
        if (found[2] == "MHz less cpu")
          resources.setCpu(left);
        else
          resources.setMemoryMb(left);
        explain::Ground trial{snapshot, changed.freeze(), rows};
        return trial.place_on(snapshot.node(one.node.id), trial.job().groups()[0], "web.api[9]")
            .has_value();
      };
      const auto left = std::stoll(found[3]);
      CHECK(fits(left));
      CHECK_FALSE(fits(left + 1));
    }
  }
  CHECK(tried > 0);
}
