#include "runtime/template/eval/sources.hpp"

#include <algorithm>

namespace nomad::templates {
namespace {

/// "PATH@NAMESPACE.REGION"
std::string place(std::string_view path, std::string_view name_space, std::string_view region) {
  return std::string{path} + '@' + std::string{name_space.empty() ? "default" : name_space} + '.'
         + std::string{region.empty() ? "global" : region};
}

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
    return std::string{query.waits ? "nomad.var.block(" : "nomad.var.get("}
           + place(query.path, query.name_space, query.region) + ')';
  }

  std::string operator()(const VariableListQuery& query) const {
    return "nomad.var.list(" + place(query.prefix, query.name_space, query.region) + ')';
  }

  std::string operator()(const FileQuery& query) const { return "file(" + query.path + ')'; }
};

}  // namespace

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

std::optional<VariableQuery> Dependencies::awaited_variable() const {
  for (const auto& [query, answered] : asked)
    if (const auto* variable = std::get_if<VariableQuery>(&query);
        variable != nullptr && variable->waits && !answered)
      return *variable;
  return {};
}

}  // namespace nomad::templates
