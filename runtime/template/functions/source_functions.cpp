// Functions that ask the sources of a rendering: nomadService, nomadVar, file, env, timestamp….
// What needs Consul or Vault says that there is none.
#include <algorithm>
#include <optional>

#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/template/functions/cluster_values.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/time_value.hpp"
#include "runtime/template/text/strings.hpp"
#include "runtime/template/value/format.hpp"

namespace nomad::templates::source_family {
namespace {

const std::vector<const Type*> one_text{&types::text};
const std::vector<const Type*> two_texts{&types::text, &types::text};

void record(Call& call, const Query& query, bool answered) {
  auto& asked = call.context.dependencies().asked;
  const auto [known, is_new] = asked.try_emplace(query, answered);
  if (!is_new) known->second = known->second && answered;
}

bool is_name_character(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-';
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_name_character);
}

/// Of regions: [[:word:].-_]+
bool is_region(std::string_view text) {
  return !text.empty()
         && std::ranges::all_of(text, [](char c) { return is_name_character(c) || c == '.'; });
}

/// Takes "@REGION" off the end of `text`; false if it is not well formed.
bool take_region(std::string_view& text, std::string& region) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return true;
  region = text.substr(at + 1);
  text = text.substr(0, at);
  return is_region(region);
}

Error bad_format(std::string_view function, std::string_view text) {
  return function_error(std::string{function} + ": invalid format: " + quote(text));
}

Result<Value> nomad_services(Call& call) {
  std::string text;
  for (const Value& argument : call.arguments)
    text += argument.as_text();
  ServicesQuery query;
  std::string_view rest = text;
  if (!take_region(rest, query.region) || !rest.empty()) return bad_format("nomad.services", text);
  const auto services = NOMAD_TRY(call.context.sources())->services(query);
  record(call, query, services.has_value());
  if (!services) return Value::null(service_name_list);
  NOMAD_TRY(call.context.step(services->size()));
  return service_names_value(*services);
}

/// "TAG.NAME@REGION"
Result<ServiceQuery> read_service_query(std::string_view text) {
  ServiceQuery query{.name = {}};
  std::string_view rest = text;
  if (!take_region(rest, query.region)) return bad_format("nomad.service", text);
  if (const std::size_t dot = rest.rfind('.'); dot != std::string_view::npos) {
    query.tag = rest.substr(0, dot);
    rest.remove_prefix(dot + 1);
    const bool is_tag = !query.tag.empty() && std::ranges::all_of(query.tag, [](char c) {
      return is_name_character(c) || c == '=' || c == ':' || c == '.';
    });
    if (!is_tag) return bad_format("nomad.service", text);
  }
  if (!is_name(rest)) return bad_format("nomad.service", text);
  query.name = rest;
  return query;
}

Result<ServiceQuery> service_query_of(Call& call) {
  if (call.size() == 1) {
    if (call[0].type() != &types::text)
      return function_error("expected string for <service> argument");
    return read_service_query(call.text(0));
  }
  if (call.size() != 3)
    return function_error("expected arguments <service> or <count> <key> <service>");
  if (call[0].type() != &types::integer)
    return function_error("expected integer for <count> argument");
  if (call[1].type() != &types::text) return function_error("expected string for <key> argument");
  if (call[2].type() != &types::text)
    return function_error("expected string for <service> argument");
  ServiceQuery query = NOMAD_TRY(read_service_query(call.text(2)));
  query.choose = std::to_string(call.integer(0)) + '|' + std::string{call.text(1)};
  return query;
}

Result<Value> nomad_service(Call& call) {
  const ServiceQuery query = NOMAD_TRY(service_query_of(call));
  const auto services = NOMAD_TRY(call.context.sources())->service(query);
  record(call, query, services.has_value());
  if (!services) return Value::null(service_list);
  NOMAD_TRY(call.context.step(services->size()));
  return services_value(*services);
}

/// "PATH@NAMESPACE.REGION": what is behind the path.
bool take_place(std::string_view& text, std::string& name_space, std::string& region, bool lists) {
  const std::size_t at = text.find('@');
  std::string_view place = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  std::string_view path = text.substr(0, at);
  if (at == std::string_view::npos) {
    text = path;
    return true;
  }
  const std::size_t dot = place.find('.');
  name_space = place.substr(0, dot);
  if (dot != std::string_view::npos) {
    region = place.substr(dot + 1);
    if (!is_name(region)) return false;
  }
  text = path;
  return is_name(name_space) || (lists && name_space == "*");
}

Result<VariableQuery> read_variable_query(Call& call, bool waits) {
  const std::string_view whole = trim_characters(trim_space(call.text(0)), "/");
  VariableQuery query{.path = {}, .waits = waits};
  std::string_view rest = whole;
  const bool fits = take_place(rest, query.name_space, query.region, false);
  if (!whole.empty() && (!fits || rest.empty())) return bad_format("nomad.var.get", whole);
  query.path = rest;
  if (query.name_space.empty()) query.name_space = call.context.name_space;
  return query;
}

Result<Value> nomad_var(Call& call) {
  if (call.text(0).empty()) return Value::null(items_type);
  const VariableQuery query = NOMAD_TRY(read_variable_query(call, /*waits=*/true));
  const auto found = NOMAD_TRY(call.context.sources())->variable(query);
  const bool exists = found && *found;
  record(call, query, exists);
  if (!exists) return Value::null(items_type);
  for (const auto& [key, content] : (*found)->items)
    call.context.secrets().push_back(content);
  NOMAD_TRY(call.context.step((*found)->items.size()));
  return items_value(**found);
}

