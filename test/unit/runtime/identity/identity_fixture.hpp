// A state with a key, a job of a task with identities, and its allocation "a1" on node "n1".
#pragma once

#include <string>

#include "runtime/access/login/jwt.hpp"
#include "runtime/identity/verify.hpp"
#include "test/unit/runtime/state/fixture.hpp"

namespace nomad::test {

struct IdentityState : state::StateFixture {
  static constexpr std::int64_t issued = 1'700'000'000;  ///< Unix seconds.

  std::shared_ptr<security::Keyring> keyring
      = security::Keyring::open({.server_id = "one"}).value();
  identity::KeyOf keys = identity::signing_keys(keyring);
  identity::RsaKeyOf rsa_keys = identity::rsa_keys(keyring);
  identity::SignatureCache signatures;

  IdentityState() {
    add_key("11111111-2222-4333-8444-555555555555");
    run([](auto command) { fill_job(command.initJobRegister().initJob()); });
    place_alloc("a1", "web");
  }

  void add_key(std::string_view id, std::int64_t publish_time = 0) {
    const auto key = keyring->make_root_key(id, 1, {keyring->holder()}, publish_time);
    run([&](auto command) { command.initRootKeyUpsert().setKey(*key); });
  }

  static void fill_job(schema::Job::Builder job, std::string_view id = "web") {
    job.setId(text(id));
    job.setNamespace("default");
    job.setRegion("global");
    job.setType("service");
    auto group = job.initTaskGroups(1)[0];
    group.setName("api");
    auto service = group.initServices(1)[0];
    service.setName("front");
    service.initIdentity().initAudience(1).set(0, "mesh");
    auto task = group.initTasks(1)[0];
    task.setName("server");
    auto identities = task.initIdentities(3);
    identities[0].setName("aws");
    identities[0].initAudience(1).set(0, "sts.amazonaws.com");
    identities[0].setTtl(3'600'000'000'001);
    identities[1].setName("ours");
    identities[1].initAudience(1).set(0, "nomadproject.io");
    identities[2].setName("vault");
    identities[2].initAudience(1).set(0, "vault.io");
  }

  void place_alloc(std::string_view id, std::string_view job) {
    place({{.id = std::string{id}, .job = std::string{job}, .node = "n1"}}, [&](auto plan) {
      plan.setModifyTime(issued * 1'000'000'000);
      plan.setIdentityKey(now().active_root_key()->getCreateIndex());
    });
  }

  Result<identity::Issued> issue(const identity::IdentityRef& wanted,
                                 std::int64_t at = issued,
                                 std::string_view node = "n1") {
    return identity::issue(now(), {keys, rsa_keys}, node, wanted, "https://nomad.example", at,
                           &signatures);
  }

  std::string token_of(const identity::IdentityRef& wanted) { return issue(wanted).value().token; }

  static access::Claims claims_in(std::string_view token) {
    return access::parse_jwt(token).value().claims;
  }
};

}  // namespace nomad::test
