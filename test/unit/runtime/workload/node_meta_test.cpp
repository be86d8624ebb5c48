#include "runtime/workload/node_meta.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::workload;

namespace {

const NodeMeta fixed{{"rack", "r1"}, {"zone", "a"}};

std::string refusal_of(const DynamicMeta& change) {
  const auto checked = check_meta({}, fixed, change);
  return checked ? "" : checked.error().what;
}

}  // namespace

TEST_CASE("node_meta: values lie over those of the configuration, and nothing hides them") {
  auto dynamic = changed_meta({}, fixed, {{"rack", "r2"}, {"team.name", "x"}, {"zone", {}}});
  CHECK(merged_meta(fixed, dynamic) == NodeMeta{{"rack", "r2"}, {"team.name", "x"}});
  CHECK(dynamic.at("zone") == std::nullopt);

  dynamic = changed_meta(dynamic, fixed, {{"team.name", {}}, {"rack", "r1"}});
  CHECK_MESSAGE(!dynamic.contains("team.name"), "it hides nothing of the configuration");
  CHECK(merged_meta(fixed, dynamic) == NodeMeta{{"rack", "r1"}});
  CHECK(changed_meta({}, fixed, {{"never.set", {}}}).empty());
}

TEST_CASE("node_meta: another configuration has other keys to hide") {
  CHECK(pruned_meta({{"zone", {}}, {"gone", {}}, {"rack", ""}}, fixed)
        == DynamicMeta{{"rack", ""}, {"zone", {}}});
}

TEST_CASE("node_meta: keys are what constraints can name, and not without bound") {
  CHECK(refusal_of({}) == "missing required Meta object");
  CHECK(refusal_of({{"", "x"}}) == "metadata keys must not be empty");
  for (const auto* key : {"bad key", ".", "a.", ".a", "a..b", "1st", "a/b", "${x}"})
    CHECK(refusal_of({{key, "x"}})
          == '"' + std::string{key}
                 + "\" is invalid; metadata keys must be valid dotted hcl identifiers");
  CHECK(refusal_of({{"a-b.c_d.e1", "any value\n"}}) == "");
  CHECK(refusal_of({{"bad key", {}}}) != "");
  CHECK(refusal_of({{"large", std::string(most_meta_bytes, 'x')}})
        == "the node would have 262149 bytes of dynamic metadata; at most 262144: unset some");
}
