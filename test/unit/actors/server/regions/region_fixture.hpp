// RegionFixture: a region's leader, and another region's state that it copies from.
#pragma once

#include "actors/server/regions/region_rows.hpp"
#include "actors/server/regions/replicator.hpp"
#include "runtime/access/secret_hash.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/acl/acl_names.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/actors/server/server_fixture.hpp"

namespace nomad::test {

using namespace nomad::server;
using namespace std::chrono_literals;

namespace kind = state::kind;
using rpc::transport::Delivery;
using rpc::transport::Reply;

inline capnp::Data::Reader bytes_as_data(std::string_view bytes) {
  return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

/// What the fixture's own server asks is answered by the other region, if that is there.
struct Way {
  bool is_open = true;
  std::string token = "manager";
  std::size_t asked = 0;
};

inline rpc::Forwarder::behavior_type way_to_region(rpc::Forwarder::pointer self,
                                                   RegionRows rows,
                                                   std::shared_ptr<Way> way) {
  return {[self, rows, way](const rpc::forwarder::SendOn& msg) -> actor::Answer<Reply> {
    ++way->asked;
    CHECK(msg.call.region == "authority");
    CHECK(msg.call.method == rpc::Method::region_rows);
    if (!way->is_open)
      return Reply{Error{Errc::unavailable, "No path to region"}, Delivery::surely_not};
    if (msg.call.credentials.token != way->token)
      return Reply{access::permission_denied(), Delivery::answered};
    auto promise = self->make_response_promise<Reply>();
    const auto request = Object<schema::rpc::RegionRowsRequest>::from_bytes(msg.call.body.view());
    self->request(rows, 90s, AskRows{*request})
        .then(
            [promise](const RowsShown& told) mutable {
              promise.deliver(Reply{rpc::bytes_of(told.reply), Delivery::answered});
            },
            [promise](const Error& why) mutable {
              promise.deliver(Reply{why, Delivery::answered});
            });
    return promise;
  }};
}

inline std::shared_ptr<security::Keyring> new_keyring(const std::string& id) {
  auto opened = security::Keyring::open({.server_id = id});
  REQUIRE(opened.has_value());
  return *opened;
}

struct RegionFixture : ServerFixture {
  std::shared_ptr<state::Store> there = std::make_shared<state::Store>();
  std::uint64_t index_there = 100;
  std::shared_ptr<security::Keyring> keyring_there = new_keyring("there");
  std::shared_ptr<security::Keyring> keyring = new_keyring("here");
  RegionRows rows = adopt(spawn_region_rows(system(), there, keyring_there, {}));
  std::shared_ptr<Way> way = std::make_shared<Way>();
  rpc::Forwarder forwarder = adopt(actor::spawn(system(), way_to_region, rows, way));
  LeaderDuty replicator;
  SecretText token{"manager"};

  explicit RegionFixture(bool has_key = true) {
    there_is([&](schema::Command::Builder command) {
      command.initRootKeyUpsert().setKey(*keyring_there->make_root_key("k-there", 1, {}));
    });
    if (!has_key) return;
    write([&](schema::Command::Builder command) {
      command.initRootKeyUpsert().setKey(*keyring->make_root_key("k-here", 1, {}));
    });
  }

  template <class Fill>
  void there_is(Fill fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    const auto command = draft.freeze();
    REQUIRE_FALSE(there->apply(++index_there, *command).error);
    there->publish();
  }

  void start(ReplicatorOptions options = {}) {
    options.authority = "authority";
    options.token = token;
    replicator = adopt(
        spawn_replicator(system(), store, proposer, keyring, forwarder, std::move(options)));
    tell(replicator, Lead{true});
    commit();
  }

  void pass(std::chrono::nanoseconds time) {
    advance(time);
    commit();
  }

  void put_policy(const char* name, const char* rules) {
    there_is([&](auto command) {
      auto policy = command.initAclPolicyUpsert();
      policy.setName(name);
      policy.setRules(rules);
    });
  }

  void put_token(const std::string& accessor, const std::string& secret, bool is_global = true) {
    const auto sealed = keyring_there->seal_secret(there->snapshot().active_root_key(),
                                                   {security::token_seal, accessor}, secret);
    REQUIRE(sealed.has_value());
    there_is([&](auto command) {
      auto upsert = command.initAclTokenUpsert();
      upsert.setIsNew(true);
      auto token = upsert.initToken();
      token.setAccessorId(text(accessor));
      token.setSecretHash(bytes_as_data(access::secret_hash(secret)));
      token.setGlobal(is_global);
      token.setKeyId("k-there");
      token.setSealed({reinterpret_cast<const unsigned char*>(sealed->data()), sealed->size()});
    });
  }

  void put_namespace(const char* name) {
    there_is([&](auto command) { command.initNamespaceUpsert().setName(name); });
  }
};

}  // namespace nomad::test
