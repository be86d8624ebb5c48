// /v1/services and /v1/service/<name>: Nomad's own service discovery.
#include <algorithm>
#include <map>
#include <set>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "runtime/cluster/data/service_choice.hpp"
#include "runtime/cluster/service_commands.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {
namespace {

using cluster::Choice;
using cluster::choose;
using cluster::parse_choice;
using cluster::ServiceRef;
using state::Table;

std::uint64_t services_index(const View& snapshot) {
  return index_from_one<Table::services>(snapshot);
}

/// Names with the union of their registrations' tags.
using TagsByName = std::map<std::string, std::set<std::string>>;

void append_namespace(std::string& out, const std::string& ns, const TagsByName& services) {
  JsonObject object{out};
  object.text("Namespace", ns);
  append_json_list(object.raw("Services"), services, [](std::string& to, const auto& service) {
    JsonObject one{to};
    one.text("ServiceName", service.first);
    append_json_texts(one.raw("Tags"), service.second);
  });
}

Answer services_answer(const View& snapshot, const ReadOptions& options, const RowFilter& filter) {
  std::map<std::string, TagsByName> by_namespace;
  Result<bool> kept = true;
  snapshot.walk(&state::Snapshot::services_map,
                {.prefix = options.all_namespaces() ? "" : state::join_key(options.ns, "")},
                [&](const auto& entry) {
                  const auto service = *entry.value();
                  if (!view(service.getServiceName()).starts_with(options.prefix)) return true;
                  kept = keeps(filter, entry.value());
                  if (!kept || !*kept) return kept.has_value();
                  auto& tags
                      = by_namespace[copy(service.getNamespace())][copy(service.getServiceName())];
                  for (const auto tag : service.getTags())
                    tags.insert(copy(tag));
                  return true;
                });
  if (!kept) return Answer::error(kept.error());
  query::Page page{options.per_page};
  std::string out = "[";
  for (auto entry = by_namespace.lower_bound(options.next_token); entry != by_namespace.end();
       ++entry) {
    if (page.is_full()) {
      page.end_at(entry->first);
      break;
    }
    if (page.count() != 0) out += ',';
    append_namespace(out, entry->first, entry->second);
    page.add();
  }
  auto answer = Answer::json(out + ']');
  answer.next_token = page.next_token();
  return answer;
}

Outcome list_services(Call& call) {
  return read_state(call, [](const ReadOptions& options) -> Result<Read> {
    const auto filter = NOMAD_TRY(compile_filter(options));
    const auto watched = options.all_namespaces() ? "" : state::join_key(options.ns, "");
    return Read{
        .watch = {state::watch_prefix(Table::services, watched)},
        .index = services_index,
        .answer = [options, filter](
                      const View& snapshot) { return services_answer(snapshot, options, filter); },
        .is_heavy = is_long<&state::Snapshot::services_map>,
        .cacheable = true};
  });
}

/// Whose registrations of service `name` are asked for.
Walk walk_by_service(const ReadOptions& options, const std::string& name) {
  Walk walk;
  if (!options.all_namespaces()) walk.prefix = state::join_key(options.ns, name, "");
  if (options.next_token.empty()) return walk;
  const auto token = query::NameToken::parse(options.next_token);
  walk.start = state::join_key(token.ns, name, token.id);
  return walk;
}

/// Those that `choice` takes of all that `keep` keeps: pages have no meaning here.
template <class Keep>
Answer chosen_answer(const View& snapshot, const Walk& walk, const Choice& choice, Keep keep) {
  std::vector<ServiceRef> kept;
  std::optional<Error> failure;
  snapshot.walk(&state::Snapshot::services_by_name_map, walk, [&](const auto& entry) {
    const Result<bool> keeps_it = keep(entry.value());
    if (!keeps_it)
      failure = keeps_it.error();
    else if (*keeps_it)
      kept.push_back(entry.value());
    return !failure;
  });
  if (failure) return Answer::error(*failure);
  return Answer::json(json_list(choose(std::move(kept), choice), append_whole));
}

Answer service_answer(const View& snapshot,
                      const ReadOptions& options,
                      const std::string& name,
                      const std::optional<Choice>& choice,
                      const RowFilter& filter) {
  const auto keep = [&](const ServiceRef& service) -> Result<bool> {
    return view(service->getServiceName()) == name ? keeps(filter, service) : false;
  };
  auto walk = walk_by_service(options, name);
  if (choice) {
    walk.start.clear();
    return chosen_answer(snapshot, walk, *choice, keep);
  }
  return list_page(
      snapshot, &state::Snapshot::services_by_name_map, walk, options, keep,
      [](std::string_view, const ServiceRef& service) {
        return query::NameToken::make(view(service->getNamespace()), view(service->getId()));
      },
      append_whole);
}

/// "<name>" is read and "<name>/<id>" is deleted, not the other way round.
Answer invalid_method() {
  return Answer::text(net::status::method_not_allowed, "Invalid method");
}

Outcome read_service(Call& call) {
  const auto name = call.rest;
  if (name.empty()) return bad_request("missing service name");
  const auto slashes = std::ranges::count(name, '/');
  if (slashes == 1) return invalid_method();
  if (slashes > 1) return bad_request("invalid URI");
  const auto choice = NOMAD_TRY(parse_choice(call.request().parameter_or_empty("choose")));
  return read_state(call, [&](const ReadOptions& options) -> Result<Read> {
    const auto filter = NOMAD_TRY(compile_filter(options));
    const auto watched
        = options.all_namespaces()
              ? state::watch_prefix(Table::services_by_name, "")
              : state::watch_key(Table::services_by_name, state::join_key(options.ns, name));
    return Read{.watch = {watched},
                .index = services_index,
                .answer =
                    [options, name, choice, filter](const View& snapshot) {
                      return service_answer(snapshot, options, name, choice, filter);
                    },
                .is_heavy = is_long<&state::Snapshot::services_map>};
  });
}

/// "<name>/<id>"; ids may have slashes of the names that they are made of.
Outcome delete_service(Call& call) {
  const auto slash = call.rest.find('/');
  if (slash == std::string::npos) return invalid_method();
  const auto name = call.rest.substr(0, slash);
  if (name.empty()) return bad_request("missing service name");
  const auto id = call.rest.substr(slash + 1);
  if (id.empty()) return bad_request("missing service id");
  return write(
      call,
      [ns = write_namespace(call.request()), name, id](
          const state::Snapshot& state, const access::Asking& asking, const cluster::EvalSeed&) {
        return cluster::decide_service_delete(state, asking, ns, name, id);
      },
      [](const server::Written<cluster::ServiceDecision>& done) {
        return Answer::empty().with_index(done.index);
      });
}

}  // namespace

void add_service_routes(Routes& routes) {
  routes.exact("/v1/services", {{Methods::get, Capability::read_services, list_services}});
  routes.below("/v1/service/", {{"",
                                 {{Methods::get, Capability::read_services, read_service},
                                  {Methods::remove, Capability::submit_job, delete_service}}}});
}

}  // namespace nomad::api