Result<Value> nomad_var_exists(Call& call) {
  if (call.text(0).empty()) return Value::boolean(false);
  const VariableQuery query = NOMAD_TRY(read_variable_query(call, /*waits=*/false));
  const auto found = NOMAD_TRY(call.context.sources())->variable(query);
  record(call, query, found.has_value());
  return Value::boolean(found && *found);
}

Result<Value> list_variables(Call& call, bool empty_is_safe) {
  if (call.size() > 1)
    return function_error(
        "nomadVarList takes either a single \"prefix\" parameter or none for all available "
        "variables; got: "
        + shown(Value::list({call.arguments.begin(), call.arguments.end()}, types::text_list)));
  const std::string_view whole = call.size() == 1 ? call.text(0) : std::string_view{};
  VariableListQuery query;
  std::string_view rest = whole;
  if (!take_place(rest, query.name_space, query.region, true))
    return bad_format("nomad.var.list", whole);
  if (rest.starts_with('/')) rest.remove_prefix(1);
  query.prefix = trim_characters(rest, "/").empty() ? std::string_view{} : rest;
  if (query.name_space.empty()) query.name_space = call.context.name_space;
  const auto found = NOMAD_TRY(call.context.sources())->variables(query);
  record(call, query, found && (empty_is_safe || !found->empty()));
  if (!found) return Value::list({}, variable_meta_list);
  NOMAD_TRY(call.context.step(found->size()));
  return variable_metas_value(*found);
}

Result<Value> nomad_var_list(Call& call) {
  return list_variables(call, true);
}

Result<Value> nomad_var_list_safe(Call& call) {
  return list_variables(call, false);
}

Result<Value> file(Call& call) {
  if (call.text(0).empty()) return Value::text("");
  const FileQuery query{std::string{trim_space(call.text(0))}};
  if (query.path.empty()) return bad_format("file", query.path);
  auto content = NOMAD_TRY(NOMAD_TRY(call.context.sources())->file(query));
  record(call, query, content.has_value());
  return made_text(call.context, content.value_or(""));
}

Result<std::optional<std::string>> environment(Call& call) {
  return NOMAD_TRY(call.context.sources())->environment(call.text(0));
}

Result<Value> env(Call& call) {
  return Value::text(NOMAD_TRY(environment(call)).value_or(""));
}

Result<Value> must_env(Call& call) {
  auto value = NOMAD_TRY(environment(call)).value_or("");
  if (value.empty())
    return function_error("required environment variable " + std::string{call.text(0)}
                          + " is empty");
  return Value::text(std::move(value));
}

Result<Value> env_or_default(Call& call) {
  return Value::text(NOMAD_TRY(environment(call)).value_or(std::string{call.text(1)}));
}

Result<Value> timestamp(Call& call) {
  if (call.size() > 1)
    return function_error("timestamp: wrong number of arguments, expected 0 or 1, but got "
                          + std::to_string(call.size()));
  const std::int64_t now = NOMAD_TRY(call.context.sources())->now();
  if (call.size() == 0) return Value::text(format_time("2006-01-02T15:04:05Z07:00", now));
  if (call.text(0) == "unix") return Value::text(std::to_string(now / 1'000'000'000));
  return made_text(call.context, format_time(call.text(0), now));
}

Result<Value> sockaddr(Call& call) {
  std::string text = "{{ ";
  for (const Value& argument : call.arguments) {
    if (&argument != &call.arguments.front()) text += ' ';
    text += argument.as_text();
  }
  return Value::text(NOMAD_TRY(NOMAD_TRY(call.context.sources())->address(text + " }}")));
}

Result<Value> no_consul(Call&) {
  return Error{Errc::unavailable,
               "no Consul is configured: this agent reads nothing from Consul; use nomadVar and "
               "nomadService"};
}

Result<Value> no_vault(Call&) {
  return Error{Errc::unavailable,
               "no Vault is configured: this agent reads nothing from Vault; use nomadVar"};
}

Result<Value> no_plugin(Call&) {
  return function_error("function is disabled");
}

}  // namespace

std::span<const Function> functions() {
  static const std::vector<const Type*> any{&types::any};
  static const Function table[] = {
      {"env", one_text, false, env},
      {"envOrDefault", two_texts, false, env_or_default},
      {"file", one_text, false, file},
      {"mustEnv", one_text, false, must_env},
      {"nomadService", any, true, nomad_service},
      {"nomadServices", one_text, true, nomad_services},
      {"nomadVar", one_text, false, nomad_var},
      {"nomadVarExists", one_text, false, nomad_var_exists},
      {"nomadVarList", one_text, true, nomad_var_list},
      {"nomadVarListSafe", one_text, true, nomad_var_list_safe},
      {"sockaddr", one_text, true, sockaddr},
      {"timestamp", one_text, true, timestamp},
      {"byMeta", any, true, no_consul},
      {"caLeaf", one_text, true, no_consul},
      {"caRoots", one_text, true, no_consul},
      {"connect", one_text, true, no_consul},
      {"datacenters", any, true, no_consul},
      {"key", one_text, false, no_consul},
      {"keyExists", one_text, false, no_consul},
      {"keyOrDefault", two_texts, false, no_consul},
      {"ls", one_text, false, no_consul},
      {"node", one_text, true, no_consul},
      {"nodes", one_text, true, no_consul},
      {"safeLs", one_text, false, no_consul},
      {"safeTree", one_text, false, no_consul},
      {"service", one_text, true, no_consul},
      {"services", one_text, true, no_consul},
      {"tree", one_text, false, no_consul},
      {"pkiCert", one_text, true, no_vault},
      {"secret", one_text, true, no_vault},
      {"secrets", one_text, false, no_vault},
      {"plugin", any, true, no_plugin},
      {"writeToFile", any, true, no_plugin},
  };
  return table;
}

}  // namespace nomad::templates::source_family
