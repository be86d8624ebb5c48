// /v1/volumes and /v1/plugins: lists of what there can be none of, for tools that ask for them.
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/routes.hpp"

namespace nomad::api {
namespace {

/// An empty list, also without a type; of another type nothing is said.
Outcome list_none(Call& call) {
  const auto* const type = call.request().parameter("type");
  const bool is_list = type == nullptr || *type == "csi";
  return read_state(call, [is_list](const ReadOptions&) -> Result<Read> {
    return Read{
        .watch = {},
        .index = [](const View&) { return std::uint64_t{0}; },
        .answer = [is_list](const View&) { return is_list ? Answer::json("[]") : Answer{}; }};
  });
}

}  // namespace

void add_volume_routes(Routes& routes) {
  routes.exact("/v1/volumes", {{Methods::get, Capability::csi_list_volume, list_none}});
  routes.exact("/v1/plugins", {{Methods::get, Capability::plugin_list, list_none}});
}

}  // namespace nomad::api
