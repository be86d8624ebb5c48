// What the endpoints of access control share: all of them say so where it is off; what is written
// is answered as it is stored; and secrets are drawn, sealed and opened on the agent that serves
// the request, which is the leader where something is written. Tests: acl_test, acl_secrets_test.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include <sodium/utils.h>

#include "actors/api/cluster/root_key_wait.hpp"
#include "actors/api/forward/dispatch.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/wiping_memory.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/cluster/acl/acl_commands.hpp"
#include "runtime/cluster/kind_commands.hpp"
#include "runtime/net/http/status.hpp"
#include "runtime/security/keyring.hpp"

namespace nomad::api {

using security::auth_method_seal;
using security::token_seal;

using AclHandler = Outcome (*)(Call&, const AclParts&);

/// An operation of access control: refused where that is off.
template <AclHandler run>
Outcome if_enabled(Call& call, const AclParts& parts) {
  if (!parts.options.enabled) return bad_request("ACL support disabled");
  return run(call, parts);
}

/// The object that the body is.
template <class T>
Result<> read_draft(const Call& call, std::string_view noun, Draft<T>& draft) {
  const auto memory = wiping_memory();
  const auto body = NOMAD_TRY(read_body(call.request(), memory.get()));
  NOMAD_TRY(from_json(body.root(), *draft));
  // Its lists have no bound else, and there may be any number of them.
  return call.context->bounds.check_text(noun, draft.reader().totalSize().wordCount * 8);
}

/// The same for one without secrets.
template <class T>
Result<Object<T>> read_object(const Call& call, std::string_view noun) {
  Draft<T> draft;
  NOMAD_TRY(read_draft(call, noun, draft));
  return draft.freeze();
}

/// Takes a secret out of a draft: nothing of it is left there, nor in what is made of it.
inline SecretText take_secret(capnp::Text::Builder secret) {
  SecretText taken{std::string_view{secret.begin(), secret.size()}};
  sodium_memzero(secret.begin(), secret.size());
  return taken;
}

/// A UUID that nobody can guess: a secret, or an id.
std::string draw_uuid();

/// Writes what `decide(state, asking)` decides, and answers with what `show(snapshot, decision)`
/// makes of the state then.
template <class Decide, class Show>
Outcome write_acl(Call& call, Decide decide, Show show) {
  return write(
      call,
      [decide = std::move(decide)](const state::Snapshot& state, const access::Asking& asking,
                                   const cluster::EvalSeed&) { return decide(state, asking); },
      [context = call.context,
       show = std::move(show)](const server::Written<cluster::AclDecision>& done) {
        return show(context->state.store->snapshot(), done).with_index(done.index);
      });
}

/// For `show`: the object of a kind, as it is stored.
template <class Kind>
Answer show_stored(const state::Snapshot& state,
                   const server::Written<cluster::AclDecision>& done) {
  const auto row = state.row<Kind>(done.decision.id);
  return row ? Answer::json(to_json(*row)) : Answer::empty();
}

/// For `show`: nothing.
inline Answer show_nothing(const state::Snapshot&, const server::Written<cluster::AclDecision>&) {
  return Answer::empty();
}

/// Removes the one of a kind that the path names. One that is missing Nomad answers with 500.
template <class Kind>
Outcome remove_named(Call& call, const AclParts&) {
  const auto& store = call.context->state.store;
  if (!store) return no_leader();
  if (!store->snapshot().row<Kind>(call.rest))
    return Answer::text(net::status::internal_error, Kind::missing(call.rest));
  return write(
      call,
      [key = call.rest](const state::Snapshot& state, const access::Asking& asking,
                        const cluster::EvalSeed&) {
        return cluster::decide_remove<Kind>(state, asking, key);
      },
      [](const server::Written<cluster::Decision>& done) {
        return Answer::empty().with_index(done.index);
      });
}

/// For `judged` of `list_acl`: who sees a row in the list may read all of it.
inline constexpr auto whole_row = [](const auto& row) { return row; };

/// The list of a kind: those rows that the caller sees (View), as `append` shows them. The filter
/// is told no more of a row than `judged(row)` has, or it would tell the caller.
template <class Kind, class Append, class Judged>
Outcome list_acl(Call& call, Append append, Judged judged) {
  return read_state(call, [append, judged](const ReadOptions& options) -> Result<Read> {
    const auto filter = NOMAD_TRY(compile_filter(options));
    return Read{.watch = {state::watch_prefix(Kind::table, options.prefix)},
                .index = index_from_one<Kind::table>,
                .list =
                    [options, filter, append, judged](const View& snapshot, EarlyBody* early) {
                      return list_by_key(
                          snapshot, &state::Snapshot::rows<Kind>, options,
                          [&](const auto& row) -> Result<bool> {
                            return !filter || NOMAD_TRY(keeps(filter, judged(row)));
                          },
                          [&](std::string& out, const auto& row) { append(out, *row); }, early);
                    },
                .is_heavy = is_long<&state::Snapshot::rows<Kind>>};
  });
}

/// Bytes as the API shows them.
void append_base64(JsonObject& object, std::string_view name, capnp::Data::Reader bytes);

}  // namespace nomad::api
