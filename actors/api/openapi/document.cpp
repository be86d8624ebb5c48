#include "actors/api/openapi/document.hpp"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>

#include "actors/api/openapi/json_schemas.hpp"
#include "actors/api/openapi/operation_table.hpp"
#include "runtime/base/text.hpp"

namespace nomad::api::openapi {
namespace {

using boost::json::array;
using Members = boost::json::object;

constexpr std::string_view json_type = "application/json";
constexpr std::string_view token_header = "X-Nomad-Token";

/// Parameters that many operations have, by their names, each with its type.
constexpr std::pair<std::string_view, std::string_view> typed_parameters[] = {
    {"index", "integer"},   {"per_page", "integer"},  {"offset", "integer"},  {"limit", "integer"},
    {"cas", "integer"},     {"version", "integer"},   {"seconds", "integer"}, {"tail", "integer"},
    {"stale", "boolean"},   {"pretty", "boolean"},    {"reverse", "boolean"}, {"follow", "boolean"},
    {"all", "boolean"},     {"purge", "boolean"},     {"global", "boolean"},  {"diffs", "boolean"},
    {"related", "boolean"}, {"resources", "boolean"}, {"os", "boolean"},
};

Members schema_of_parameter(std::string_view name) {
  for (const auto& [known, type] : typed_parameters)
    if (known == name) return {{"type", type}};
  return {{"type", "string"}};
}

/// What of an operation describes it.
struct Route {
  Route(std::string_view listed, access::Capability needed)
      : method{listed.substr(0, listed.find(' '))},
        path{listed.substr(listed.find(' ') + 1)},
        capability{needed} {
    if (const auto known = std::ranges::find(rows(), listed, &Row::route); known != rows().end())
      row = *known;
  }

  std::string_view method;
  std::string_view path;
  access::Capability capability;
  Row row{};
};

std::vector<std::string_view> methods_of(const Route& route) {
  if (route.method == "GET") return {"get"};
  if (route.method == "DELETE") return {"delete"};
  if (route.method == "ANY") return {"get", "put", "post", "delete"};
  // PUT and POST mean the same nearly everywhere.
  if (route.row.is_put_alone) return {"put"};
  return {"put", "post"};
}

/// Whether an agent says it of itself or its tasks, and not of the state, for which one can wait.
bool is_of_one_agent(std::string_view path) {
  return path.starts_with("/v1/agent/") || path.starts_with("/v1/client/")
         || path.starts_with("/v1/metrics") || path.starts_with("/v1/openapi");
}

class Describer {
public:
  Members describe(const Operations& operations) {
    Members paths;
    for (const auto& [route, capability] : operations)
      add(paths, {route, capability});
    return paths;
  }

  Members components() {
    Members parameters;
    for (const auto& [name, schema] : parameters_)
      parameters[name] = Members{{"name", name}, {"in", "query"}, {"schema", schema}};
    return {
        {"schemas", schemas_.all()},
        {"parameters", std::move(parameters)},
        {"securitySchemes",
         Members{{"token", Members{{"type", "apiKey"}, {"in", "header"}, {"name", token_header}}},
                 {"bearer", Members{{"type", "http"}, {"scheme", "bearer"}}}}}};
  }

private:
  void add(Members& paths, const Route& route) {
    auto& item = paths[template_of(route.path)];
    if (!item.is_object()) item = Members{};
    auto& methods = item.get_object();
    for (const auto method : methods_of(route))
      if (!methods.contains(method)) methods[method] = operation(method, route);
  }

  Members operation(std::string_view method, const Route& route) {
    const auto& row = route.row;
    Members out{{"operationId", id_of(method, route.path)},
                {"tags", array{tag_of(route.path)}},
                {"parameters", parameters(method, route)},
                {"responses", responses(row)}};
    if (row.request.form != Form::any)
      out["requestBody"] = Members{{"content", content(row.request)}};
    return out;
  }

