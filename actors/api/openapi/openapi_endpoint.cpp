// Made when it is asked for: it is some hundred kilobytes that few want.
#include "actors/api/openapi/openapi_endpoint.hpp"

#include <utility>

#include <boost/json/serialize.hpp>

#include "actors/api/http/routes.hpp"
#include "actors/api/openapi/document.hpp"

namespace nomad::api {
namespace {

struct OpenApiParts {
  openapi::Operations operations;
  std::string version;
};

Outcome describe_api(Call& call, const OpenApiParts& parts) {
  return on_pool(call, [&parts](Call&) -> Outcome {
    return Answer::json(boost::json::serialize(openapi::document(parts.operations, parts.version)));
  });
}

}  // namespace

void add_openapi_routes(Routes& routes, std::string version) {
  const std::string path = "/v1/openapi.json";
  auto operations = routes.listed();
  operations.emplace_back("GET " + path, Capability::none);
  const auto with = routes.with(OpenApiParts{std::move(operations), std::move(version)});
  routes.exact(path, {{Methods::get, Capability::none, with(describe_api), Where::agent}});
}

}  // namespace nomad::api
