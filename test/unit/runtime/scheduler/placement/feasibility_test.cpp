// Why a node is no candidate, as `eval status` shows it.
#include "runtime/scheduler/placement/feasibility.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

/// Places a job on the only node there is; says what came of it.
std::string outcome_of(const Harness::EditNode& edit_node,
                       const Harness::EditJob& edit_job,
                       std::int64_t count = 1) {
  Harness harness;
  harness.add_node(edit_node);
  const auto eval = harness.process(harness.register_job(harness.make_job(count, edit_job)));
  if (eval->getFailedTgAllocs().size() == 0) return "placed";
  const auto metric = eval->getFailedTgAllocs()[0].getValue();
  const auto reasons = metric.getConstraintFiltered();
  return reasons.size() == 0 ? "no room" : copy(reasons[0].getKey());
}

schema::NetworkResource::Builder network_of(schema::Job::Builder job) {
  return job.getTaskGroups()[0].initNetworks(1)[0];
}

Harness::EditJob wants_mode(const char* mode) {
  return [mode](schema::Job::Builder job) { network_of(job).setMode(mode); };
}

Harness::EditJob wants_port_on(const char* host_network, bool is_static) {
  return [=](schema::Job::Builder job) {
    auto network = network_of(job);
    auto port = is_static ? network.initReservedPorts(1)[0] : network.initDynamicPorts(1)[0];
    port.setLabel("http");
    port.setHostNetwork(host_network);
    if (is_static) port.setValue(8080);
  };
}

Harness::EditNode has_volume(const char* name, bool read_only) {
  return [=](schema::Node::Builder node) {
    auto volume = node.initHostVolumes(1)[0];
    volume.setKey(name);
    volume.initValue().setName(name);
    volume.getValue().setReadOnly(read_only);
  };
}

Harness::EditJob wants_volume(const char* type,
                              const char* source,
                              bool read_only,
                              bool per_alloc) {
  return [=](schema::Job::Builder job) {
    auto volume = job.getTaskGroups()[0].initVolumes(1)[0];
    volume.setKey("data");
    volume.initValue().setType(type);
    volume.getValue().setSource(source);
    volume.getValue().setReadOnly(read_only);
    volume.getValue().setPerAlloc(per_alloc);
  };
}

template <class Place>
void constrain(Place place, const char* left, const char* operand, const char* right) {
  auto constraint = place.initConstraints(1)[0];
  constraint.setLTarget(left);
  constraint.setOperand(operand);
  constraint.setRTarget(right);
}

}  // namespace

TEST_CASE("feasibility: the network's mode is host unless something else is said") {
  CHECK(outcome_of({}, wants_mode("")) == "placed");
  CHECK(outcome_of({}, wants_mode("host")) == "placed");
  CHECK(outcome_of({}, wants_mode("bridge")) == "missing network");
  CHECK(outcome_of({}, wants_mode("none")) == "placed");
  const auto no_network
      = [](schema::Node::Builder node) { node.getNodeResources().initNodeNetworks(0); };
  CHECK(outcome_of(no_network, {}) == "placed");
  CHECK(outcome_of(no_network, wants_mode("host")) == "missing network");
}

TEST_CASE("feasibility: the networks that ports name must be there") {
  for (const bool is_static : {false, true}) {
    CHECK(outcome_of({}, wants_port_on("", is_static)) == "placed");
    CHECK(outcome_of({}, wants_port_on("default", is_static)) == "placed");
    CHECK(outcome_of({}, wants_port_on("public", is_static))
          == "missing host network \"public\" for port \"http\"");
    CHECK(outcome_of({}, wants_port_on("${meta.net}", is_static))
          == "invalid host network \"${meta.net}\" template for port \"http\"");
  }
}

TEST_CASE("feasibility: host volumes by name, and writable if they are written to") {
  CHECK(outcome_of(has_volume("data", false), wants_volume("host", "data", false, false))
        == "placed");
  CHECK(outcome_of(has_volume("data", true), wants_volume("host", "data", true, false))
        == "placed");
  CHECK(outcome_of(has_volume("data", true), wants_volume("host", "data", false, false))
        == "missing compatible host volumes");
  CHECK(outcome_of(has_volume("other", false), wants_volume("host", "data", true, false))
        == "missing compatible host volumes");
  CHECK(outcome_of(has_volume("data[0]", false), wants_volume("host", "data", false, true))
        == "placed");
  CHECK(outcome_of(has_volume("data", false), wants_volume("host", "data", false, true))
        == "missing compatible host volumes");
  CHECK(outcome_of({}, wants_volume("csi", "data", false, false)) == "missing CSI Volume data");
}

TEST_CASE("feasibility: distinct_hosts of a job or of a group, unless it is switched off") {
  const auto of_job = [](const char* value) {
    return [value](schema::Job::Builder job) { constrain(job, "", "distinct_hosts", value); };
  };
  const auto of_group = [](const char* value) {
    return [value](schema::Job::Builder job) {
      constrain(job.getTaskGroups()[0], "", "distinct_hosts", value);
    };
  };
  CHECK(outcome_of({}, of_job(""), 1) == "placed");
  CHECK(outcome_of({}, of_job(""), 2) == "distinct_hosts");
  CHECK(outcome_of({}, of_group("true"), 2) == "distinct_hosts");
  CHECK(outcome_of({}, of_job("false"), 2) == "placed");
  CHECK(outcome_of({}, of_group("0"), 2) == "placed");
}