  array parameters(std::string_view method, const Route& route) {
    array out;
    const auto path = template_of(route.path);
    for (const auto step : split(path, '/'))
      if (step.starts_with('{'))
        out.push_back(Members{{"name", step.substr(1, step.size() - 2)},
                              {"in", "path"},
                              {"required", true},
                              {"schema", Members{{"type", "string"}}}});
    for (const auto* name : {"region", "pretty"})
      add_query(out, name);
    if (access::is_namespaced(route.capability)) add_query(out, "namespace");
    if (method == "get" && !is_of_one_agent(route.path))
      for (const auto* name : {"index", "wait", "stale"})
        add_query(out, name);
    if (route.row.is_paged)
      for (const auto* name : {"prefix", "per_page", "next_token", "filter", "reverse", "fields"})
        add_query(out, name);
    for (const auto name : fields(route.row.query))
      add_query(out, name);
    return out;
  }

  /// Once.
  void add_query(array& out, std::string_view name) {
    if (!parameters_.contains(name)) parameters_[name] = schema_of_parameter(name);
    Members reference{{"$ref", "#/components/parameters/" + std::string{name}}};
    for (const auto& known : out)
      if (known.as_object() == reference) return;
    out.push_back(std::move(reference));
  }

  Members responses(const Row& row) {
    Members out;
    switch (row.answer.form) {
      case Form::nothing:
        out["200"] = Members{{"description", "OK"}};
        break;
      case Form::no_content:
        out["204"] = Members{{"description", "OK"}};
        break;
      case Form::unsupported:
        out["501"] = Members{{"description", "Nomad Enterprise has it"},
                             {"content", content({.form = Form::text})}};
        break;
      default:
        out["200"] = Members{{"description", "OK"}, {"content", content(row.answer)}};
    }
    if (row.conflict.form != Form::any)
      out["409"] = Members{{"description", "It was changed meanwhile: as it is"},
                           {"content", content(row.conflict)}};
    out["default"] = Members{{"description", "An error: its text"},
                             {"content", content({.form = Form::text})}};
    return out;
  }

  Members content(const Body& body) {
    switch (body.form) {
      case Form::lines:
        return {{"application/x-ndjson", Members{{"schema", Members{{"type", "object"}}}}}};
      case Form::text:
        return {{"text/plain", Members{{"schema", Members{{"type", "string"}}}}}};
      case Form::bytes:
        return {{"application/octet-stream", Members{}}};
      case Form::typed: {
        Members out;
        for (const auto type : fields(body.types))
          out[type] = Members{};
        return out;
      }
      default:
        return {{json_type, Members{{"schema", schema(body)}}}};
    }
  }

  Members schema(const Body& body) {
    if (body.form == Form::any) return {};
    auto inner
        = body.schema == nullptr ? Members{{"type", "object"}} : schemas_.reference(body.schema());
    if (body.form == Form::list)
      return {{"type", array{"array", "null"}}, {"items", std::move(inner)}};
    if (body.form == Form::object) return inner;
    return {{"type", "object"},
            {"properties", Members{{body.member, std::move(inner)}}},
            {"required", array{body.member}}};
  }

  /// "get_job_id_plan" of GET /v1/job/*/plan.
  static std::string id_of(std::string_view method, std::string_view path) {
    std::string id{method};
    for (const auto step : split(path, '/'))
      if (!step.empty() && step != "v1") id += step == "*" ? "_id" : '_' + std::string{step};
    return id;
  }

  /// "job" of /v1/job/*/plan.
  static std::string_view tag_of(std::string_view path) {
    const auto steps = split(path, '/');
    return steps.size() > 2 ? steps[2] : path;
  }

  JsonSchemas schemas_;
  Members parameters_;  ///< Their schemas, by name.
};

}  // namespace

std::string template_of(std::string_view path) {
  if (path == "/v1/job/*/tag") return "/v1/job/{id}/versions/{tag}/tag";
  std::string out{path};
  if (const auto star = out.find('*'); star != out.npos) out.replace(star, 1, "{id}");
  return out;
}

Members document(const Operations& operations, std::string_view version) {
  Describer describer;
  auto paths = describer.describe(operations);
  return {{"openapi", "3.1.0"},
          {"info", Members{{"title", "nomadctl"},
                           {"description", "Nomad's HTTP API v1, as this agent serves it."},
                           {"version", version}}},
          {"servers", array{Members{{"url", "/"}}}},
          {"security", array{Members{}, Members{{"token", array{}}}, Members{{"bearer", array{}}}}},
          {"paths", std::move(paths)},
          {"components", describer.components()}};
}

}  // namespace nomad::api::openapi
