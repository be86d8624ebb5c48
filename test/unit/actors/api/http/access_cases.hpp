// What is tried of every route of the API by whoever may not: requests about the objects of two
// namespaces, of which some may see one.
#pragma once

#include <map>
#include <string>

#include "runtime/object/entries.hpp"
#include "test/support/access_policy.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

namespace nomad::api {

inline const std::string eval_b = uuid(201);
inline const std::string deployment_a = uuid(102);
inline const std::string deployment_b = uuid(202);

/// The same things in namespaces "a" and "bbb"; of the latter all names hold "bbb".
struct TwoNamespaces : ApiFixture {
  explicit TwoNamespaces(const std::shared_ptr<access::Authenticator>& authenticator
                         = test::a_only_rights())
      : ApiFixture{[&](ApiOptions& options) { options.authenticator = authenticator; }} {
    add_root_key();
    state().register_node({.id = own_node});
    fill("a", "a-web", uuid(101), uuid(103), deployment_a);
    fill("bbb", "bbb-web", eval_b, own_alloc, deployment_b);
    played->alloc_ns = "bbb";
  }

  void fill(const std::string& ns,
            const std::string& job,
            const std::string& eval,
            const std::string& alloc,
            const std::string& deployment) {
    add_namespace(ns);
    state().register_job({.id = job, .ns = ns}, {.id = eval, .job = job, .ns = ns});
    state().run([&](auto command) {
      auto named = command.initJobRegister().initJob();
      state::fill(named, state::JobSpec{.id = job + "-scaled", .ns = ns});
      auto policy = named.getTaskGroups()[0].initScaling();
      fill_entries(policy.initTarget(3),
                   std::map<std::string, std::string>{
                       {"Group", "api"}, {"Job", job + "-scaled"}, {"Namespace", ns}});
    });
    state().run([&](auto command) {
      auto made = command.initPlanResults().initPlans(1)[0].initDeployment();
      made.setId(text(deployment));
      made.setNamespace(text(ns));
      made.setJobId(text(job));
      made.setStatus(schema::DeploymentState::RUNNING);
    });
    state().place({{.id = alloc,
                    .job = job,
                    .ns = ns,
                    .node = own_node,
                    .eval = eval,
                    .deployment = deployment}});
    state().run([&](auto command) {
      auto service = command.initServiceUpsert().initServices(1)[0];
      service.setId(text("_" + job));
      service.setServiceName(text(ns + "-service"));
      service.setNamespace(text(ns));
      service.setJobId(text(job));
      service.setAllocId(text(alloc));
      service.setNodeId(text(own_node));
    });
    state().run([&](auto command) {
      auto volume = command.initCsiVolumeRegister().initVolume();
      volume.setId(text(ns + "-volume"));
      volume.setNamespace(text(ns));
      volume.setPluginId("p");
    });
    const auto put
        = as("owner", "PUT", "/v1/var/" + ns + "/path?namespace=" + ns, R"({"Items":{"k":"v"}})");
    REQUIRE(put.status == 200);
  }

  net::ClientResponse as(const std::string& token,
                         const std::string& method,
                         const std::string& target,
                         const std::string& body) {
    auto client = net::HttpClient::make(
        {.address = "http://" + address(), .headers = {{"X-Nomad-Token", token}}});
    auto response = client->send({.method = method, .target = target, .body = body});
    CAPTURE(target);
    REQUIRE(response.has_value());
    return std::move(*response);
  }
};

struct Case {
  std::string target;
  std::string body = {};

  /// What the answer shows to those who may see it and to nobody else; empty: the request is to be
  /// refused.
  std::string hidden = {};
  bool ends = true;         ///< Of an answer that everybody gets.
  unsigned refused = 403;   ///< The status of a refusal.
  bool is_of_both = false;  ///< It is about objects of both namespaces.
};

using Cases = std::multimap<std::string, Case>;

/// By their routes, as Routes::listed() names them: each route of namespaces has one.
Cases access_cases();

/// "GET" of "GET /v1/jobs"; of a route that does not look at it, one that fits.
std::string method_of(const std::string& route);

/// One that is below the route.
std::string some_path(const std::string& route);

}  // namespace nomad::api
