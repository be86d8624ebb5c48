#include "runtime/scheduler/placement/rules.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::scheduler;

TEST_CASE("rules: a constraint is shown as metrics name it") {
  CHECK(shown({"${meta.rack}", "r1", "!="}) == "${meta.rack} != r1");
}

TEST_CASE("rules: a constraint that a node meets, and one that it does not") {
  Draft<schema::Node> node;
  node->setDatacenter("dc1");
  OperandChecker operands;
  CHECK(meets({"${node.datacenter}", "dc1", "="}, node.reader(), operands));
  CHECK_FALSE(meets({"${node.datacenter}", "dc2", "="}, node.reader(), operands));
}

TEST_CASE(
    "rules: a volume of each allocation has its number, and is writable if that is asked for") {
  Draft<schema::Node> node;
  auto volume = node->initHostVolumes(1)[0];
  volume.setKey("data[3]");
  volume.initValue().setReadOnly(true);
  const VolumeSpec written{"data", false, true};
  const VolumeSpec read{"data", true, true};
  CHECK(source_of(written, "web.api[3]") == "data[3]");
  CHECK_FALSE(has_host_volume(node.reader(), written, "web.api[3]"));
  CHECK(has_host_volume(node.reader(), read, "web.api[3]"));
  CHECK_FALSE(has_host_volume(node.reader(), read, "web.api[4]"));
  CHECK(missing_csi_volume(read, "web.api[3]") == "missing CSI Volume data[3]");
}

TEST_CASE("rules: distinct hosts count the job's, or the group's own") {
  GroupSpec group;
  group.name = "api";
  JobUsage here;
  here.total = 1;
  CHECK_FALSE(breaks_distinct_hosts(group, here));
  group.distinct_hosts_of_group = true;
  CHECK_FALSE(breaks_distinct_hosts(group, here));
  here.by_group["api"] = 1;
  CHECK(breaks_distinct_hosts(group, here));
  group.distinct_hosts_of_group = false;
  group.distinct_hosts_of_job = true;
  CHECK(breaks_distinct_hosts(group, here));
}
