// /v1/vars and /v1/var/<path>: variables, which are sealed here before they go to the leader and
// opened here when they are read. Whatever holds a variable's items in the clear is wiped: the
// parsed body, the items, the answer.
#include <boost/json/memory_resource.hpp>
#include <sodium/utils.h>

#include "actors/api/cluster/root_key_wait.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/secret_answer.hpp"
#include "actors/api/http/wiping_memory.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/cluster/variable_commands.hpp"
#include "runtime/net/http/error_status.hpp"
#include "runtime/security/keyring.hpp"

namespace nomad::api {
namespace {

using server::SealedWritten;
using state::Table;
using VariableRef = Object<schema::Variable>;
using Keyring = std::shared_ptr<security::Keyring>;

void append_metadata(JsonObject& object, schema::Variable::Reader variable) {
  object.number("CreateIndex", variable.getCreateIndex())
      .number("CreateTime", variable.getCreateTime());
}

void append_rest(JsonObject& object, schema::Variable::Reader variable) {
  object.number("ModifyIndex", variable.getModifyIndex())
      .number("ModifyTime", variable.getModifyTime())
      .text("Namespace", variable.getNamespace())
      .text("Path", variable.getPath());
}

/// `items` null: there is nothing to show.
Answer variable_answer(unsigned status,
                       schema::Variable::Reader variable,
                       const security::Items* items) {
  std::size_t size = 512;
  if (items != nullptr) size += 2 * security::size_of(*items) + 16 * items->size();
  std::string out;
  out.reserve(size);  // what is outgrown is not wiped
  {
    JsonObject object{out};
    append_metadata(object, variable);
    if (items == nullptr) {
      object.null("Items");
    } else {
      JsonObject shown{object.raw("Items")};
      for (const auto& [key, value] : *items)
        append_json_text(shown.member(key), value);
    }
    append_rest(object, variable);
  }
  return secret_answer(status, std::move(out));
}

/// The answer with the variable's items, opened with `key`.
Answer opened_answer(security::Keyring& keyring,
                     const Object<schema::RootKey>& key,
                     unsigned status,
                     const VariableRef& variable) {
  if (variable->getKeyId().size() == 0) return variable_answer(status, *variable, nullptr);
  const auto opened = keyring.open_variable(key, variable);
  if (!opened) return Answer::error(opened.error().within("variable error: decrypt"));
  const auto items = security::decode_items(*opened);
  if (!items) return Answer::error(items.error().within("variable error: decrypt"));
  return variable_answer(status, *variable, &*items);
}

/// A check-and-set was lost to `variable`, whose items are for those who may read it.
Answer conflict_answer(const Context& context,
                       security::Keyring& keyring,
                       const access::Asking& asking,
                       const VariableRef& variable) {
  const access::Target target{view(variable->getNamespace()), view(variable->getPath())};
  const auto status = net::http_status(Errc::conflict);
  if (!authorize(asking.who, Capability::variables_read, target))
    return variable_answer(status, *variable, nullptr).with_index(variable->getModifyIndex());
  const auto key = context.state.store->snapshot().root_key(view(variable->getKeyId()));
  return opened_answer(keyring, key, status, variable).with_index(variable->getModifyIndex());
}

Outcome list_variables(Call& call) {
  return read_state(call, [](const ReadOptions& options) -> Result<Read> {
    const auto filter = NOMAD_TRY(compile_filter(options));
    const auto watched
        = options.all_namespaces() ? "" : state::join_key(options.ns, options.prefix);
    return Read{.watch = {state::watch_prefix(Table::variables, watched)},
                .path = options.prefix,
                .index = index_from_one<Table::variables>,
                .answer =
                    [options, filter](const View& snapshot) {
                      return list_page(
                          snapshot, &state::Snapshot::variables_map, walk_by_name(options), options,
                          [&](const VariableRef& variable) -> Result<bool> {
                            if (!view(variable->getPath()).starts_with(options.prefix))
                              return false;
                            return keeps(filter, *variable);
                          },
                          [](std::string_view, const VariableRef& variable) {
                            return query::NameToken::make(view(variable->getNamespace()),
                                                          view(variable->getPath()));
                          },
                          [](std::string& out, const VariableRef& variable) {
                            JsonObject object{out};
                            append_metadata(object, *variable);
                            append_rest(object, *variable);
                          });
                    },
                .is_heavy = is_long<&state::Snapshot::variables_map>};
  });
}

Outcome read_variable(Call& call, const Keyring& keyring) {
  if (call.rest.empty()) return bad_request("missing variable path");
  return read_state(call, [path = call.rest, keyring](const ReadOptions& options) -> Result<Read> {
    auto read = read_row<Table::variables>(
        state::join_key(options.ns, path), "variable",
        [ns = options.ns, path](const View& snapshot) { return snapshot.variable(ns, path); },
        [keyring](const View& snapshot, const VariableRef& found) {
          return opened_answer(*keyring, snapshot.root_key(view(found->getKeyId())), 200, found);
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
  std::optional<std::uint64_t> check;
  security::Secret items;
};

Result<security::Secret> read_items(const net::Request& request, std::string& ns) {
  const auto memory = wiping_memory();
  const auto body = NOMAD_TRY(read_body(request, memory.get()));
  BodyFields fields{body, "VariableDecrypted"};
  if (auto named = fields.text("Namespace"); !named.empty()) ns = std::move(named);
  security::Items items;
  fields.text("Path");  // must be a text, but the URL's counts
  const auto* given = fields.object("Items");
  NOMAD_TRY(fields.check());
  if (given == nullptr || given->size == 0)
    return Error{Errc::invalid_argument, "variable missing required Items object"};
  for (const JsonNode* key : sorted_keys(*given)) {
    if (!key[1].is(JsonKind::text))
      return Error{Errc::invalid_argument,
                   "json: cannot unmarshal a value into Go struct field VariableDecrypted.Items "
                   "of type string"};
    items.emplace_back(key->text(), key[1].text());
  }
  return security::encode_items(std::move(items));
}

Answer written_answer(const PendingWrite& write, const SealedWritten& done) {
  if (done.conflict)
    return conflict_answer(*write.call->context, *write.keyring, write.call->asking, done.variable);
  const auto items = security::decode_items(write.items);  // the writer may see what he wrote
  auto answer
      = items ? variable_answer(200, *done.variable, &*items) : Answer::error(items.error());
  return std::move(answer).with_index(done.index);
}

void seal_and_write(const std::shared_ptr<PendingWrite>& write,
                    const Object<schema::RootKey>& key) {
  const auto sealed
      = write->keyring->seal_variable(key, write->ns, write->path, write->items, unix_now());
  if (!sealed) return write->call->fail(sealed.error().within("variable error: encrypt"));
  write->call->context->state.writer->write_raw(
      [asking = write->call->asking, region = write->call->context->region, sealed = *sealed,
       check = write->check](const state::Snapshot& state, const cluster::EvalSeed&) {
        return cluster::decide_set_variable(state, asking, region, sealed, check);
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

Outcome put_variable(Call& call, const Keyring& keyring) {
  NOMAD_TRY(check_write(call, keyring));
  auto write = std::make_shared<PendingWrite>();
  write->keyring = keyring;
  write->ns = write_namespace(call.request());
  write->path = call.rest;
  write->items = NOMAD_TRY(read_items(call.request(), write->ns));
  write->check = NOMAD_TRY(check_of(call));
  NOMAD_TRY(authorize(call.asking, {write->ns, write->path}));  // before anybody waits for a key
  const auto decoded = NOMAD_TRY(security::decode_items(write->items));
  NOMAD_TRY(
      cluster::check_variable(write->ns, write->path, decoded.size(), security::size_of(decoded)));
  write->call = share(std::move(call));
  with_root_key(
      write->call, [write](const Object<schema::RootKey>& key) { seal_and_write(write, key); },
      "variable error: encrypt");
  return later;
}

Outcome remove_variable(Call& call, const Keyring& keyring) {
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

void add_variable_routes(Routes& routes, std::shared_ptr<security::Keyring> keyring) {
  const auto with = routes.with(std::move(keyring));
  routes.exact("/v1/vars", {{Methods::get, Capability::variables_list, list_variables}});
  routes.below("/v1/var/",
               {{"",
                 {{Methods::get, Capability::variables_read, with(read_variable)},
                  {Methods::write, Capability::variables_write, with(put_variable)},
                  {Methods::remove, Capability::variables_destroy, with(remove_variable)},
                  {Methods::any, Capability::none, refuse_variable_method}}}});
}

}  // namespace nomad::api
