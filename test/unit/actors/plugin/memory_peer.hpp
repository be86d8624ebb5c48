// MemoryPeer: a plugin in the test's own process and turn, in place of the process of one.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <capnp/serialize.h>

#include "actors/plugin/body/plugin_peer.hpp"
#include "runtime/plugin/sdk/session.hpp"

namespace nomad::test {

/// What a test sees and does of the plugin's lives.
struct MemoryPlugin {
  std::function<void(plugin::Plugin&)> describe;
  int lives = 0;
  bool mute = false;                ///< Answers nothing any more.
  bool has_drivers = true;          ///< As the link says.
  Result<> bounded{};               ///< What is answered to that.
  int refusals = 0;                 ///< Of what it has asked.
  std::size_t handled = 0;          ///< Bytes.
  plugin::ProcessEvents events;     ///< Of the newest life.
  std::function<void(int)> poll{};  ///< Lets it look at what it watches, for so many ms.
};

class MemoryPeer final : public plugin::PluginPeer {
public:
  MemoryPeer(MemoryPlugin& of, plugin::ProcessEvents events) : of_{of} {
    ++of_.lives;
    events_ = std::move(events);
    of_.events = events_;
    if (!of_.describe) return;
    of_.describe(plugin_);
    session_ = std::make_unique<plugin::Session>(
        plugin_, [this](capnp::MessageBuilder& frame) { tell(frame); });
    session_->begin();
    of_.poll = [this](int milliseconds) {
      auto waits = session_->watched();
      ::poll(waits.data(), waits.size(), milliseconds);
      static_cast<void>(session_->run_ready(waits, plugin::Nanoseconds{0}));
    };
  }

  ~MemoryPeer() override { of_.poll = {}; }

  void send(std::string frame) override {
    const auto body = std::string_view{frame}.substr(sizeof(std::uint32_t));
    if (const auto sent = plugin::decode_frame(body); sent && (*sent)->isFailed()) ++of_.refusals;
    if (!session_ || of_.mute) return;
    auto words = kj::heapArray<capnp::word>(body.size() / sizeof(capnp::word));
    std::memcpy(words.begin(), body.data(), body.size());
    const auto outcome = session_->take({words.begin(), words.size()}, plugin::Nanoseconds{0});
    if (!outcome) events_.ended(outcome.error());
    if (outcome && session_->is_over()) events_.ended({Errc::unavailable, "it hung up"});
  }

  void handled(std::size_t bytes) override { of_.handled += bytes; }

  void kill() override { events_.ended({Errc::cancelled, "it was ended"}); }

  Result<> has_drivers(bool has_some) override {
    of_.has_drivers = has_some;
    return of_.bounded;
  }

  std::string reap(bool) override { return "exited with status 0"; }

private:
  void tell(capnp::MessageBuilder& message) {
    const auto words = capnp::messageToFlatArray(message);
    const auto bytes = words.asBytes();
    auto frame = plugin::decode_frame({reinterpret_cast<const char*>(bytes.begin()), bytes.size()});
    if (frame) events_.frame(std::move(*frame), bytes.size());
  }

  MemoryPlugin& of_;
  plugin::ProcessEvents events_;
  plugin::Plugin plugin_;
  std::unique_ptr<plugin::Session> session_;
};

}  // namespace nomad::test
