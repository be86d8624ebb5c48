#include "test/properties/access/walk_world.hpp"

#include "actors/api/http/call.hpp"
#include "runtime/cluster/data/stored_rights.hpp"
#include "test/unit/actors/api/silent_peers.hpp"

namespace nomad::properties {

namespace {

/// No walker is to be slowed down.
constexpr unsigned all_guesses = 1'000'000'000;

void keep_options(const std::shared_ptr<api::ApiOptions>& kept, api::ApiOptions& options) {
  options.acl.enabled = true;
  options.authenticator
      = access::Authenticator::make({.lookup = cluster::lookup_in(options.state.store),
                                     .guesses = {.of_one = all_guesses, .of_all = all_guesses}});
  *kept = options;
}

}  // namespace

std::string walk_text(const boost::json::value& object, std::string_view member) {
  const auto& text = object.at({member.data(), member.size()}).as_string();
  return {text.data(), text.size()};
}

WalkWorld::WalkWorld() : WalkWorld{std::make_shared<api::ApiOptions>()} {}

WalkWorld::WalkWorld(std::shared_ptr<api::ApiOptions> kept)
    : ApiFixture{[kept](api::ApiOptions& options) { keep_options(kept, options); }},
      options_{std::move(kept)},
      context_{std::make_shared<api::Context>(own_system_, *options_)},
      routes_{api::all_routes(context_, *options_)} {
  add_root_key();
  for (const auto* ns : {"a", "b"})
    add_namespace(ns);
  state().register_node({.id = api::own_node});
  const auto first = ask("PUT", "/v1/acl/bootstrap");
  CAPTURE(first.status);
  CAPTURE(first.body);
  REQUIRE(first.is_good());
  manager = walk_text(boost::json::parse(first.body), "SecretID");
}

WalkWorld::~WalkWorld() {
  context_->stop();
}

WalkAnswer WalkWorld::ask(const std::string& method,
                          const std::string& target,
                          const std::string& body,
                          const std::string& token) {
  const auto exchange = std::make_shared<api::SilentClient>();
  exchange->request.method = method;
  exchange->request.target = target;
  REQUIRE(net::split_target(exchange->request));
  exchange->request.body = body;
  exchange->request.remote = "127.0.0.1:40000";
  if (!token.empty()) exchange->request.add_header("X-Nomad-Token", token);
  net::serve(routes_, net::Responder{exchange});
  if (!test::eventually([&] { return exchange->answer().has_value(); })) return {};
  auto answer = *exchange->answer();
  return {answer.status, answer.shared_body ? *answer.shared_body : std::move(answer.body)};
}

WalkWorld::Json WalkWorld::manage(const std::string& method,
                                  const std::string& target,
                                  const std::string& body) {
  const auto answer = ask(method, target, body, manager);
  CAPTURE(target);
  CAPTURE(body);
  CAPTURE(answer.body);
  REQUIRE(answer.is_good());
  return answer.body.empty() ? Json{} : boost::json::parse(answer.body);
}

access::RightsRef WalkWorld::rights_of(const std::string& token) {
  const auto grant = cluster::stored_rights(state().now(), token, cache_, access::Moment::now());
  return grant ? grant->rights : access::RightsRef{};
}

WalkImage WalkWorld::image() {
  using state::Table;
  const auto now = state().now();
  WalkImage image;
  for (const auto table :
       {Table::acl_policies, Table::acl_roles, Table::acl_tokens, Table::acl_auth_methods,
        Table::acl_binding_rules, Table::acl_bootstrap, Table::namespaces, Table::quotas,
        Table::admission_policies, Table::node_pools, Table::root_keys, Table::scheduler_config,
        Table::autopilot_config, Table::nodes})
    image["table " + std::string{state::to_string(table)}] = now.index(table);
  for (const auto& entry : now.jobs()) {
    const auto& job = entry.value();
    image["job " + copy(job->getNamespace()) + ' ' + copy(job->getId())] = job->getModifyIndex();
  }
  for (const auto* ns : {"a", "b", "default"})
    for (const auto& entry : now.variables(ns))
      image[std::string{"var "} + ns + ' ' + copy(entry.value()->getPath())]
          = entry.value()->getModifyIndex();
  return image;
}

}  // namespace nomad::properties
