// /v1/operator/keyring/…: root keys are listed, replaced and removed; never shown.
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/cluster/variable_commands.hpp"
#include "runtime/security/keyring.hpp"

namespace nomad::api {
namespace {

using server::SealedWritten;
using state::Snapshot;
using state::Table;
using KeyRef = Object<schema::RootKey>;

void list_keys(Call call) {
  read_state(std::move(call), [](const ReadOptions& options) -> Result<Read> {
    return Read{
        .watch = {state::watch_prefix(Table::root_keys, "")},
        .index = [](const Snapshot& snapshot) { return table_index(snapshot, Table::root_keys); },
        .answer =
            [options](const Snapshot& snapshot) {
              return list_page(
                  snapshot.tables().root_keys, Walk{}, options,
                  [](const KeyRef&) -> Result<bool> { return true; },
                  [](std::string_view key, const KeyRef&) { return std::string{key}; },
                  [](std::string& out, const KeyRef& key) { append_json(out, *key); });
            }};
  });
}

void rotate(Call call) {
  const auto& options = call.context->options;
  if (!options.store || !options.keyring) return call.fail(no_leader());
  const auto algorithm = call.request().parameter_or_empty("algo");
  if (!algorithm.empty() && algorithm != security::algorithm && algorithm != "aes256-gcm")
    return call.fail(
        bad_request("unknown key algorithm: keys are of " + std::string{security::algorithm}));
  const auto snapshot = options.store->snapshot();
  security::Keyring::Holders holders;
  for (const auto& entry : snapshot.tables().key_holders.all())
    holders.push_back(entry.value());
  auto random = Random::from_system();
  const auto key = options.keyring->make_root_key(make_uuid(random), unix_now(), holders);
  const bool rekey = call.request().parameter("full") != nullptr;
  write_sealed(std::move(call), cluster::put_root_key(key, rekey),
               [key](const SealedWritten& done) {
                 Draft<schema::RootKey> shown{key};
                 shown->setCreateIndex(done.index);
                 shown->setModifyIndex(done.index);
                 std::string out;
                 JsonObject{out}.number("Index", done.index).object("Key", shown.reader());
                 return Answer::json(std::move(out)).with_index(done.index);
               });
}

/// Removing what is not there is fine, as it is for Nomad.
void remove_key(Call call) {
  const auto id = call.rest;
  if (id.empty()) return call.fail(bad_request("root key ID is required"));
  const auto& options = call.context->options;
  if (!options.store) return call.fail(no_leader());
  if (!options.store->snapshot().root_key(id)) {
    call.send(Answer::json("{\"Index\":0}").with_index(0));
    return;
  }
  write_sealed(std::move(call), cluster::delete_root_key(id), [](const SealedWritten& done) {
    std::string out;
    JsonObject{out}.number("Index", done.index);
    return Answer::json(std::move(out)).with_index(done.index);
  });
}

void refuse_keyring_method(Call call) {
  call.fail(405, "Invalid method");
}

}  // namespace

void add_keyring_routes(Routes& routes) {
  routes.exact("/v1/operator/keyring/keys", {{Methods::get, Capability::management, list_keys}});
  routes.exact("/v1/operator/keyring/rotate", {{Methods::write, Capability::management, rotate}});
  routes.below("/v1/operator/keyring/key/",
               {{"", {{Methods::remove, Capability::management, remove_key}}}});
  routes.below("/v1/operator/keyring/",
               {{"", {{Methods::any, Capability::none, refuse_keyring_method}}}});
}

}  // namespace nomad::api