TEST_CASE("feasibility: distinct_hosts of a group does not mind the job's other groups") {
  const auto two_groups = [](bool whole_job) {
    return [whole_job](schema::Job::Builder job) {
      Draft<schema::Job> before{job.asReader()};
      const auto model = before.reader().getTaskGroups()[0];
      auto groups = job.initTaskGroups(2);
      for (unsigned i = 0; i < 2; ++i) {
        groups.setWithCaveats(i, model);
        groups[i].setName(i == 0 ? "api" : "db");
        if (!whole_job) constrain(groups[i], "", "distinct_hosts", "");
      }
      if (whole_job) constrain(job, "", "distinct_hosts", "");
    };
  };
  CHECK(outcome_of({}, two_groups(false)) == "placed");
  CHECK(outcome_of({}, two_groups(true)) == "distinct_hosts");
}

TEST_CASE("feasibility: distinct_property counts up to its limit, and needs the property") {
  const auto in_rack = [](schema::Node::Builder node) {
    auto meta = node.initMeta(1)[0];
    meta.setKey("rack");
    meta.setValue("r1");
  };
  const auto at_most = [](const char* limit) {
    return [limit](schema::Job::Builder job) {
      constrain(job, "${meta.rack}", "distinct_property", limit);
    };
  };
  CHECK(outcome_of(in_rack, at_most(""), 1) == "placed");
  CHECK(outcome_of(in_rack, at_most(""), 2)
        == "distinct_property: ${meta.rack}=r1 used by 1 allocs");
  CHECK(outcome_of(in_rack, at_most("2"), 2) == "placed");
  CHECK(outcome_of(in_rack, at_most("2"), 3)
        == "distinct_property: ${meta.rack}=r1 used by 2 allocs");
  CHECK(outcome_of({}, at_most("")) == "missing property \"${meta.rack}\"");
}

TEST_CASE("feasibility: what a class of nodes lacks is found once, what is unique each time") {
  Harness harness;
  harness.add_node();
  harness.add_node();
  const auto filtered = [&harness](const char* left) {
    const auto eval = harness.process(
        harness.register_job(harness.make_job(1, [left](schema::Job::Builder job) {
          constrain(job.getTaskGroups()[0], left, "=", "other");
        })));
    std::vector<std::string> reasons;
    const auto failed = eval->getFailedTgAllocs();
    REQUIRE(failed.size() == 1);
    for (const auto entry : failed[0].getValue().getConstraintFiltered())
      reasons.push_back(copy(entry.getKey()) + ": " + std::to_string(entry.getValue()));
    return reasons;
  };
  CHECK(filtered("${attr.kernel.name}")
        == std::vector<std::string>{"${attr.kernel.name} = other: 1",
                                    "computed class ineligible: 1"});
  CHECK(filtered("${node.unique.name}")
        == std::vector<std::string>{"${node.unique.name} = other: 2"});
}

TEST_CASE("feasibility: networks are those of a node, whatever others of its class have") {
  Harness harness;
  for (int i = 0; i < 4; ++i) {
    harness.add_node([i](schema::Node::Builder node) {
      auto address = node.getNodeResources().getNodeNetworks()[0].getAddresses()[0];
      if (i % 2 == 0) address.setAlias("public");
    });
  }
  const auto eval
      = harness.process(harness.register_job(harness.make_job(1, [](schema::Job::Builder job) {
          job.setType("system");
          job.getTaskGroups()[0].disownReschedulePolicy();
          wants_port_on("public", false)(job);
        })));
  CHECK(harness.live().size() == 2);
  CHECK(eval->getFailedTgAllocs().size() == 0);
}

TEST_CASE("feasibility: a class is unfit if all that found no room were tried there in vain") {
  Eligibility known;
  known.set_job(false);
  for (const auto* group : {"a", "b", "c"})
    known.set_group(group, false);
  known.record_job("small", true);
  known.record_group("a", "small", false);
  known.record_group("c", "small", true);
  using Classes = std::map<std::string, bool>;
  CHECK(known.classes({"a"}) == Classes{{"small", false}});
  CHECK(known.classes({"a", "b"}) == Classes{{"small", true}});
  known.record_group("b", "small", false);
  CHECK(known.classes({"a", "b"}) == Classes{{"small", false}});
  CHECK(known.classes({"a", "b", "c"}) == Classes{{"small", true}});
}

TEST_CASE("feasibility: affinities count by the share of their weights that a node has") {
  Harness harness;
  const auto id = harness.add_node();
  const auto node = harness.state().node(id);
  const auto score = [&](const std::vector<std::pair<const char*, int>>& wanted) {
    const JobSpec job{harness.make_job(1, [&](schema::Job::Builder draft) {
      auto list = draft.initAffinities(static_cast<unsigned>(wanted.size()));
      for (unsigned i = 0; i < list.size(); ++i) {
        list[i].setLTarget("${attr.kernel.name}");
        list[i].setOperand("=");
        list[i].setRTarget(wanted[i].first);
        list[i].setWeight(static_cast<std::int8_t>(wanted[i].second));
      }
    })};
    OperandChecker operands;
    Eligibility eligibility;
    return Feasibility{job, operands, eligibility}.affinity_score(job.groups().front(), *node);
  };
  CHECK(score({}) == 0);
  CHECK(score({{"linux", 50}}) == doctest::Approx(1));
  CHECK(score({{"linux", -50}}) == doctest::Approx(-1));
  CHECK(score({{"linux", 30}, {"windows", 10}}) == doctest::Approx(0.75));
  CHECK(score({{"linux", 30}, {"windows", -10}}) == doctest::Approx(0.75));
  CHECK(score({{"windows", 10}}) == 0);
}
