// /v1/openapi.json: the API as OpenAPI 3.1 describes it.
#pragma once

#include <string>

namespace nomad::api {

class Routes;

/// Behind all other routes, which it describes. `version` is that of the API.
void add_openapi_routes(Routes& routes, std::string version);

}  // namespace nomad::api
