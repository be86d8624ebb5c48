#include "actors/api/acl/acl_endpoint.hpp"

#include <array>

#include "runtime/base/base64.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/security/seal.hpp"

namespace nomad::api {

std::string draw_uuid() {
  std::array<std::byte, 16> bytes{};
  security::system_random()(bytes);
  return uuid_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 4);
}

void append_base64(JsonObject& object, std::string_view name, capnp::Data::Reader bytes) {
  object.text(name, encode_base64(state::kind::bytes_of(bytes)));
}

}  // namespace nomad::api
