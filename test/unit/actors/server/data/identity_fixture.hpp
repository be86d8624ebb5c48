// An identity_endpoint with its issuers, and an allocation of node n1 whose task has identities.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/server/data/identity_endpoint.hpp"
#include "runtime/object/draft.hpp"
#include "test/support/door.hpp"
#include "test/unit/actors/server/server_fixture.hpp"

namespace nomad::test {

struct IdentityFixture : test::ServerFixture {
  std::shared_ptr<security::Keyring> keyring
      = security::Keyring::open({.server_id = "one"}).value();
  std::shared_ptr<raft::LeaderLease> lease = std::make_shared<raft::LeaderLease>();
  NodeDoor endpoint = adopt(server::spawn_identity_endpoint(
      system(),
      store,
      {identity::signing_keys(keyring), identity::rsa_keys(keyring)},
      lease,
      {.issuer = "https://nomad.example", .detached = false, .makes_keys = false}));

  IdentityFixture() {
    lease->set(raft::LeaderLease::unlimited);
    Draft<schema::Job> job{*make_job("web", 1)};
    auto vault = job->getTaskGroups()[0].getTasks()[0].initIdentities(1)[0];
    vault.setName("vault");
    vault.initAudience(1).set(0, "vault.io");
    vault.setTtl(3'600'000'000'000);
    register_job(job.freeze());
    write([](auto command) {
      auto plan = command.initPlanResults().initPlans(1)[0];
      plan.setModifyTime(1'700'000'000'000'000'000);
      auto alloc = plan.initPlaced(1)[0];
      alloc.setId("a1");
      alloc.setNamespace("default");
      alloc.setJobId("web");
      alloc.setJobCreateIndex(11);
      alloc.setTaskGroup("api");
      alloc.setNodeId("n1");
    });
  }

  void add_key() {
    const auto key
        = keyring->make_root_key("11111111-2222-4333-8444-555555555555", 1, {keyring->holder()});
    write([&](auto command) { command.initRootKeyUpsert().setKey(*key); });
  }

  using Wanted = std::pair<std::string, std::string>;

  Answer<door::Reply> sign(std::vector<Wanted> wanted,
                           const std::string& name = "",
                           std::string_view node = "n1") {
    return ask<door::Reply>(
        endpoint, door::make_ask(node, [&](auto& question) {
          auto list = question.initSignIdentities(static_cast<unsigned>(wanted.size()));
          for (unsigned i = 0; i < list.size(); ++i) {
            list[i].setAllocId(text(wanted[i].first));
            list[i].setTask(text(wanted[i].second));
            list[i].setName(text(name));
          }
        }));
  }
};

}  // namespace nomad::test
