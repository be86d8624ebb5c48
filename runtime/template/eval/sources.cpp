#include "runtime/template/eval/sources.hpp"

#include <algorithm>

namespace nomad::templates {
namespace {

/// "PATH@NAMESPACE.REGION"
std::string place(std::string_view path, std::string_view name_space, std::string_view region) {
  return std::string{path} + '@' + std::string{name_space.empty() ? "default" : name_space} + '.'
         + std::string{region.empty() ? "global" : region};
}

constexpr std::string_view awaited_variable = "nomad.var.block(";

struct Names {
  std::string operator()(const ServicesQuery& query) const {
    return query.region.empty() ? "nomad.services" : "nomad.services(@" + query.region + ')';
  }

  std::string operator()(const ServiceQuery& query) const {
    std::string name = query.tag.empty() ? query.name : query.tag + '.' + query.name;
    if (!query.region.empty()) name += '@' + query.region;
    if (!query.choose.empty()) name += ':' + query.choose;
    return "nomad.service(" + name + ')';
  }

  std::string operator()(const VariableQuery& query) const {
    return std::string{query.waits ? awaited_variable : "nomad.var.get("}
           + place(query.path, query.name_space, query.region) + ')';
  }

  std::string operator()(const VariableListQuery& query) const {
    return "nomad.var.list(" + place(query.prefix, query.name_space, query.region) + ')';
  }

  std::string operator()(const FileQuery& query) const { return "file(" + query.path + ')'; }
};

}  // namespace

std::optional<VariableQuery> awaited_variable_in(std::string_view text) {
  const auto at = text.find(awaited_variable);
  if (at == text.npos) return {};
  text.remove_prefix(at + awaited_variable.size());
  const auto name = text.substr(0, text.find(')'));
  const auto path = name.substr(0, name.find('@'));
  const auto rest = name.substr(std::min(path.size() + 1, name.size()));
  const auto ns = rest.substr(0, rest.find('.'));
  if (path.empty()) return {};
  return VariableQuery{.path = std::string{path},
                       .name_space = std::string{ns},
                       .region = std::string{rest.substr(std::min(ns.size() + 1, rest.size()))},
                       .waits = true};
}

std::string to_string(const Query& query) {
  return std::visit(Names{}, query);
}

std::vector<std::string> Dependencies::missing() const {
  std::vector<std::string> names;
  for (const auto& [query, answered] : asked)
    if (!answered) names.push_back(to_string(query));
  std::ranges::sort(names);
  return names;
}

}  // namespace nomad::templates
