// /v1/operator/keyring/…: root keys are listed, replaced and removed; never shown.
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/cluster/variable_commands.hpp"
#include "runtime/net/http/status.hpp"
#include "runtime/security/keyring.hpp"

namespace nomad::api {
namespace {

using server::SealedWritten;
using state::Table;

constexpr std::int64_t longest_prepublish = 720LL * 3600 * 1'000'000'000;

Outcome list_keys(Call& call) {
  return read_state(call, [](const ReadOptions& options) -> Result<Read> {
    return Read{.watch = {state::watch_prefix(Table::root_keys, options.prefix)},
                .index = index_from_one<Table::root_keys>,
                .answer = [options](const View& snapshot) {
                  return list_by_key(snapshot, &state::Snapshot::rows<state::kind::RootKeys>,
                                     options, keep_all, append_whole);
                }};
  });
}

/// From when on the new key is to sign and to seal (Unix nanoseconds); 0: at once.
Result<std::int64_t> publish_time_of(const Call& call) {
  const auto given = call.request().parameter_or_empty("publish_time");
  const auto time = given.empty() ? 0 : whole_number<std::int64_t>(given).value_or(-1);
  if (time < 0)
    return bad_request("invalid publish_time: " + quote(given) + " is no time in nanoseconds");
  if (time > unix_now() + longest_prepublish)
    return bad_request("invalid publish_time: it is more than 720h0m0s ahead");
  return time;
}

/// Ends the call.
void put_new_key(Call& call, const Object<schema::RootKey>& key, bool rekey) {
  const auto decision = cluster::decide_put_root_key(call.asking, key, rekey);
  if (!decision) return call.fail(decision.error());
  const auto outcome = write_sealed(call, *decision, [key](const SealedWritten& done) {
    Draft<schema::RootKey> shown{key};
    shown->setCreateIndex(done.index);
    shown->setModifyIndex(done.index);
    return Answer::json(
               JsonObject{}.number("Index", done.index).object("Key", shown.reader()).take())
        .with_index(done.index);
  });
  if (!outcome) call.fail(outcome.error());
}

Outcome rotate(Call& call, const std::shared_ptr<security::Keyring>& keyring) {
  const auto& store = call.context->state.store;
  if (!store || !keyring) return no_leader();
  const auto algorithm = call.request().parameter_or_empty("algo");
  if (!algorithm.empty() && algorithm != security::algorithm && algorithm != "aes256-gcm")
    return bad_request("unknown key algorithm: keys are of " + std::string{security::algorithm});
  const auto snapshot = store->snapshot();
  security::Keyring::Holders holders;
  for (const auto& entry : snapshot.rows<state::kind::KeyHolders>().all())
    holders.push_back(entry.value());
  auto random = Random::from_system();
  const bool rekey = call.request().parameter("full") != nullptr;
  const auto publish_time = NOMAD_TRY(publish_time_of(call));
  if (rekey && publish_time != 0)
    return bad_request("keyring cannot be prepublished and full rotated at the same time");
  NOMAD_TRY(authorize(call.asking, {}));  // before a wrapping key is asked
  const auto shared = share(std::move(call));
  keyring->make_root_key(
      make_uuid(random), unix_now(), holders, publish_time,
      shared->turns().callback([shared, rekey](const Result<Object<schema::RootKey>>& key) {
        if (!key) return shared->fail(key.error());
        put_new_key(*shared, *key, rekey);
      }));
  return later;
}

/// Removing what is not there is fine, as it is for Nomad. With `force` also what has sealed or
/// signs something.
Outcome remove_key(Call& call) {
  const auto id = call.rest;
  if (id.empty()) return bad_request("root key ID is required");
  const auto force = bool_parameter(call.request(), "force");
  if (!force) return bad_request("invalid force parameter: expected true or false");
  const auto& store = call.context->state.store;
  if (!store) return no_leader();
  const auto snapshot = store->snapshot();
  if (!snapshot.root_key(id)) return Answer::json("{\"Index\":0}").with_index(0);
  const auto decision
      = NOMAD_TRY(cluster::decide_delete_root_key(snapshot, call.asking, id, *force, unix_now()));
  return write_sealed(call, decision, [](const SealedWritten& done) {
    return Answer::json(JsonObject{}.number("Index", done.index).take()).with_index(done.index);
  });
}

Outcome refuse_keyring_method(Call&) {
  return Answer::text(net::status::method_not_allowed, "Invalid method");
}

}  // namespace

void add_keyring_routes(Routes& routes, std::shared_ptr<security::Keyring> keyring) {
  const auto with = routes.with(std::move(keyring));
  routes.exact("/v1/operator/keyring/keys", {{Methods::get, Capability::management, list_keys}});
  routes.exact("/v1/operator/keyring/rotate",
               {{Methods::write, Capability::management, with(rotate)}});
  routes.below("/v1/operator/keyring/key/",
               {{"", {{Methods::remove, Capability::management, remove_key}}}});
  routes.below("/v1/operator/keyring/",
               {{"", {{Methods::any, Capability::none, refuse_keyring_method}}}});
}

}  // namespace nomad::api
