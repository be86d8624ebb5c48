#include "runtime/access/policy/policy_rights.hpp"

#include <doctest/doctest.h>

#include "test/unit/runtime/access/policy/policies.hpp"

using namespace nomad;
using namespace nomad::access;

namespace {

using enum Capability;

constexpr int capability_count = static_cast<int>(management) + 1;

/// Something of every kind.
constexpr Target everything_named{.ns = "default",
                                  .path = "a/b",
                                  .node_pool = "gpu",
                                  .node = "n",
                                  .host_volume = "data",
                                  .plugin = "ebs"};

/// But for running jobs in pools, which all may where nothing denies it.
CapabilitySet allowed_set(const Rights& rights, const Target& target = everything_named) {
  CapabilitySet out = 0;
  for (int number = 0; number < capability_count; ++number)
    if (static_cast<Capability>(number) != node_pool_use
        && rights.allow(static_cast<Capability>(number), target))
      out |= bit(static_cast<Capability>(number));
  return out;
}

template <class... Some>
CapabilitySet set_of(Some... some) {
  return (bit(none) | ... | bit(some));
}

}  // namespace

TEST_CASE("policy rights: without rules nothing is allowed, and management never") {
  CHECK(allowed_set(*rights_from({})) == set_of());
  CHECK(allowed_set(*rights_from({""})) == set_of());
  const auto all = rights_from({R"(
namespace "*" { policy = "write" variables { path "*" { capabilities = ["list", "read", "write", "destroy"] } }
  capabilities = ["alloc-node-exec", "csi-register-plugin", "sentinel-override"] }
node_pool "*" { policy = "write" }
host_volume "*" { policy = "write" }
agent { policy = "write" }
node { policy = "write" }
operator { policy = "write" }
quota { policy = "write" }
plugin { policy = "read" })"});
  const auto every
      = ((CapabilitySet{1} << static_cast<unsigned>(capability_count)) - 1) & ~bit(node_pool_use);
  CHECK(allowed_set(*all) == (every & ~bit(management)));
  CHECK(allowed_set(*Rights::everything()) == every);
}

TEST_CASE("policy rights: each capability gives itself, and the namespace") {
  for (const auto& known : words_of(RuleScope::namespaces)) {
    const auto word = known.word;
    const auto capability = known.capability;
    CAPTURE(word);
    const auto rights
        = rights_from({"namespace \"default\" { capabilities = [\"" + std::string{word} + "\"] }"});
    auto expected = set_of(capability, any_in_namespace);
    if (capability == read_job) expected |= bit(read_services);
    CHECK(allowed_set(*rights) == expected);
    CHECK(allowed_set(*rights, {.ns = "other"}) == set_of());
  }
}

TEST_CASE("policy rights: levels of namespaces, pools and volumes are short forms") {
  const auto level = [](std::string_view block, std::string_view word) {
    return allowed_set(
        *rights_from({std::string{block} + " { policy = \"" + std::string{word} + "\" }"}));
  };
  const auto read
      = set_of(list_jobs, parse_job, read_job, csi_list_volume, csi_read_volume, read_job_scaling,
               list_scaling_policies, read_scaling_policy, read_services, any_in_namespace);
  const auto write
      = read
        | set_of(scale_job, submit_job, dispatch_job, read_logs, read_fs, alloc_exec,
                 alloc_lifecycle, csi_mount_volume, csi_write_volume, submit_recommendation);
  CHECK(level("namespace \"default\"", "read") == read);
  CHECK(level("namespace \"default\"", "write") == write);
  CHECK(level("namespace \"default\"", "scale")
        == set_of(list_scaling_policies, read_scaling_policy, read_job_scaling, scale_job,
                  any_in_namespace));
  CHECK(level("namespace \"default\"", "deny") == set_of());
  CHECK(level("node_pool \"gpu\"", "read") == set_of(node_pool_read));
  CHECK(level("node_pool \"gpu\"", "write")
        == set_of(node_pool_read, node_pool_write, node_pool_delete));
  CHECK(level("node_pool \"gpu\"", "scale") == set_of());
  CHECK(level("host_volume \"data\"", "read") == set_of(host_volume_mount_readonly));
  CHECK(level("host_volume \"data\"", "write")
        == set_of(host_volume_mount_readonly, host_volume_mount_readwrite));
}

TEST_CASE(
    "policy rights: levels without names give themselves and those below, of all the highest") {
  const auto of
      = [](const std::vector<std::string>& rules) { return allowed_set(*rights_from(rules)); };
  CHECK(of({"agent { policy = \"read\" }"}) == set_of(agent_read));
  CHECK(of({"agent { policy = \"write\" }"}) == set_of(agent_read, agent_write));
  CHECK(of({"node { policy = \"scale\" }"}) == set_of());
  CHECK(of({"operator { policy = \"read\" }", "operator { policy = \"write\" }"})
        == set_of(operator_read, operator_write));
  CHECK(of({"quota { policy = \"write\" }", "quota { policy = \"deny\" }"}) == set_of());
  CHECK(of({"node { policy = \"deny\" }", "node { policy = \"write\" }"}) == set_of());
  CHECK(of({"plugin { policy = \"list\" }"}) == set_of(plugin_list));
  CHECK(of({"plugin { policy = \"read\" }", "plugin { policy = \"list\" }"})
        == set_of(plugin_list, plugin_read));
  CHECK(of({"plugin { policy = \"read\" }", "plugin { policy = \"deny\" }"}) == set_of());
}

TEST_CASE("policy rights: a variable's read includes list, its deny all of its path") {
  const auto of = [](std::string_view words) {
    return allowed_set(
        *rights_from({"namespace \"default\" { variables { path \"a/*\" { "
                      "capabilities = ["
                      + std::string{words} + "] } } }"}));
  };
  CHECK(of("\"read\"") == set_of(variables_read, variables_list));
  CHECK(of("\"write\"") == set_of(variables_write));
  CHECK(of("\"list\", \"destroy\"") == set_of(variables_list, variables_destroy));
  CHECK(of("\"read\", \"deny\"") == set_of());
}

TEST_CASE("policy rights: deny wins between two policies, also for variables") {
  const std::string gives
      = "namespace \"default\" { variables { path \"a/b\" { capabilities = [\"write\"] } } }";
  const std::string denies
      = "namespace \"default\" { variables { path \"a/b\" { capabilities = [\"deny\"] } } }";
  CHECK(allowed_set(*rights_from({gives})) == set_of(variables_write));
  CHECK(allowed_set(*rights_from({gives, denies})) == set_of());
  CHECK(allowed_set(*rights_from({denies, gives})) == set_of());
}

TEST_CASE(
    "policy rights: the name itself comes before patterns, the closest pattern before others") {
  const auto rights = rights_from({R"(
namespace "*" { policy = "write" }
namespace "prod-*" { policy = "read" }
namespace "prod-api-*" { policy = "deny" }
namespace "prod-api-2" { capabilities = ["alloc-exec"] })"});
  CHECK(rights->allow(submit_job, {.ns = "dev"}));
  CHECK(rights->allow(read_job, {.ns = "prod-web"}));
  CHECK_FALSE(rights->allow(submit_job, {.ns = "prod-web"}));
  CHECK_FALSE(rights->allow(any_in_namespace, {.ns = "prod-api-1"}));
  CHECK(rights->allow(alloc_exec, {.ns = "prod-api-2"}));
  CHECK_FALSE(rights->allow(read_job, {.ns = "prod-api-2"}));
}

TEST_CASE("policy rights: of patterns that are as close the last by bytes counts") {
  const auto rights = rights_from({R"(
namespace "*ab" { capabilities = ["read-job"] }
namespace "a*b" { capabilities = ["submit-job"] }
namespace "ab*" { capabilities = ["scale-job"] })"});
  CHECK(allowed_set(*rights, {.ns = "abab"}) == set_of(scale_job, any_in_namespace));
}

TEST_CASE("policy rights: a namespace with variables only hides what patterns give there") {
  const auto rights = rights_from({R"(
namespace "*" { policy = "read" }
namespace "default" { variables { path "x" { capabilities = ["read"] } } })"});
  CHECK_FALSE(rights->allow(read_job, {.ns = "default"}));
  CHECK(rights->allow(read_job, {.ns = "other"}));
}

TEST_CASE("policy rights: for variables the namespace and the path count together") {
  const auto rights = rights_from({R"(
namespace "*" { variables { path "project/a/*" { capabilities = ["read"] } } }
namespace "prod" { variables { path "project/*" { capabilities = ["write"] } } }
namespace "p*" { variables { path "project/b/x" { capabilities = ["destroy"] } } })"});
  CHECK(allowed_set(*rights, {.ns = "prod", .path = "project/c"}) == set_of(variables_write));
  CHECK(allowed_set(*rights, {.ns = "prod", .path = "project/a/x"}) == set_of(variables_write));
  CHECK(allowed_set(*rights, {.ns = "prd", .path = "project/a/x"})
        == set_of(variables_read, variables_list));
  CHECK(allowed_set(*rights, {.ns = "prod", .path = "project/b/x"}) == set_of(variables_write));
  CHECK(allowed_set(*rights, {.ns = "pre", .path = "project/b/x"}) == set_of(variables_destroy));
  CHECK(allowed_set(*rights, {.ns = "prod"}) == set_of());
}

TEST_CASE("policy rights: a question about any of them is for what lists and reads only") {
  const auto rights = rights_from({R"(
namespace "prod-*" { policy = "write" variables { path "a" { capabilities = ["read", "write"] } } }
namespace "secret" { policy = "deny" }
node_pool "gpu" { policy = "write" })"});
  const auto any = allowed_set(*rights, {.ns = "*", .path = "a", .node_pool = "*"});
  CHECK(any
        == set_of(list_jobs, parse_job, read_job, csi_list_volume, csi_read_volume,
                  read_job_scaling, list_scaling_policies, read_scaling_policy, read_services,
                  any_in_namespace, variables_list, node_pool_read));
  CHECK(allowed_set(*rights_from({"namespace \"secret\" { policy = \"deny\" }"}), {.ns = "*"})
        == set_of());
}

TEST_CASE("policy rights: a question without a name is refused") {
  const auto rights = rights_from({R"(
namespace "default" { policy = "write" }
node_pool "gpu" { policy = "write" }
host_volume "data" { policy = "write" })"});
  CHECK(allowed_set(*rights, {}) == set_of());
}

TEST_CASE("policy rights: a workload reads its own variables and the services of its namespace") {
  const ImplicitRights workload{"prod", "web", "api", "server"};
  const auto rights = rights_from({}, &workload);
  const auto own = set_of(variables_list, variables_read);
  for (const auto* path :
       {"nomad/jobs", "nomad/jobs/web", "nomad/jobs/web/api", "nomad/jobs/web/api/server"}) {
    CAPTURE(path);
    CHECK(allowed_set(*rights, {.ns = "prod", .path = path}) == (own | set_of(read_services)));
    CHECK(allowed_set(*rights, {.ns = "dev", .path = path}) == set_of());
  }
  for (const auto* path :
       {"nomad", "nomad/jobs/", "nomad/jobs/we", "nomad/jobs/web/", "nomad/jobs/web2",
        "nomad/jobs/web/api/server/x", "nomad/jobs/web//server", "nomad/job-templates/web", ""}) {
    CAPTURE(path);
    CHECK(allowed_set(*rights, {.ns = "prod", .path = path}) == set_of(read_services));
  }
  CHECK(allowed_set(*rights, {.ns = "*"}) == set_of(read_services, variables_list));
  const ImplicitRights nobody{"prod", "", "", ""};
  CHECK(allowed_set(*rights_from({}, &nobody), {.ns = "prod", .path = "nomad/jobs/"})
        == set_of(read_services));
}

TEST_CASE("policy rights: a workload's own right stands between the path itself and patterns") {
  const ImplicitRights workload{"prod", "web", "api", "server"};
  const Target own{.ns = "prod", .path = "nomad/jobs/web"};
  const auto with = [&](std::string_view path, std::string_view words) {
    return allowed_set(*rights_from({"namespace \"prod\" { variables { path \"" + std::string{path}
                                     + "\" { capabilities = [" + std::string{words} + "] } } }"},
                                    &workload),
                       own);
  };
  CHECK(with("nomad/jobs/web", "\"write\"") == set_of(variables_write, read_services));
  CHECK(with("nomad/jobs/web", "\"deny\"") == set_of(read_services));
  CHECK(with("*", "\"write\"") == set_of(variables_list, variables_read, read_services));
  CHECK(with("*", "\"deny\"") == set_of(variables_list, variables_read, read_services));
  CHECK(allowed_set(*rights_from({"namespace \"prod\" { policy = \"deny\" }"}, &workload),
                    {.ns = "prod"})
        == set_of());
}

TEST_CASE("policy rights: what cannot be read gives nothing, and the later of one name counts") {
  const auto read = policy_of("agent { policy = \"read\" }");
  CHECK(allowed_set(*rights_of({{"a", 1, read}, {"b", 1, nullptr}})) == 0);
  const auto write = policy_of("agent { policy = \"write\" }");
  CHECK(allowed_set(*rights_of({{"a", 1, write}, {"a", 2, read}})) == set_of(agent_read));
}

TEST_CASE("policy rights: another agent can make the same of what is told") {
  const ImplicitRights workload{"prod", "web", "api", "server"};
  const auto rights = rights_of({{"b", 7, policy_of("node { policy = \"read\" }")},
                                 {"a", 5, policy_of("agent { policy = \"read\" }")}},
                                &workload);
  CHECK(rights->form() == Rights::Form::policies);
  REQUIRE(policies_of(*rights).size() == 2);
  CHECK(policies_of(*rights)[0].name == "a");
  CHECK(policies_of(*rights)[1].modify_index == 7);
  CHECK(rules_text(*policies_of(*rights)[1].policy) == "node { policy = \"read\" }");
  REQUIRE(workload_of(*rights) != nullptr);
  CHECK(*workload_of(*rights) == workload);
  CHECK(policies_of(*Rights::everything()).empty());
  CHECK(workload_of(*Rights::everything()) == nullptr);
  CHECK(workload_of(*rights_from({})) == nullptr);
}

TEST_CASE(
    "policy rights: what has a null character in its name is nobody's, whatever pattern fits") {
  using namespace std::string_view_literals;
  const auto rights = rights_from({R"(
namespace "*" { policy = "write" variables { path "*" { capabilities = ["read", "write"] } } }
namespace "*-dev" { policy = "write" }
namespace "prod" { policy = "deny" }
node_pool "*" { policy = "write" }
host_volume "*" { policy = "write" })"});
  CHECK(rights->allow(read_job, {.ns = "prod-web"}));
  for (const auto ns : {"prod\0web"sv, "prod\0web-dev"sv, "\0"sv})
    CHECK(allowed_set(*rights, {.ns = ns, .path = "a"}) == set_of());
  CHECK(allowed_set(*rights, {}) == set_of());
  CHECK_FALSE(rights->allow(variables_read, {.ns = "default", .path = "a\0b"sv}));
  CHECK(allowed_set(*rights, {.node_pool = "a\0b"sv, .host_volume = "a\0b"sv}) == set_of());
  const auto why = explain(*rights, read_job, {.ns = "prod\0web"sv});
  CHECK_FALSE(why.is_allowed);
}

TEST_CASE("policy rights: jobs may run in every pool but those that a rule denies") {
  const auto may_use = [](const std::vector<std::string>& policies, std::string_view pool) {
    return rights_from(policies)->allow(node_pool_use, {.node_pool = pool});
  };
  const std::string submits = "namespace \"default\" { policy = \"write\" }";
  const std::string denies = "node_pool \"gpu\" { policy = \"deny\" }";
  const std::string reads = "node_pool \"gpu\" { policy = \"read\" }";
  CHECK(may_use({submits}, "gpu"));
  CHECK(may_use({submits, reads}, "gpu"));
  CHECK_FALSE(may_use({submits, denies}, "gpu"));
  CHECK_FALSE(may_use({reads, denies}, "gpu"));
  CHECK_FALSE(may_use({"node_pool \"gpu\" { capabilities = [\"deny\"] }"}, "gpu"));
  CHECK(may_use({submits, denies}, "default"));
  CHECK_FALSE(may_use({submits}, ""));
  CHECK_FALSE(may_use({submits}, std::string_view{"gpu\0x", 5}));

  const std::string others = "node_pool \"*\" { policy = \"deny\" }";
  CHECK_FALSE(may_use({others}, "default"));
  CHECK(may_use({others, reads}, "gpu"));
}

TEST_CASE("policy rights: the pool of all nodes is denied as soon as any pool is") {
  const auto may_use_all = [](const std::vector<std::string>& policies) {
    return rights_from(policies)->allow(node_pool_use, {.node_pool = "all"});
  };
  CHECK(may_use_all({}));
  CHECK(may_use_all({"node_pool \"*\" { policy = \"write\" }"}));
  CHECK_FALSE(may_use_all({"node_pool \"all\" { policy = \"deny\" }"}));
  CHECK_FALSE(may_use_all({"node_pool \"gpu\" { policy = \"deny\" }"}));
  CHECK_FALSE(may_use_all(
      {"node_pool \"g*\" { policy = \"deny\" }", "node_pool \"all\" { policy = \"write\" }"}));
}

TEST_CASE("policy rights: why a pool may be used or not names the rule") {
  const auto why = [](const std::vector<std::string>& policies, std::string_view pool) {
    const auto told = explain(*rights_from(policies), node_pool_use, {.node_pool = pool});
    return told.reason + (told.deciding.empty() ? "" : " | " + told.deciding.front().rule);
  };
  const std::string denies = "node_pool \"gpu\" { policy = \"deny\" }";
  CHECK(why({denies}, "default") == "no rule denies node pool \"default\"");
  CHECK(why({denies}, "gpu")
        == "the rule for node pool \"gpu\" denies | node_pool \"gpu\" { policy = \"deny\" }");
  CHECK(why({denies}, "all")
        == "node pool \"all\" has the nodes of every pool, and the rule for node pool \"gpu\" "
           "denies | node_pool \"gpu\" { policy = \"deny\" }");
  CHECK(why({"node_pool \"all\" { policy = \"deny\" }"}, "all")
        == "the rule for node pool \"all\" denies | node_pool \"all\" { policy = \"deny\" }");
}
