// How another process takes the place of the one that runs: with another file or configuration
// (Reconfigure). Part of the PluginLink.
//
//     running ──successor started──▶ it has said what it is ──nothing is asked of the old one──▶
//     the old one has answered, and ends ──▶ the successor is configured, is told of the drivers'
//     tasks, and is asked what has come meanwhile
//
// Until the successor is configured there is a way back: before its turn it is dropped, and behind
// that the earlier one begins anew.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/plugin/config_location.hpp"
#include "actors/plugin/job_schedulers.hpp"
#include "actors/plugin/link_state.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/declared.hpp"

namespace nomad::plugin {
namespace {

using namespace std::chrono_literals;

/// What is open is waited for so often.
constexpr auto replace_interval = 50ms;
constexpr unsigned most_replace_waits = 200;
/// The first look at what may be open is soon: most answer within a moment.
constexpr auto first_replace_interval = 5ms;

/// Nobody waits for a successor but who wants it: it has more time than one that begins.
constexpr int successor_patience = 3;

}  // namespace

actor::Answer<plugin_link::Reconfigured> LinkState::reconfigure(
    const plugin_link::Reconfigure& msg) {
  if (stopped_) return plugin_link::Reconfigured{};
  if (next_ || reconfiguring_.pending())
    return Error{Errc::conflict, "another process is about to take its place already"};
  const bool is_configured = state_ == PluginState::running || recovers_;
  if (is_configured && life_.runs()) return start_next(msg);
  return adopt(msg);
}

/// There is none that would be disturbed. One that has worked begins anew if the next one does not.
actor::Answer<plugin_link::Reconfigured> LinkState::adopt(const plugin_link::Reconfigure& order) {
  const bool has_worked
      = memory_->declaration && memory_->was_configured && state_ != PluginState::refused;
  follow(order);
  if (has_worked) {
    memory_->patience = std::min(memory_->patience, most_successor_patience());
    reconfiguring_ = self_->make_response_promise<plugin_link::Reconfigured>();
  } else {
    memory_->earlier.reset();
  }
  const auto promise = reconfiguring_;
  memory_->declaration = {};
  memory_->refusal.clear();
  delay_ = {};
  forget_names();
  set_state(PluginState::starting);
  update([](PluginStatus& status) { status.declaration = {}; });
  replacing_ = life_.is_there();
  if (replacing_)
    life_.kill("its file or its configuration is another one");
  else
    spawn();
  if (has_worked) return promise;
  return plugin_link::Reconfigured{};
}

/// What is to be started is what was ordered; what was started until now is the earlier one.
void LinkState::follow(const plugin_link::Reconfigure& order) {
  auto& options = memory_->options;
  memory_->earlier = {std::exchange(options.make_peer, order.make_peer),
                      std::exchange(options.config, order.config),
                      std::exchange(options.locations, order.locations),
                      std::exchange(options.api, order.api),
                      memory_->declaration,
                      order.check};
  memory_->was_configured = false;
}

/// So that all that follows ends in time: what is open, the end of the old one, the configuration.
Nanoseconds LinkState::most_successor_patience() const {
  return plugin_link::longest_upgrade - most_replace_waits * replace_interval
         - options().patience.stop - options().patience.configuration - 1s;
}

actor::Answer<plugin_link::Reconfigured> LinkState::start_next(
    const plugin_link::Reconfigure& order) {
  next_ = Successor{};
  next_->order = order;
  next_->promise = self_->make_response_promise<plugin_link::Reconfigured>();
  const auto life = ++last_life_;
  next_->life.begin(life, now());
  const auto promise = next_->promise;
  next_->life.take(peer_of(order.make_peer, life));
  const auto most = most_successor_patience();
  next_->patience = std::min<Nanoseconds>(successor_patience * memory_->patience, most);
  actor::send_self_after(self_, next_->patience, link_event::StageDue{life, PluginState::starting});
  actor::send_self_after(self_,
                         plugin_link::longest_upgrade - options().patience.configuration - 1s,
                         link_event::UpgradeDue{life});
  return promise;
}

void LinkState::next_received(link_event::Received& msg) {
  if (next_->life.peer() == nullptr) return;
  const auto frame = *msg.frame;
  next_->life.peer()->handled(msg.bytes);
  if (frame.isLog()) return reports_->line(frame.getLog(), now());
  if (!frame.isDeclaration() || next_->declaration)
    return drop_next({Errc::rejected, "it spoke before it was asked anything"});
  next_declared(frame.getDeclaration());
}

void LinkState::next_declared(schema::plugin::Declaration::Reader declaration) {
  const auto usable = [&]() -> Result<> {
    const auto& order = next_->order;
    NOMAD_TRY(check_declaration(declaration, options().name));
    NOMAD_TRY(check_config(options().name, declaration.getConfig(), order.config, order.locations));
    if (order.check) NOMAD_TRY(order.check(declaration));
    NOMAD_TRY(check_names(declaration));
    return next_->life.peer()->has_drivers(declaration.getDrivers().size() > 0);
  };
  if (const auto outcome = usable(); !outcome) return drop_next(outcome.error());
  next_->declaration = Object<schema::plugin::Declaration>::freeze(declaration);
  if (!life_.is_there()) return take_over();
  replacing_ = true;
  if (life_.runs()) replace_due({life_.number(), 0});
}

void LinkState::next_due() {
  if (next_->declaration) return;
  drop_next({Errc::timeout,
             fmt::format("it did not say what it is within {}", format_duration(next_->patience))});
}

void LinkState::upgrade_due(const link_event::UpgradeDue& msg) {
  if (is_next(msg.life)) drop_next({Errc::timeout, "the present one did not end in time"});
}

void LinkState::next_ended(const link_event::Ended& msg) {
  if (next_->life.ended(msg.why, now())) actor::send_self(self_, link_event::ReapDue{msg.life});
}

void LinkState::next_reaped(const link_event::ReapDue& msg) {
  if (const auto why = next_->life.reap(now())) return drop_next({Errc::unavailable, *why});
  actor::send_self_after(self_, 10ms, link_event::ReapDue{msg});
}

/// The present one goes on; or begins anew, if it has been asked to end.
void LinkState::drop_next(const Error& why) {
  const auto dropped = std::exchange(next_, {});
  log::error("plugin", "the plugin goes on as it was",
             {{"plugin", options().name}, {"error", why}});
  if (replacing_ && life_.runs() && !stops_) {
    replacing_ = false;
    if (state_ == PluginState::running) waiting_.admit();
  }
  dropped->promise.deliver(why);
}

/// Nothing more is asked of the present one; it ends when it has answered.
void LinkState::replace_due(const link_event::ReplaceDue& msg) {
  if (!life_.is(msg.life) || !replacing_ || !life_.runs()) return;
  const bool is_busy = questions_.open() > (questions_.is_open(ping_) ? 1U : 0U);
  if (is_busy && msg.waited < most_replace_waits) {
    actor::send_self_after(self_, msg.waited == 0 ? first_replace_interval : replace_interval,
                           link_event::ReplaceDue{msg.life, msg.waited + 1});
    return;
  }
  stops_ = true;
  shut_down();
}

/// The successor is the plugin's process from now on.
void LinkState::take_over() {
  auto next = std::move(*std::exchange(next_, {}));
  follow(next.order);
  memory_->declaration = next.declaration;
  reconfiguring_ = next.promise;
  life_ = std::move(next.life);
  begin_anew();
  log::info("plugin", "another version has taken over",
            {{"plugin", options().name},
             {"version", view(next.declaration->getVersion())},
             {"previous", view(memory_->earlier->declaration->getVersion())}});
  enter_api();
  update([&](PluginStatus& status) {
    status.pid = next.pid;
    status.declaration = next.declaration;
  });
  set_state(PluginState::configuring);  // There is a way back: its drivers stay.
  if (const auto entered = enter_names(*next.declaration); !entered)
    return life_.kill(entered.error().what);
  configure();
}

/// Whether there is an earlier one to go back to, which is what is to be started next.
bool LinkState::fall_back(const std::string& why) {
  if (!memory_->earlier) return false;
  auto earlier = *std::exchange(memory_->earlier, {});
  log::error("plugin", "what was to follow has failed; the earlier version begins anew",
             {{"plugin", options().name},
              {"version", view(earlier.declaration->getVersion())},
              {"error", why}});
  memory_->options.make_peer = std::move(earlier.make_peer);
  memory_->options.config = std::move(earlier.config);
  memory_->options.locations = std::move(earlier.locations);
  memory_->options.api = std::move(earlier.api);
  memory_->declaration = std::move(earlier.declaration);
  memory_->was_configured = true;
  retire_names();
  update([&](PluginStatus& status) {
    status.declaration = memory_->declaration;
    status.problem = why;
  });
  std::exchange(reconfiguring_, {}).deliver(Error{Errc::rejected, why});
  return true;
}

Result<> LinkState::enter_names(schema::plugin::Declaration::Reader declaration) {
  NOMAD_TRY(enter_types(options().job_types, declaration, server::Decider{self_}));
  return enter_providers(options().providers, declaration, client::ServiceProvider{self_});
}

/// As entering does, that changes nothing.
Result<> LinkState::check_names(schema::plugin::Declaration::Reader declaration) const {
  NOMAD_TRY(check_types(options().job_types, declaration));
  return check_providers(options().providers, declaration);
}

/// What it does not bring any more is nobody's; what it brings still was never missing.
void LinkState::retire_names() const {
  std::set<std::string> types, providers;
  for (const auto each : memory_->declaration->getSchedulers())
    types.insert(copy(each.getType()));
  for (const auto each : memory_->declaration->getServiceProviders())
    providers.insert(copy(each.getName()));
  if (options().job_types) options().job_types->keep_only(options().name, types);
  if (options().providers) options().providers->keep_only(options().name, providers);
}

}  // namespace nomad::plugin
