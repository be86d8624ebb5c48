#include "actors/api/cluster/root_key_wait.hpp"

#include <chrono>
#include <utility>

namespace nomad::api {

namespace {

using namespace std::chrono_literals;

constexpr auto root_key_patience = 5s;
constexpr auto root_key_pause = 20ms;

struct RootKeyWait {
  SharedCall call;
  std::function<void(const Object<schema::RootKey>&)> go;
  std::string_view attempt;
  std::chrono::steady_clock::time_point give_up;
};

void wait_for_root_key(RootKeyWait wait) {
  const auto context = wait.call->context;
  if (const auto key = context->state.store->snapshot().active_root_key()) return wait.go(key);
  if (std::chrono::steady_clock::now() >= wait.give_up) {
    const Error none{Errc::unavailable,
                     "keyring has not been initialized yet: the leader makes the first key once it "
                     "can write, and its log says what hinders it, such as a full disk"};
    return wait.call->fail(wait.attempt.empty() ? none : none.within(wait.attempt));
  }
  context->timers.call_after(
      root_key_pause, [wait = std::move(wait)]() mutable { wait_for_root_key(std::move(wait)); });
}

}  // namespace

void with_root_key(SharedCall call,
                   std::function<void(const Object<schema::RootKey>&)> go,
                   std::string_view attempt) {
  wait_for_root_key({std::move(call), std::move(go), attempt,
                     std::chrono::steady_clock::now() + root_key_patience});
}

}  // namespace nomad::api
