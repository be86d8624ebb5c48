#include "actors/api/cluster/acl_endpoint.hpp"

#include <array>

#include "runtime/base/base64.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/security/seal.hpp"

namespace nomad::api {

namespace {

using namespace std::chrono_literals;
using Instant = std::chrono::steady_clock::time_point;

constexpr auto acl_key_patience = 5s;
constexpr auto acl_key_pause = 20ms;

void wait_for_root_key(SharedCall call,
                       std::function<void(const Object<schema::RootKey>&)> go,
                       Instant give_up) {
  const auto context = call->context;
  if (const auto key = context->state.store->snapshot().active_root_key()) return go(key);
  if (std::chrono::steady_clock::now() >= give_up)
    return call->fail({Errc::unavailable,
                       "keyring has not been initialized yet: the leader makes the first key once "
                       "it can write, and its log says what hinders it, such as a full disk"});
  context->timers.call_after(acl_key_pause,
                             [call = std::move(call), go = std::move(go), give_up]() mutable {
                               wait_for_root_key(std::move(call), std::move(go), give_up);
                             });
}

}  // namespace

void with_root_key(SharedCall call, std::function<void(const Object<schema::RootKey>&)> go) {
  wait_for_root_key(std::move(call), std::move(go),
                    std::chrono::steady_clock::now() + acl_key_patience);
}

std::string draw_secret() {
  std::array<std::byte, 16> bytes{};
  security::system_random()(bytes);
  return uuid_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 4);
}

void append_base64(JsonObject& object, std::string_view name, capnp::Data::Reader bytes) {
  object.text(name, encode_base64(state::kind::bytes_of(bytes)));
}

}  // namespace nomad::api
