#include "runtime/template/cluster_query.hpp"

namespace nomad::templates {
namespace {

std::string or_else(const std::string& given, std::string_view usual) {
  return given.empty() ? std::string{usual} : given;
}

struct Asked {
  std::string_view name_space;

  std::optional<ClusterQuery> operator()(const ServicesQuery&) const {
    return ClusterQuery{.kind = ClusterQuery::Kind::services,
                        .name_space = std::string{name_space}};
  }

  std::optional<ClusterQuery> operator()(const ServiceQuery& query) const {
    return ClusterQuery{.kind = ClusterQuery::Kind::service,
                        .name_space = std::string{name_space},
                        .name = query.name,
                        .tag = query.tag,
                        .choose = query.choose};
  }

  std::optional<ClusterQuery> operator()(const VariableQuery& query) const {
    return ClusterQuery{.kind = ClusterQuery::Kind::variable,
                        .name_space = or_else(query.name_space, name_space),
                        .name = query.path};
  }

  std::optional<ClusterQuery> operator()(const VariableListQuery& query) const {
    return ClusterQuery{.kind = ClusterQuery::Kind::variables,
                        .name_space = or_else(query.name_space, name_space),
                        .name = query.prefix};
  }

  std::optional<ClusterQuery> operator()(const FileQuery&) const { return std::nullopt; }
};

}  // namespace

std::optional<ClusterQuery> cluster_query(const Query& query, std::string_view name_space) {
  return std::visit(Asked{name_space}, query);
}

std::string_view region_of(const Query& query) {
  return std::visit(
      [](const auto& one) -> std::string_view {
        if constexpr (requires { one.region; }) return one.region;
        return {};
      },
      query);
}

}  // namespace nomad::templates
