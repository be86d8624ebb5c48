// /v1/services and /v1/service/<name>: Nomad's own service discovery.
#include <map>
#include <set>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/routes.hpp"

namespace nomad::api {
namespace {

using state::Table;
using ServiceRef = Object<schema::ServiceRegistration>;

std::uint64_t services_index(const View& snapshot) {
  return table_index(snapshot, Table::services);
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
  snapshot.walk(&state::Tables::services,
                {.prefix = options.all_namespaces() ? "" : state::join_key(options.ns, "")},
                [&](const auto& entry) {
                  const auto service = *entry.value();
                  kept = keeps(filter, service);
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
        .is_heavy = is_long<&state::Tables::services>,
        .cacheable = true};
  });
}

Outcome read_service(Call& call) {
  const auto name = call.rest;
  if (name.empty()) return bad_request("missing service name");
  if (name.find('/') != std::string::npos) return bad_request("invalid URI");
  return read_state(call, [&name](const ReadOptions& options) -> Result<Read> {
    const auto filter = NOMAD_TRY(compile_filter(options));
    return Read{
        .watch = {state::watch_key(Table::services_by_name, state::join_key(options.ns, name))},
        .index = services_index,
        .answer = [options, name, filter](const View& snapshot) {
          Walk walk;
          walk.prefix = state::join_key(options.ns, name, "");
          if (!options.next_token.empty())
            walk.start = walk.prefix + query::NameToken::parse(options.next_token).id;
          return list_page(
              snapshot, &state::Tables::services_by_name, walk, options,
              [&](const ServiceRef& service) { return keeps(filter, *service); },
              [](std::string_view, const ServiceRef& service) {
                return query::NameToken::make(view(service->getNamespace()),
                                              view(service->getId()));
              },
              append_whole);
        }};
  });
}

}  // namespace

void add_service_routes(Routes& routes) {
  routes.exact("/v1/services", {{Methods::get, Capability::read_job, list_services}});
  routes.below("/v1/service/", {{"", {{Methods::get, Capability::read_job, read_service}}}});
}

}  // namespace nomad::api
