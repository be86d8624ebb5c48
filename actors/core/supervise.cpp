#include "actors/core/supervise.hpp"

#include <caf/to_string.hpp>

#include "runtime/base/log.hpp"

namespace nomad::actor {
namespace {

/// Normal ends: the actor quit by itself or was told to.
bool is_orderly(const caf::error& reason) {
  return !reason || reason == caf::exit_reason::normal || reason == caf::exit_reason::user_shutdown
         || reason == caf::exit_reason::kill || reason == caf::exit_reason::unreachable;
}

caf::error log_exception(caf::scheduled_actor* self, std::exception_ptr& thrown) {
  std::string what = "unknown exception";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& err) {
    what = err.what();
  } catch (...) {
    log::error(self->name(), "a handler threw something that is no std::exception");
  }
  log::error(self->name(), "ended by an exception: {}", what);
  return to_caf({Errc::internal, std::move(what)});
}

caf::result<caf::message> log_unexpected(caf::scheduled_actor* self, caf::message_view& message) {
  log::error(self->name(), "unexpected message: {}",
             caf::to_string(message.move_content_to_message()));
  return caf::sec::unexpected_message;
}

}  // namespace

void supervise(caf::scheduled_actor* self) {
  self->set_default_handler(log_unexpected);
  self->set_exit_handler([self](caf::exit_msg& message) {
    if (message.reason) self->quit(std::move(message.reason));
  });
  self->set_error_handler([self](caf::error& err) {
    const auto reason = from_caf(err);
    log::error(self->name(), "ended by an unhandled error: {}", reason.what);
    self->quit(std::move(err));
  });
  self->set_exception_handler(
      [self](std::exception_ptr& thrown) { return log_exception(self, thrown); });
  on_down(self, [self](const Down& down) {
    if (down.crashed) log::warn(self->name(), "a monitored actor ended: {}", down.reason.what);
  });
}

void on_down(caf::scheduled_actor* self, std::function<void(const Down&)> handler) {
  self->set_down_handler([handler = std::move(handler)](caf::down_msg& message) {
    const bool crashed = !is_orderly(message.reason);
    handler({.source = message.source,
             .crashed = crashed,
             .reason = crashed ? from_caf(message.reason) : Error{}});
  });
}

void on_exit(caf::scheduled_actor* self, std::function<void()> handler) {
  self->set_exit_handler([self, handler = std::move(handler)](caf::exit_msg& message) {
    if (message.reason == caf::exit_reason::kill)
      self->quit(std::move(message.reason));
    else
      handler();
  });
}

}  // namespace nomad::actor
