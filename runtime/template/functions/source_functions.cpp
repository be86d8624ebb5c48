// Functions that ask the sources of a rendering: nomadService, nomadVar, file, env, timestamp….
// What needs Consul or Vault says that there is none.
#include <algorithm>
#include <optional>

#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/cluster_values.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/time_value.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/text/letters.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::templates::source_family {
namespace {

using Texts = Rest<types::text>;

void record(Context& context, const Query& query, bool answered) {
  auto& asked = context.dependencies().asked;
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

Result<Value> nomad_services(Context& context, Texts given) {
  std::string text;
  for (const Value& argument : given)
    text += argument.as_text();
  ServicesQuery query;
  std::string_view rest = text;
  if (!take_region(rest, query.region) || !rest.empty()) return bad_format("nomad.services", text);
  const auto services = NOMAD_TRY(context.sources())->services(query);
  record(context, query, services.has_value());
  if (!services) return Value::null(service_name_list);
  NOMAD_TRY(context.step(services->size()));
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

Result<ServiceQuery> service_query_of(std::span<const Value> given) {
  if (given.size() != 1 && given.size() != 3)
    return function_error("expected arguments <service> or <count> <key> <service>");
  if (given.size() == 3 && given[0].type() != &types::integer)
    return function_error("expected integer for <count> argument");
  if (given.size() == 3 && given[1].type() != &types::text)
    return function_error("expected string for <key> argument");
  if (given.back().type() != &types::text)
    return function_error("expected string for <service> argument");
  ServiceQuery query = NOMAD_TRY(read_service_query(given.back().as_text()));
  if (given.size() == 3)
    query.choose = std::to_string(given[0].as_integer()) + '|' + std::string{given[1].as_text()};
  return query;
}

Result<Value> nomad_service(Context& context, Rest<> given) {
  const ServiceQuery query = NOMAD_TRY(service_query_of(given));
  const auto services = NOMAD_TRY(context.sources())->service(query);
  record(context, query, services.has_value());
  if (!services) return Value::null(service_list);
  NOMAD_TRY(context.step(services->size()));
  return services_value(*services);
}

/// "PATH@NAMESPACE.REGION": what is behind the path.
bool take_slot(std::string_view& text, std::string& name_space, std::string& region, bool lists) {
  const std::size_t at = text.find('@');
  std::string_view position
      = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  std::string_view path = text.substr(0, at);
  if (at == std::string_view::npos) {
    text = path;
    return true;
  }
  const std::size_t dot = position.find('.');
  name_space = position.substr(0, dot);
  if (dot != std::string_view::npos) {
    region = position.substr(dot + 1);
    if (!is_name(region)) return false;
  }
  text = path;
  return is_name(name_space) || (lists && name_space == "*");
}

Result<VariableQuery> read_variable_query(const Context& context,
                                          std::string_view text,
                                          bool waits) {
  const std::string_view whole = trim_characters(trim_space(text), "/");
  VariableQuery query{.path = {}, .waits = waits};
  std::string_view rest = whole;
  const bool fits = take_slot(rest, query.name_space, query.region, false);
  if (!whole.empty() && (!fits || rest.empty())) return bad_format("nomad.var.get", whole);
  query.path = rest;
  if (query.name_space.empty()) query.name_space = context.name_space;
  return query;
}

Result<Value> nomad_var(Context& context, std::string_view path) {
  if (path.empty()) return Value::null(items_type);
  const VariableQuery query = NOMAD_TRY(read_variable_query(context, path, /*waits=*/true));
  const auto found = NOMAD_TRY(context.sources())->variable(query);
  const bool exists = found && *found;
  record(context, query, exists);
  if (!exists) return Value::null(items_type);
  for (const auto& [key, content] : (*found)->items)
    context.secrets().insert(content);
  NOMAD_TRY(context.step((*found)->items.size()));
  return items_value(**found);
}

Result<bool> nomad_var_exists(Context& context, std::string_view path) {
  if (path.empty()) return false;
  const VariableQuery query = NOMAD_TRY(read_variable_query(context, path, /*waits=*/false));
  const auto found = NOMAD_TRY(context.sources())->variable(query);
  record(context, query, found.has_value());
  return found && *found;
}

template <bool empty_is_safe>
Result<Value> nomad_var_list(Context& context, Texts given) {
  if (given.size() > 1)
    return function_error(
        "nomadVarList takes either a single \"prefix\" parameter or none for all available "
        "variables; got: "
        + shown(Value::list({given.begin(), given.end()}, types::text_list)));
  const std::string_view whole = given.empty() ? std::string_view{} : given[0].as_text();
  VariableListQuery query;
  std::string_view rest = whole;
  if (!take_slot(rest, query.name_space, query.region, true))
    return bad_format("nomad.var.list", whole);
  if (rest.starts_with('/')) rest.remove_prefix(1);
  query.prefix = trim_characters(rest, "/").empty() ? std::string_view{} : rest;
  if (query.name_space.empty()) query.name_space = context.name_space;
  const auto found = NOMAD_TRY(context.sources())->variables(query);
  record(context, query, found && (empty_is_safe || !found->empty()));
  if (!found) return Value::list({}, variable_meta_list);
  NOMAD_TRY(context.step(found->size()));
  return variable_metas_value(*found);
}

Result<std::string> file(Context& context, std::string_view path) {
  if (path.empty()) return "";
  const FileQuery query{std::string{trim_space(path)}};
  if (query.path.empty()) return bad_format("file", query.path);
  auto content = NOMAD_TRY(NOMAD_TRY(context.sources())->file(query));
  record(context, query, content.has_value());
  return content.value_or("");
}

Result<std::string> env_or_default(Context& context,
                                   std::string_view name,
                                   std::string_view instead) {
  return NOMAD_TRY(context.sources())->environment(name).value_or(std::string{instead});
}

Result<std::string> env(Context& context, std::string_view name) {
  return env_or_default(context, name, "");
}

Result<std::string> must_env(Context& context, std::string_view name) {
  auto value = NOMAD_TRY(env(context, name));
  if (value.empty())
    return function_error("required environment variable " + std::string{name} + " is empty");
  return value;
}

Result<std::string> timestamp(Context& context, Texts layout) {
  if (layout.size() > 1)
    return function_error("timestamp: wrong number of arguments, expected 0 or 1, but got "
                          + std::to_string(layout.size()));
  const std::int64_t now = NOMAD_TRY(context.sources())->now();
  if (layout.empty()) return format_time("2006-01-02T15:04:05Z07:00", now);
  if (layout[0].as_text() == "unix") return std::to_string(now / 1'000'000'000);
  return format_time(layout[0].as_text(), now);
}

Result<std::string> sockaddr(Context& context, Texts words) {
  std::string text = "{{ ";
  for (const Value& word : words) {
    if (&word != &words.front()) text += ' ';
    text += word.as_text();
  }
  return NOMAD_TRY(context.sources())->address(text + " }}");
}

template <class... Parameters>
Result<Value> no_consul(Parameters...) {
  return Error{Errc::unavailable,
               "no Consul is configured: this agent reads nothing from Consul; use nomadVar and "
               "nomadService"};
}

template <class... Parameters>
Result<Value> no_vault(Parameters...) {
  return Error{Errc::unavailable,
               "no Vault is configured: this agent reads nothing from Vault; use nomadVar"};
}

Result<Value> no_plugin(Rest<>) {
  return function_error("function is disabled");
}

}  // namespace

std::span<const Function> functions() {
  using Text = std::string_view;
  static const Function table[] = {
      bind<env>("env"),
      bind<env_or_default>("envOrDefault"),
      bind<file>("file"),
      bind<must_env>("mustEnv"),
      bind<nomad_service>("nomadService"),
      bind<nomad_services>("nomadServices"),
      bind<nomad_var>("nomadVar"),
      bind<nomad_var_exists>("nomadVarExists"),
      bind<nomad_var_list<true>>("nomadVarList"),
      bind<nomad_var_list<false>>("nomadVarListSafe"),
      bind<sockaddr>("sockaddr"),
      bind<timestamp>("timestamp"),
      bind<no_consul<Rest<>>>("byMeta"),
      bind<no_consul<Texts>>("caLeaf"),
      bind<no_consul<Texts>>("caRoots"),
      bind<no_consul<Texts>>("connect"),
      bind<no_consul<Rest<>>>("datacenters"),
      bind<no_consul<Text>>("key"),
      bind<no_consul<Text>>("keyExists"),
      bind<no_consul<Text, Text>>("keyOrDefault"),
      bind<no_consul<Text>>("ls"),
      bind<no_consul<Texts>>("node"),
      bind<no_consul<Texts>>("nodes"),
      bind<no_consul<Text>>("safeLs"),
      bind<no_consul<Text>>("safeTree"),
      bind<no_consul<Texts>>("service"),
      bind<no_consul<Texts>>("services"),
      bind<no_consul<Text>>("tree"),
      bind<no_vault<Texts>>("pkiCert"),
      bind<no_vault<Texts>>("secret"),
      bind<no_vault<Text>>("secrets"),
      bind<no_plugin>("plugin"),
      bind<no_plugin>("writeToFile"),
  };
  return table;
}

}  // namespace nomad::templates::source_family
