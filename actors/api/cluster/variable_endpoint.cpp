// /v1/vars and /v1/var/<path>: variables, which are sealed here before they go to the leader and
// opened here when they are read. Whatever holds a variable's items in the clear is wiped: the
// parsed body, the items, the answer.
#include "actors/api/cluster/root_key_wait.hpp"
#include "actors/api/cluster/variable_answers.hpp"
#include "actors/api/cluster/variable_lock.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/cluster/variable_commands.hpp"

namespace nomad::api {
namespace {

using server::SealedWritten;
using state::Table;
using Keyring = std::shared_ptr<security::Keyring>;

Outcome list_variables(Call& call) {
  return read_state(call, [](const ReadOptions& options) -> Result<Read> {
    const auto filter = NOMAD_TRY(compile_filter(options));
    const auto watched
        = options.all_namespaces() ? "" : state::join_key(options.ns, options.prefix);
    return Read{.watch = {state::watch_prefix(Table::variables, watched)},
                .path = options.prefix,
                .index = index_from_one<Table::variables>,
                .list =
                    [options, filter](const View& snapshot, EarlyBody* early) {
                      return list_page(
                          snapshot, &state::Snapshot::variables_map, walk_by_name(options), options,
                          [&](const VariableRef& variable) -> Result<bool> {
                            if (!view(variable->getPath()).starts_with(options.prefix))
                              return false;
                            return keeps(filter, variable);
                          },
                          [](std::string_view, const VariableRef& variable) {
                            return query::NameToken::make(view(variable->getNamespace()),
                                                          view(variable->getPath()));
                          },
                          [&](std::string& out, const VariableRef& variable) {
                            JsonObject object{out};
                            append_variable(object, *variable,
                                            lock_shown_to(snapshot.who(), *variable));
                          },
                          early);
                    },
                .is_heavy = is_long<&state::Snapshot::variables_map>};
  });
}

Outcome get_variable(Call& call, const VariableParts& parts) {
  const auto& keyring = parts.keyring;
  if (call.rest.empty()) return bad_request("missing variable path");
  return read_state(
      call, [path = call.rest, keyring = keyring](const ReadOptions& options) -> Result<Read> {
        auto read = read_row<Table::variables>(
            state::join_key(options.ns, path), "variable",
            [ns = options.ns, path](const View& snapshot) { return snapshot.variable(ns, path); },
            [keyring](const View& snapshot, const VariableRef& found) {
              return opened_answer(*keyring, snapshot.root_key(view(found->getKeyId())), 200, found,
                                   lock_shown_to(snapshot.who(), *found));
            });
        read.path = path;
        return read;
      });
}

struct PendingWrite {
  SharedCall call;
  Keyring keyring;
  std::string ns;
  std::string path;
  std::string lock_id;
  std::optional<std::uint64_t> check;
  security::Secret items;
};

Answer written_answer(const PendingWrite& write, const SealedWritten& done) {
  if (done.conflict)
    return conflict_answer(*write.call->context, *write.keyring, write.call->asking, done.variable);
  const auto items = security::decode_items(write.items);  // the writer may see what he wrote
  auto answer = items ? variable_answer(200, *done.variable, &*items,
                                        write.lock_id.empty()
                                            ? lock_shown_to(write.call->asking.who, *done.variable)
                                            : ShownLock::yes)
                      : Answer::error(items.error());
  return std::move(answer).with_index(done.index);
}

void seal_and_write(const std::shared_ptr<PendingWrite>& write,
                    const Object<schema::RootKey>& key) {
  const auto sealed
      = write->keyring->seal_variable(key, write->ns, write->path, write->items, unix_now());
  if (!sealed) return write->call->fail(sealed.error().within("variable error: encrypt"));
  write->call->context->state.writer->write_raw(
      [asking = write->call->asking, region = write->call->context->region, sealed = *sealed,
       check = write->check,
       lock_id = write->lock_id](const state::Snapshot& state, const cluster::EvalSeed&) {
        return cluster::decide_set_variable(state, asking, region, sealed, check, lock_id);
      },
      write->call->turns(),
      [write](const Result<raft::Applied>& applied) {
        const auto done = server::to_sealed(applied);
        write->call->settle(done ? written_answer(*write, *done) : Outcome{done.error()});
      },
      deciding_anew(write->call->context));
}

Result<> check_write(const Call& call, const Keyring& keyring) {
  if (call.rest.empty()) return bad_request("missing variable path");
  if (call.context->state.writer && keyring) return {};
  return no_leader();
}

Result<std::optional<std::uint64_t>> check_of(const Call& call) {
  auto check = check_index(call.request());
  if (!check) return bad_request("can not parse cas: " + check.error().what);
  return check;
}

Outcome put_variable(Call& call, const VariableParts& parts) {
  if (call.rest.empty()) return bad_request("missing variable path");
  if (const auto operation = NOMAD_TRY(lock_operation(call.request())))
    return change_lock(call, parts, *operation);
  const auto& keyring = parts.keyring;
  NOMAD_TRY(check_write(call, keyring));
  auto body = NOMAD_TRY(read_variable(call.request()));
  if (body.items == 0) return bad_request("variable missing required Items object");
  if (body.lock && (body.lock->ttl.count() != 0 || body.lock->delay.count() != 0))
    return bad_request("variable should not contain lock definition");
  auto write = std::make_shared<PendingWrite>();
  write->keyring = keyring;
  write->ns = body.ns.empty() ? write_namespace(call.request()) : std::move(body.ns);
  write->path = call.rest;
  write->items = std::move(body.encoded);
  if (body.lock) write->lock_id = std::move(body.lock->id);
  write->check = NOMAD_TRY(check_of(call));
  NOMAD_TRY(authorize(call.asking, {write->ns, write->path}));  // before anybody waits for a key
  NOMAD_TRY(cluster::check_variable(write->ns, write->path, body.items, body.item_bytes));
  write->call = share(std::move(call));
  with_root_key(
      write->call, [write](const Object<schema::RootKey>& key) { seal_and_write(write, key); },
      "variable error: encrypt");
  return later;
}

Outcome remove_variable(Call& call, const VariableParts& parts) {
  const auto& keyring = parts.keyring;
  NOMAD_TRY(check_write(call, keyring));
  const auto check = NOMAD_TRY(check_of(call));
  const auto decision = NOMAD_TRY(cluster::decide_delete_variable(
      call.asking, write_namespace(call.request()), call.rest, check));
  return write_sealed(
      call, decision,
      [context = call.context, keyring, asking = call.asking](const SealedWritten& done) {
        return done.conflict ? conflict_answer(*context, *keyring, asking, done.variable)
                             : Answer{.status = 204}.with_index(done.index);
      });
}

Outcome refuse_variable_method(Call&) {
  return bad_request("Invalid method");
}

}  // namespace

void add_variable_routes(Routes& routes, VariableParts parts) {
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/vars", {{Methods::get, Capability::variables_list, list_variables}});
  routes.below("/v1/var/",
               {{"",
                 {{Methods::get, Capability::variables_read, with(get_variable)},
                  {Methods::write, Capability::variables_write, with(put_variable)},
                  {Methods::remove, Capability::variables_destroy, with(remove_variable)},
                  {Methods::any, Capability::none, refuse_variable_method}}}});
}

}  // namespace nomad::api
