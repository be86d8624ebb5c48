// What a driver of Nomad's says of itself and of its tasks, and who waits for that.
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "runtime/plugin/bridge/bridge_driver.hpp"
#include "runtime/plugin/bridge/replies.hpp"

namespace nomad::plugin::bridge {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds stream_pause = 5s;
constexpr Nanoseconds health_patience = 5s;

}  // namespace

void BridgeDriver::fingerprint(const DriverReply& reply) {
  if (!health_) {
    asked_health_.push_back(reply);
    return expect_health();
  }
  reply(FillAnswer{[this](schema::plugin::DriverAnswer::Builder to) {
    fill_fingerprint(to.initFingerprint(), *health_);
  }});
}

void BridgeDriver::expect_health() {
  agent_.after(health_patience, [this] {
    if (health_) return;
    drivers::FingerprintResponse unknown;
    unknown.set_health_description("the driver has not said how it feels");
    take_health(std::move(unknown));
  });
}

void BridgeDriver::watch_health() {
  health_stream_ = FingerprintStream::open(
      remote_.turns(), {},
      {.answer = [this](const drivers::FingerprintResponse& health) { take_health(health); },
       .ended =
           [this](const grpc::Status& status) {
             drivers::FingerprintResponse health;
             health.set_health_description(status.ok()
                                               ? "the driver has ended what it tells of its health"
                                               : refusal_of("Fingerprint", status).error.what);
             take_health(std::move(health));
             agent_.after(stream_pause, [this] { watch_health(); });
           },
       .next = unhurried(agent_)},
      [this](auto* context, auto* request, auto* reactor) {
        remote_.driver().async()->Fingerprint(context, request, reactor);
      });
}

void BridgeDriver::take_health(drivers::FingerprintResponse health) {
  health_ = std::move(health);
  for (const auto& reply : std::exchange(asked_health_, {}))
    fingerprint(reply);
  tell({}, [this](schema::plugin::Notice::Builder notice) {
    fill_fingerprint(notice.initFingerprint(), *health_);
  });
  for (const auto& held : std::exchange(held_starts_, {}))
    start(held.config->getRoot<schema::plugin::TaskConfig>().asReader(), held.reply);
}

void BridgeDriver::watch_events() {
  event_stream_
      = EventStream::open(remote_.turns(), {},
                          {.answer =
                               [this](const drivers::DriverTaskEvent& event) {
                                 const TaskId id{event.alloc_id(), event.task_name()};
                                 if (find(id))
                                   tell(id, [&event](schema::plugin::Notice::Builder notice) {
                                     fill_event(notice.initEvent(), event);
                                   });
                               },
                           .ended =
                               [this](const grpc::Status& status) {
                                 if (status.error_code() != grpc::StatusCode::UNIMPLEMENTED)
                                   agent_.after(stream_pause, [this] { watch_events(); });
                               },
                           .next = unhurried(agent_)},
                          [this](auto* context, auto* request, auto* reactor) {
                            remote_.driver().async()->TaskEvents(context, request, reactor);
                          });
}

/// Nomad asks no driver for a task before its first fingerprint, and some learn by it what they
/// need to start one (podman's ends otherwise). A process that follows another is asked sooner.
void BridgeDriver::start_later(schema::plugin::TaskConfig::Reader config,
                               const DriverReply& reply) {
  if (held_starts_.size() >= most_held_starts)
    return reject(reply,
                  {Errc::overloaded,
                   fmt::format("the driver has not said yet how it feels, and {} starts wait for "
                               "that: try again in some seconds",
                               held_starts_.size())},
                  true);
  auto copied = std::make_shared<capnp::MallocMessageBuilder>();
  copied->setRoot(config);
  if (held_starts_.empty()) expect_health();
  held_starts_.push_back({task_id(config.getId()), std::move(copied), reply});
}

}  // namespace nomad::plugin::bridge
