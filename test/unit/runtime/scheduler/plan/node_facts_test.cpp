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
