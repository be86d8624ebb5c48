// /v1/agent/actors: the actors of this agent as a list; each names its owner.
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/core/actor_registry.hpp"

namespace nomad::api {
namespace {

void append_actor(std::string& out, const actor::ActorInfo& one) {
  JsonObject{out}
      .number("ID", one.id)
      .number("Owner", one.owner)
      .text("Name", one.name)
      .text("About", one.about)
      .text("Policy", actor::to_string(one.policy))
      .number("Waiting", one.waiting)
      .number("WaitingUrgent", one.waiting_urgent)
      .number("Handled", one.handled)
      .number("Restarts", one.restarts)
      .number("LongestHandler", one.longest.count());
}

Outcome list_actors(Call& call) {
  return Answer::json(json_list(actor::list_actors(call.context->system), append_actor));
}

}  // namespace

void add_actor_routes(Routes& routes) {
  routes.exact("/v1/agent/actors",
               {{Methods::get, Capability::agent_read, list_actors, Where::named}});
}

}  // namespace nomad::api
