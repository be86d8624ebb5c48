#include <doctest/doctest.h>

#include "runtime/access/policy/policy.hpp"
#include "test/unit/runtime/access/policy/policies.hpp"

using namespace nomad;
using namespace nomad::access;

namespace {

using enum Capability;

const std::vector<std::string> sample_rules{
    R"(namespace "*" { policy = "write" }
namespace "prod-*" { policy = "read" capabilities = ["alloc-exec"] }
node { policy = "read" })",
    R"(namespace "prod-*" { capabilities = ["read-logs"] }
namespace "secret" { policy = "deny" }
node { policy = "write" }
namespace "default" { variables { path "app/*" { capabilities = ["read"] } } })"};

}  // namespace

TEST_CASE("explain: the rules of the deciding pattern that give it, of all policies") {
  const auto rights = rights_from(sample_rules);
  const auto why = explain(*rights, read_logs, {.ns = "prod-web"});
  CHECK(why.is_allowed);
  CHECK(why.reason == "the rule for namespace \"prod-*\" gives read-logs");
  REQUIRE(why.deciding.size() == 1);
  CHECK(why.deciding[0].policy == "p1");
  CHECK(why.deciding[0].rule == "namespace \"prod-*\" { capabilities = [\"read-logs\"] }");
  CHECK(why.deciding[0].line == 1);
  REQUIRE(why.close.size() == 1);
  CHECK(why.close[0].rule == "namespace \"*\" { policy = \"write\" }");
  CHECK(why.close[0].note == "gives read-logs, but the rule for namespace \"prod-*\" is closer");
}

TEST_CASE("explain: what is refused names the closest rule, and what would have given it") {
  const auto rights = rights_from(sample_rules);
  const auto why = explain(*rights, submit_job, {.ns = "prod-web"});
  CHECK_FALSE(why.is_allowed);
  CHECK(why.reason == "the rule for namespace \"prod-*\" does not give submit-job");
  REQUIRE(why.deciding.size() == 2);
  CHECK(why.deciding[0].rule
        == "namespace \"prod-*\" { policy = \"read\" capabilities = [\"alloc-exec\"] }");
  CHECK(why.deciding[0].line == 2);
  REQUIRE(why.close.size() == 1);
  CHECK(why.close[0].policy == "p0");
}

TEST_CASE("explain: a denial names the rules that deny") {
  const auto why = explain(*rights_from(sample_rules), read_job, {.ns = "secret"});
  CHECK_FALSE(why.is_allowed);
  CHECK(why.reason == "the rule for namespace \"secret\" denies");
  REQUIRE(why.deciding.size() == 1);
  CHECK(why.deciding[0].rule == "namespace \"secret\" { policy = \"deny\" }");
}

TEST_CASE("explain: without a rule those for another name are close, like ones first") {
  const auto rights = rights_from({R"(namespace "team" { policy = "write" }
namespace "prod" { policy = "write" })"});
  const auto why = explain(*rights, submit_job, {.ns = "prd"});
  CHECK(why.reason == "no rule is for namespace \"prd\"");
  CHECK(why.deciding.empty());
  REQUIRE(why.close.size() == 2);
  CHECK(why.close[0].rule == "namespace \"prod\" { policy = \"write\" }");
  CHECK(why.close[0].note == "gives submit-job, but for another name");
}

TEST_CASE("explain: variables by namespace and path") {
  const auto why
      = explain(*rights_from(sample_rules), variables_write, {.ns = "default", .path = "app/key"});
  CHECK_FALSE(why.is_allowed);
  CHECK(
      why.reason
      == "the rule for variable \"app/*\" in namespace \"default\" does not give variables-write");
  REQUIRE(why.deciding.size() == 1);
  CHECK(why.deciding[0].rule
        == "namespace \"default\" { variables { path \"app/*\" { capabilities = [\"read\"] } } }");
  CHECK(why.deciding[0].line == 4);
}

TEST_CASE("explain: of levels the highest decides, and none but a denial hides it") {
  const auto rights = rights_from(sample_rules);
  const auto why = explain(*rights, node_write, {});
  CHECK(why.is_allowed);
  CHECK(why.reason == "the highest level for \"node\" gives node-write");
  REQUIRE(why.deciding.size() == 1);
  CHECK(why.deciding[0].rule == "node { policy = \"write\" }");
  REQUIRE(why.close.size() == 1);
  CHECK(why.close[0].rule == "node { policy = \"read\" }");
  CHECK(explain(*rights, agent_read, {}).reason == "no rule is for \"agent\"");
  const auto denied
      = explain(*rights_from({"quota { policy = \"write\" }", "quota { policy = \"deny\" }"}),
                quota_read, {});
  CHECK(denied.reason == "a rule for \"quota\" denies");
  CHECK(denied.deciding.size() == 1);
  CHECK(denied.deciding[0].policy == "p1");
}

TEST_CASE("explain: a workload's own rights need no rule") {
  const ImplicitRights workload{"prod", "web", "api", "server"};
  const auto rights = rights_from({}, &workload);
  CHECK(explain(*rights, variables_read, {.ns = "prod", .path = "nomad/jobs/web"}).reason
        == "the variable is the workload's own, which it may list and read");
  CHECK(explain(*rights, read_services, {.ns = "prod"}).reason
        == "a workload may read the services of its namespace");
  CHECK(explain(*rights, read_services, {.ns = "dev"}).reason
        == "no rule is for namespace \"dev\"");
}

TEST_CASE("explain: questions about any, management, and rights without policies") {
  const auto rights = rights_from(sample_rules);
  const auto any = explain(*rights, list_jobs, {.ns = "*"});
  CHECK(any.is_allowed);
  CHECK(any.reason == "list-jobs is given for some namespace");
  CHECK(any.deciding.size() == 2);
  CHECK(explain(*rights, management, {}).reason == "it takes a management token");
  CHECK(explain(*rights, none, {}).reason == "everyone may do that");
  CHECK(explain(*Rights::everything(), management, {}).is_allowed);
  CHECK(explain(*Rights::nothing(), read_job, {.ns = "a"}).reason == "no policy gives anything");
}

TEST_CASE("explain: it says what the look-up says, and no more than some rules") {
  std::string many = "namespace \"x*\" { policy = \"write\" }\n";
  for (int i = 0; i < 200; ++i)
    many += "namespace \"n" + std::to_string(i) + "\" { policy = \"write\" }\n";
  const auto rights = rights_from({many});
  for (int number = 0; number <= static_cast<int>(management); ++number)
    for (const auto* ns : {"x1", "n5", "other", "*", ""}) {
      CAPTURE(number);
      const auto needed = static_cast<Capability>(number);
      const auto why = explain(*rights, needed, {.ns = ns});
      CHECK(why.is_allowed == rights->allow(needed, {.ns = ns}));
      CHECK_FALSE(why.reason.empty());
      CHECK(why.close.size() <= Explanation::max_notes);
      CHECK(why.deciding.size() <= Explanation::max_notes);
    }
  std::string same;
  for (int i = 0; i < 200; ++i)
    same += "namespace \"a\" { policy = \"write\" }\n";
  const auto why = explain(*rights_from({same}), submit_job, {.ns = "a"});
  CHECK(why.deciding.size() == Explanation::max_notes);
}
