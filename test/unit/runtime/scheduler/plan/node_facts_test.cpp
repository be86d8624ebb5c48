#include "runtime/scheduler/plan/node_facts.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE("facts of a node") {
  Draft<schema::Node> node;
  node->setId("n1");
  node->setName("box");
  node->setDatacenter("dc1");
  node->setNodeClass("big");
  auto attributes = node->initAttributes(1)[0];
  attributes.setKey("os.name");
  attributes.setValue("debian");
  const auto reader = node.reader();
  CHECK(resolve_target("plain", reader) == "plain");
  CHECK(resolve_target("${node.unique.id}", reader) == "n1");
  CHECK(resolve_target("${node.class}", reader) == "big");
  CHECK(resolve_target("${attr.os.name}", reader) == "debian");
  CHECK_FALSE(resolve_target("${attr.os.version}", reader));
  CHECK_FALSE(resolve_target("${meta.x}", reader));
  CHECK_FALSE(resolve_target("${node.unknown}", reader));
  CHECK(interpolate("a-${node.datacenter}-${attr.os.name}-${x}", reader) == "a-dc1-debian-${x}");
  CHECK(target_escapes_class("${attr.unique.hostname}"));
  CHECK(target_escapes_class("${node.unique.name}"));
  CHECK_FALSE(target_escapes_class("${attr.os.name}"));
}

TEST_CASE("the computed class leaves out what is unique") {
  const auto class_of = [](const char* key, const char* value, const char* id) {
    Draft<schema::Node> node;
    node->setId(id);
    node->setDatacenter("dc1");
    auto attribute = node->initAttributes(1)[0];
    attribute.setKey(key);
    attribute.setValue(value);
    return computed_class(node.reader());
  };
  CHECK(class_of("a", "1", "x") == class_of("a", "1", "y"));
  CHECK(class_of("a", "1", "x") != class_of("a", "2", "x"));
  CHECK(class_of("unique.a", "1", "x") == class_of("unique.a", "2", "x"));
  CHECK(class_of("a", "1", "x").starts_with("v1:"));
}

TEST_CASE("datacenters may be patterns") {
  CHECK(matches_glob("*", "dc1"));
  CHECK(matches_glob("dc*", "dc1"));
  CHECK(matches_glob("*-west-*", "us-west-2"));
  CHECK_FALSE(matches_glob("dc*", "eu"));
  CHECK_FALSE(matches_glob("", "dc1"));
  CHECK(matches_glob("a*b*c", "aXbYc"));
  CHECK_FALSE(matches_glob("a*b*c", "aXcYb"));
}

TEST_CASE("globs: stars stand for nothing, too, and all of the text has to match") {
  CHECK(matches_glob("", ""));
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("dc1*", "dc1"));
  CHECK(matches_glob("dc1**", "dc1"));
  CHECK(matches_glob("**1", "dc1"));
  CHECK(matches_glob("*ab", "aab"));
  CHECK_FALSE(matches_glob("dc1", "dc12"));
  CHECK_FALSE(matches_glob("dc12", "dc1"));
  CHECK_FALSE(matches_glob("*a", "ab"));
}

TEST_CASE("a node is ready when its status, its eligibility and no drain allow it") {
  Draft<schema::Node> node;
  node->setStatus(schema::NodeStatus::READY);
  node->setSchedulingEligibility(schema::SchedulingEligibility::ELIGIBLE);
  CHECK(is_ready(node.reader()));
  node->setSchedulingEligibility(schema::SchedulingEligibility::INELIGIBLE);
  CHECK_FALSE(is_ready(node.reader()));
  node->setSchedulingEligibility(schema::SchedulingEligibility::ELIGIBLE);
  node->setStatus(schema::NodeStatus::INITIALIZING);
  CHECK_FALSE(is_ready(node.reader()));
  node->setStatus(schema::NodeStatus::READY);
  node->initDrainStrategy();
  CHECK_FALSE(is_ready(node.reader()));
}

TEST_CASE("a job reaches the nodes of its pool in one of its datacenters") {
  Draft<schema::Node> node;
  node->setDatacenter("dc1");
  node->setNodePool("gpu");
  const auto reaches = [&node](const char* pool, const std::vector<const char*>& datacenters) {
    Draft<schema::Job> job;
    job->setNodePool(pool);
    auto list = job->initDatacenters(static_cast<unsigned>(datacenters.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.set(i, datacenters[i]);
    return is_in_job_scope(node.reader(), job.reader());
  };
  CHECK(reaches("gpu", {"dc1"}));
  CHECK(reaches("all", {"dc2", "dc*"}));
  CHECK_FALSE(reaches("default", {"dc1"}));
  CHECK_FALSE(reaches("gpu", {"dc2"}));
  CHECK_FALSE(reaches("gpu", {}));
}

TEST_CASE("a driver has to be detected and healthy; old clients only name it") {
  Draft<schema::Node> node;
  const auto reported = [&node](bool detected, bool healthy) {
    auto driver = node->initDrivers(1)[0];
    driver.setKey("exec");
    driver.initValue().setDetected(detected);
    driver.getValue().setHealthy(healthy);
    return has_driver(node.reader(), "exec");
  };
  CHECK(reported(true, true));
  CHECK_FALSE(reported(true, false));
  CHECK_FALSE(reported(false, true));
  CHECK_FALSE(has_driver(node.reader(), "docker"));

  const auto named = [&node](const char* value) {
    auto attribute = node->initAttributes(1)[0];
    attribute.setKey("driver.docker");
    attribute.setValue(value);
    return has_driver(node.reader(), "docker");
  };
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"})
    CHECK(named(yes));
  for (const char* no : {"", "0", "false", "yes"})
    CHECK_FALSE(named(no));
}

TEST_CASE("classes differ by what nodes are, not by how it is cut into pieces") {
  const auto class_of
      = [](const char* datacenter, const char* node_class,
           const std::vector<std::pair<const char*, const char*>>& meta, const char* device) {
          Draft<schema::Node> node;
          node->setDatacenter(datacenter);
          node->setNodeClass(node_class);
          auto entries = node->initMeta(static_cast<unsigned>(meta.size()));
          for (unsigned i = 0; i < entries.size(); ++i) {
            entries[i].setKey(meta[i].first);
            entries[i].setValue(meta[i].second);
          }
          node->initNodeResources().initDevices(1)[0].setName(device);
          return computed_class(node.reader());
        };
  const auto base = class_of("dc", "big", {{"a", "b"}}, "gpu");
  CHECK(class_of("dc", "big", {{"a", "b"}}, "gpu") == base);
  CHECK(class_of("dcb", "ig", {{"a", "b"}}, "gpu") != base);
  CHECK(class_of("dc", "big", {{"ab", ""}}, "gpu") != base);
  CHECK(class_of("dc", "big", {}, "gpu") != base);
  CHECK(class_of("dc", "big", {{"a", "b"}}, "fpga") != base);
  CHECK(class_of("dc", "big", {{"a", "b"}, {"unique.x", "1"}}, "gpu") == base);
}
