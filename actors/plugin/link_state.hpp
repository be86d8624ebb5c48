// The inside of the PluginLink: its state, and what is done in its turns. Included by
// plugin_link.cpp and link_upgrade.cpp alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "actors/plugin/exec_relay.hpp"
#include "actors/plugin/hook_instances.hpp"
#include "actors/plugin/incoming_frames.hpp"
#include "actors/plugin/link_events.hpp"
#include "actors/plugin/link_memory.hpp"
#include "actors/plugin/pending_requests.hpp"
#include "actors/plugin/plugin_drivers.hpp"
#include "actors/plugin/plugin_life.hpp"
#include "actors/plugin/provided_services.hpp"
#include "actors/plugin/questions.hpp"
#include "actors/plugin/reports.hpp"
#include "runtime/workload/respawn_delay.hpp"

namespace nomad::plugin {

class LinkState {
public:
  static constexpr const char* name = "plugin_link";

  explicit LinkState(LinkSelf::pointer self) : self_{self} {}

  using Fill = Questions::Fill;

  void init(const std::shared_ptr<LinkMemory>& memory);

  actor::Answer<client::hook::Answered> run_hook(plugin_link::RunHook& msg);
  actor::Answer<client::hook::Settled> cancel_hook(const plugin_link::CancelHook& msg);
  void close_hook(const plugin_link::CloseHook& msg);

  void tasks_changed(const plugin_link::TasksChanged& msg) { hooks_.tasks_changed(msg); }

  void serve_driver(const plugin_link::ServeDriver& msg);
  actor::Answer<client::driver::Answered> ask_driver(plugin_link::AskDriver& msg);

  void exec_ordered(const plugin_link::ExecOrder& msg) { commands_.order(msg); }

  actor::Answer<server::decider::Decided> decide(server::decider::Decide& msg);
  actor::Answer<client::service_provider::Done> register_services(
      client::service_provider::Register& msg);
  actor::Answer<client::service_provider::Done> deregister_services(
      client::service_provider::Deregister& msg);
  void checks_changed(const client::service_provider::ChecksChanged& msg);
  void serve(const plugin_link::Serve& msg);
  actor::Answer<plugin_link::Reconfigured> reconfigure(const plugin_link::Reconfigure& msg);
  /// `may_pass`: time may mend it, and it is tried again.
  void refuse(const std::string& why, bool may_pass = false);
  actor::Answer<plugin_link::Stopped> stop();

  void started(const link_event::Started& msg);
  void received(link_event::Received& msg);
  void wrote(const link_event::Wrote& msg);
  void ended(const link_event::Ended& msg);
  void reaped(const link_event::ReapDue& msg);
  void stage_due(const link_event::StageDue& msg);
  void recovery_due(const link_event::RecoveryDue& msg);
  void ping_due(const link_event::PingDue& msg);
  void pong_due(const link_event::PongDue& msg);
  void stop_due(const link_event::StopDue& msg);
  void pause_over(const link_event::PauseOver& msg);
  void facts_due(const link_event::FactsDue& msg);
  void replace_due(const link_event::ReplaceDue& msg);

  void upgrade_due(const link_event::UpgradeDue& msg);

  void respawn_due(const link_event::RespawnDue& msg) {
    const bool waits
        = state_ == PluginState::restarting || (state_ == PluginState::refused && retries_);
    if (life_.is(msg.life) && waits && !stopped_) spawn();
  }

  void api_heard(const link_event::ApiHeard& msg) {
    if (life_.is(msg.life) && calls_) calls_->heard(msg.what);
  }

private:
  using Failed = Questions::Failed;

  /// Another process, which is to take the place of the present one.
  struct Successor {
    PluginLife life{};
    plugin_link::Reconfigure order{};
    actor::Promise<plugin_link::Reconfigured> promise{};
    Object<schema::plugin::Declaration> declaration{};  ///< Empty: it has not said what it is.
    Nanoseconds patience{0};                            ///< With that.
    int pid = 0;
  };

  const LinkOptions& options() const { return memory_->options; }

  void spawn();
  void begin_anew();
  std::unique_ptr<PluginPeer> peer_of(const MakePeer& make, std::uint64_t life);
  void enter_api();

  bool is_next(std::uint64_t life) const { return next_ && next_->life.is(life); }

  actor::Answer<plugin_link::Reconfigured> start_next(const plugin_link::Reconfigure& order);
  actor::Answer<plugin_link::Reconfigured> adopt(const plugin_link::Reconfigure& order);
  void follow(const plugin_link::Reconfigure& order);
  Nanoseconds most_successor_patience() const;
  void next_received(link_event::Received& msg);
  void next_declared(schema::plugin::Declaration::Reader declaration);
  void next_ended(const link_event::Ended& msg);
  void next_reaped(const link_event::ReapDue& msg);
  void next_due();
  void drop_next(const Error& why);
  void take_over();
  bool fall_back(const std::string& why);
  void retire_names() const;
  Result<> check_names(schema::plugin::Declaration::Reader declaration) const;
  Result<> enter_names(schema::plugin::Declaration::Reader declaration);
  void reject(const std::string& why, bool may_pass = false);
  void set_state(PluginState state, const std::string& problem = {});

  void update(const std::function<void(PluginStatus&)>& change) const {
    options().states->update(options().name, change);
  }

  Result<> send(const Fill& fill);

  std::uint64_t ask(const Fill& fill, Questions::Then then, Failed failed) {
    return questions_.ask(fill, std::move(then), std::move(failed));
  }

  void when_running(PendingRequests::Request request);
  void drain();
  void take(schema::plugin::Frame::Reader frame);
  void declared(schema::plugin::Declaration::Reader declaration);
  void configure();
  void configured();
  void runs();
  void start_actors();
  void shut_down();
  void forget_names() const;

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  std::string title() const { return fmt::format("plugin {}", options().name); }

  LinkSelf::pointer self_;
  std::shared_ptr<LinkMemory> memory_;
  PluginState state_ = PluginState::starting;
  PluginLife life_;
  std::uint64_t last_life_ = 0;  ///< The number of the newest process.
  std::optional<Successor> next_;
  actor::Promise<plugin_link::Reconfigured> reconfiguring_;  ///< It has taken over.
  std::unique_ptr<ApiCalls> calls_;
  workload::RespawnDelay delay_;

  Questions questions_{[this](const Fill& fill) { return send(fill); }};
  HookInstances hooks_{self_, questions_, life_.number()};
  ExecRelay commands_{questions_};
  PluginDrivers drivers_{self_, questions_, commands_};
  std::optional<Reports> reports_;
  PendingRequests waiting_;  ///< Until it runs.
  IncomingFrames incoming_;  ///< What is not looked at yet.
  bool paused_ = false;      ///< A PauseOver is to come.
  std::uint64_t ping_ = 0;   ///< The question; 0: none is open.
  bool replacing_ = false;   ///< It is asked nothing more, for another one follows.
  bool stops_ = false;       ///< The present one has been asked to end, for another to follow.
  bool recovers_ = false;    ///< It is told of its drivers' tasks.
  bool retries_ = false;     ///< It is refused, and tried again.
  bool stopped_ = false;     ///< The agent ends: no other one follows.
  std::vector<actor::Promise<plugin_link::Stopped>> stopping_;
};

}  // namespace nomad::plugin
