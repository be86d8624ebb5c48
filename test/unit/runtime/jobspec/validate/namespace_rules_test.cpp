// What a namespace asks of its jobs.
#include "runtime/jobspec/validate/namespace_rules.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/jobspec/job_draft.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/flat_json.hpp"

using namespace nomad::jobspec;

namespace {

/// What namespace "dev" has against a job with these drivers in this pool.
struct Home {
  nomad::Draft<nomad::schema::Namespace> ns;

  Home() { ns->setName("dev"); }

  void capabilities(std::vector<const char*> enabled, std::vector<const char*> disabled) {
    auto rules = ns->initCapabilities();
    auto first = rules.initEnabledTaskDrivers(static_cast<unsigned>(enabled.size()));
    for (unsigned i = 0; i < first.size(); ++i)
      first.set(i, enabled[i]);
    auto second = rules.initDisabledTaskDrivers(static_cast<unsigned>(disabled.size()));
    for (unsigned i = 0; i < second.size(); ++i)
      second.set(i, disabled[i]);
  }

  std::vector<std::string> errors(std::vector<std::string> drivers,
                                  const std::string& pool = "default") {
    boost::json::array tasks;
    for (const auto& driver : drivers)
      tasks.push_back(boost::json::object{{"Name", driver}, {"Driver", driver}});
    const boost::json::object job{
        {"ID", "web"},
        {"NodePool", pool},
        {"TaskGroups", boost::json::array{boost::json::object{{"Name", "g"}, {"Tasks", tasks}}}}};
    const auto flat = nomad::FlatJson::of(job);
    auto draft = JobDraft::decode(flat.root());
    REQUIRE(draft.has_value());
    const auto found = namespace_errors(draft->job(), ns.reader());
    CHECK(namespace_errors(*draft->freeze(), ns.reader()) == found);
    return found;
  }

  bool takes(const std::string& pool) { return errors({"raw_exec"}, pool).empty(); }
};

}  // namespace

TEST_CASE_FIXTURE(Home, "namespace rules: without rules every driver and pool is allowed") {
  CHECK(errors({"raw_exec", "docker"}).empty());
  CHECK(takes("gpu"));
  CHECK(default_node_pool(ns.reader()) == "default");
}

TEST_CASE_FIXTURE(Home, "namespace rules: drivers are enabled or disabled, with Nomad's texts") {
  capabilities({"raw_exec"}, {});
  CHECK(errors({"raw_exec"}).empty());
  CHECK(errors({"docker"})
        == std::vector<std::string>{
            "used task driver \"docker\" is not allowed in namespace \"dev\""});
  CHECK(errors({"docker", "raw_exec", "exec"})
        == std::vector<std::string>{
            "used task drivers [\"docker\" \"exec\"] are not allowed in namespace \"dev\""});
  capabilities({}, {"raw_exec"});
  CHECK(errors({"docker"}).empty());
  CHECK_FALSE(errors({"raw_exec"}).empty());
  capabilities({"raw_exec"}, {"raw_exec"});
  CHECK_FALSE(errors({"raw_exec"}).empty());
}

TEST_CASE_FIXTURE(Home, "namespace rules: pools are allowed by name or glob, the default always") {
  auto rules = ns->initNodePoolConfiguration();
  rules.setDefault("base");
  rules.initAllowed(2).set(0, "gpu-*");
  rules.getAllowed().set(1, "c*u");
  CHECK(default_node_pool(ns.reader()) == "base");
  CHECK(takes("base"));
  CHECK(takes("gpu-1"));
  CHECK(takes("gpu-"));
  CHECK(takes("cpu"));
  CHECK_FALSE(takes("cpus"));
  CHECK_FALSE(takes("gpu"));
  CHECK(errors({"raw_exec"}, "default")
        == std::vector<std::string>{
            "namespace \"dev\" does not allow jobs to use node pool \"default\""});
}

TEST_CASE_FIXTURE(Home, "namespace rules: an empty list allows the default pool alone") {
  ns->initNodePoolConfiguration().initAllowed(0);
  CHECK(takes("default"));
  CHECK_FALSE(takes("gpu"));
}

TEST_CASE_FIXTURE(Home,
                  "namespace rules: pools are allowed or denied, and the default is not denied") {
  auto rules = ns->initNodePoolConfiguration();
  rules.setDefault("prod-1");
  rules.initDenied(1).set(0, "prod*");
  CHECK(node_pool_mistakes(rules.asReader())
        == std::vector<std::string>{
            "the default node pool \"prod-1\" is among those that are denied"});
  rules.initAllowed(1).set(0, "prod*");
  CHECK(node_pool_mistakes(rules.asReader())
        == std::vector<std::string>{"\"allowed\" and \"denied\" can't be used together"});
  rules.initDenied(0);
  CHECK(node_pool_mistakes(rules.asReader()).empty());
}

TEST_CASE_FIXTURE(Home, "namespace rules: pools that are denied are refused, all others taken") {
  ns->initNodePoolConfiguration().initDenied(1).set(0, "prod*");
  CHECK(takes("gpu"));
  CHECK_FALSE(takes("prod"));
  CHECK_FALSE(takes("prod-2"));
}
