#include "actors/core/caf_bridge.hpp"

#include <string>
#include <utility>

#include <caf/actor_cast.hpp>
#include <caf/sec.hpp>
#include <caf/to_string.hpp>

namespace nomad::actor {

caf::error to_caf(const Error& err) {
  return {static_cast<std::uint8_t>(err.code), caf::atom("nomad"), caf::make_message(err.what)};
}

Error from_caf(const caf::error& err) {
  if (err.category() == caf::atom("nomad")) {
    const auto& context = err.context();
    auto what
        = context.match_elements<std::string>() ? context.get_as<std::string>(0) : std::string{};
    return {static_cast<Errc>(err.code()), std::move(what)};
  }
  if (err == caf::sec::request_timeout) return {Errc::timeout, "no answer in time"};
  if (err == caf::sec::request_receiver_down || err == caf::sec::invalid_argument)
    return {Errc::unavailable, "the actor is gone"};
  return {Errc::internal, caf::to_string(err)};
}

caf::duration to_caf(Timeout timeout) {
  return timeout == infinite ? caf::duration{caf::infinite} : caf::duration{timeout};
}

caf::message_id to_caf(Priority priority) {
  return caf::make_message_id(priority == Priority::urgent ? caf::message_priority::high
                                                           : caf::message_priority::normal);
}

caf::actor as_caf(const Ref& ref) {
  return caf::actor_cast<caf::actor>(caf::strong_actor_ptr{ref.get()});
}

}  // namespace nomad::actor
