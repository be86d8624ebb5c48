// /v1/agent/keyring: the keys that servers seal their membership by. Tests: member_keyring_test
// for what is done, test_operator.py for the route.
#include "actors/api/cluster/cluster_access.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"

namespace nomad::api {
namespace {

using cluster::KeyringAction;
using server::membership::ChangeKeyring;
using server::membership::KeyringChanged;

template <class Map, class Append>
void append_map(std::string& out, const Map& map, Append append) {
  JsonObject object{out};
  for (const auto& [name, value] : map)
    append(object.member(name), value);
}

/// Of one that some servers have not carried out: by whom and why.
Error not_done(const cluster::KeyringAnswers& answers) {
  std::string what
      = fmt::format("{}/{} nodes reported failure", answers.messages.size(), answers.servers);
  for (const auto& [name, message] : answers.messages)
    what += fmt::format("; {}: {}", name, message);
  return {Errc::rejected, std::move(what)};
}

Outcome shown_tally(const KeyringChanged& changed) {
  const auto& answers = changed.answers;
  if (!answers.messages.empty()) return not_done(answers);
  const auto number = [](std::string& out, std::size_t value) { out += std::to_string(value); };
  JsonObject object;
  append_map(object.raw("Keys"), answers.keys, number);
  append_map(object.raw("Messages"), answers.messages, append_json_text);
  object.number("NumNodes", answers.servers);
  append_map(object.raw("PrimaryKeys"), answers.primaries, number);
  return Answer::json(object.take());
}

template <KeyringAction action>
Outcome change_keyring(Call& call, const AgentParts& parts) {
  const auto cluster = parts.cluster;
  if (!cluster) return Answer::text(501, "Invalid method");
  ChangeKeyring change{.action = action};
  if (action != KeyringAction::list) {
    const auto body = NOMAD_TRY(read_body(call.request()));
    BodyFields fields{body, "KeyringRequest"};
    change.key = fields.text("Key");
    NOMAD_TRY(fields.check());
  }
  return ask<KeyringChanged>(call, cluster->membership, std::move(change), shown_tally);
}

}  // namespace

void add_gossip_routes(Routes& routes, AgentParts parts) {
  const auto with = routes.with(std::move(parts));
  const auto add = [&](const std::string& name, Outcome (*run)(Call&, const AgentParts&)) {
    routes.exact("/v1/agent/keyring/" + name,
                 {{Methods::any, Capability::agent_write, with(run), Where::agent}});
  };
  add("list", change_keyring<KeyringAction::list>);
  add("install", change_keyring<KeyringAction::install>);
  add("use", change_keyring<KeyringAction::use>);
  add("remove", change_keyring<KeyringAction::remove>);
}

}  // namespace nomad::api
