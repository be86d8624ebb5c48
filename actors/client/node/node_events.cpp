#include "actors/client/node/node_events.hpp"

#include <algorithm>

#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/workload/heartbeat.hpp"

namespace nomad::client {
namespace {

/// The servers keep as many of a node's events, the newest.
constexpr std::size_t most_events = 10;

using namespace std::chrono_literals;

constexpr auto server_patience = 30s;

}  // namespace

void NodeEvents::happened(std::string_view subsystem,
                          std::string_view message,
                          const std::map<std::string, std::string>& details) {
  Draft<schema::NodeEvent> event;
  event->setSubsystem(text(subsystem));
  event->setMessage(text(message));
  event->setTimestamp(parts_.unix_now());
  fill_entries(event->initDetails(static_cast<unsigned>(details.size())), details);
  waiting_.push_back(event.freeze());
  if (waiting_.size() > most_events) {
    log::warn("client", "dropping an event of the node that could not be sent",
              {{"event", view(waiting_.front()->getMessage())}});
    waiting_.pop_front();
  }
  send_later();
}

/// Begins to wait anew: what happens together is sent together.
void NodeEvents::send_later() {
  const Nanoseconds pause = parts_.dev ? 100ms : 5s;
  actor::send_self_after(self_, workload::with_jitter(pause, parts_.random), Due{++round_});
}

void NodeEvents::due(Due msg) {
  if (msg.round != round_ || parts_.stopping || waiting_.empty()) return;
  if (sending_) return send_later();
  sending_ = true;
  const std::vector<Object<schema::NodeEvent>> events{waiting_.begin(), waiting_.end()};
  self_
      ->request(
          parts_.servers, server_patience,
          door::make_ask(
              parts_.identity.id, [](auto& ask) { ask.setEmitEvents(); }, door::rows_of(events)))
      .then(
          [this, events](const door::Reply&) {
            sending_ = false;
            std::erase_if(waiting_, [&events](const auto& event) {
              return std::any_of(events.begin(), events.end(), [&event](const auto& sent) {
                return sent.bytes().data() == event.bytes().data();
              });
            });
          },
          [this](const Error& err) {
            sending_ = false;
            log::warn("client", "sending events of the node failed", {{"error", err}});
            send_later();
          });
}

}  // namespace nomad::client
