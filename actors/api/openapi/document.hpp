// The API as OpenAPI 3.1 describes it, made from the route tables and the schema. Pure; takes some
// milliseconds. Tested as a whole with its parts: test/unit/actors/api/openapi/openapi_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "runtime/access/capability.hpp"

namespace nomad::api::openapi {

/// As `Routes::listed` has them.
using Operations = std::vector<std::pair<std::string, access::Capability>>;

/// Of these operations. `version` is that of the API.
boost::json::object document(const Operations& operations, std::string_view version);

/// "/v1/job/{id}/plan" of "/v1/job/*/plan".
std::string template_of(std::string_view path);

}  // namespace nomad::api::openapi
