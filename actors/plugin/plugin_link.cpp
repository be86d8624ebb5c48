#include "actors/plugin/plugin_link.hpp"

#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "actors/core/actor_registry.hpp"
#include "actors/core/supervise.hpp"
#include "actors/plugin/config_location.hpp"
#include "actors/plugin/gather_facts.hpp"
#include "actors/plugin/job_schedulers.hpp"
#include "actors/plugin/link_state.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/declared.hpp"
#include "runtime/plugin/said.hpp"

namespace nomad::plugin {
namespace {

using namespace std::chrono_literals;
using namespace link_event;
using FrameBuilder = schema::plugin::Frame::Builder;
using Message = schema::plugin::Frame;

constexpr auto incoming_pause = 100ms;
constexpr auto reap_interval = 10ms;
constexpr unsigned most_pong_waits = 3;
/// For drivers to find their tasks again. Nothing else is asked meanwhile.
constexpr auto recovery_patience = 30s;
constexpr auto most_patience = std::chrono::minutes{2};

}  // namespace

// -- the process ----------------------------------------------------------------------------------

void LinkState::init(const std::shared_ptr<LinkMemory>& memory) {
  memory_ = memory;
  actor::set_about(*self_, options().name);
  reports_.emplace(options().name, options().states, options().metrics);
  // Those who stood for drivers asked a process that an earlier incarnation has taken with it.
  for (const auto& [driver, actor] : std::exchange(memory_->drivers, {}))
    actor::kill(actor);
  memory_->earlier.reset();
  if (memory_->patience.count() == 0) memory_->patience = options().patience.declaration;
  if (memory_->refusal.empty())
    spawn();
  else
    state_ = PluginState::refused;
}

void LinkState::spawn() {
  if (last_life_ == 0) last_life_ = self_->seed(0);
  const auto life = ++last_life_;
  life_.begin(life, now());
  begin_anew();
  memory_->refusal.clear();
  set_state(PluginState::starting);
  enter_api();
  life_.take(peer_of(options().make_peer, life));
  actor::send_self_after(self_, memory_->patience, StageDue{life, PluginState::starting});
}

/// Nothing is left of what an earlier process has said.
void LinkState::begin_anew() {
  incoming_.clear();
  paused_ = false;
  ping_ = 0;
  replacing_ = false;
  stops_ = false;
  recovers_ = false;
  retries_ = false;
}

std::unique_ptr<PluginPeer> LinkState::peer_of(const MakePeer& make, std::uint64_t life) {
  return make(events_of(life, [weak = actor::weak(LinkSelf{self_})](auto message) {
    if (const auto link = weak.lock()) actor::tell(link, std::move(message));
  }));
}

/// The requests of the present process.
void LinkState::enter_api() {
  calls_ = std::make_unique<ApiCalls>(
      options().api_turns, options().name,
      [weak = actor::weak(LinkSelf{self_}), life = life_.number()](ApiCalls::Heard what) {
        if (const auto link = weak.lock()) actor::tell(link, ApiHeard{life, std::move(what)});
      },
      [this](const Fill& fill) { static_cast<void>(send(fill)); });
  if (memory_->served) calls_->open(memory_->served->gate, options().api);
}

void LinkState::started(const Started& msg) {
  if (is_next(msg.life)) next_->pid = msg.pid;
  if (life_.is(msg.life)) update([&](PluginStatus& status) { status.pid = msg.pid; });
}

void LinkState::ended(const Ended& msg) {
  if (is_next(msg.life)) return next_ended(msg);
  if (!life_.is(msg.life) || !life_.ended(msg.why, now())) return;
  drivers_.leave_recovery();
  questions_.end({Errc::unavailable, fmt::format("{} has ended", title())});
  commands_.end(fmt::format("{} has ended", title()));
  const bool is_followed = replacing_ || (memory_->earlier && state_ == PluginState::configuring);
  if (!is_followed) drivers_.end();
  actor::send_self(self_, ReapDue{msg.life});
}

/// What became of the process says more than that it hung up.
void LinkState::reaped(const ReapDue& msg) {
  if (is_next(msg.life)) return next_reaped(msg);
  if (!life_.is(msg.life) || !life_.is_there()) return;
  const auto why = life_.reap(now());
  if (!why) {
    actor::send_self_after(self_, reap_interval, ReapDue{msg});
    return;
  }
  calls_.reset();
  for (const auto& promise : std::exchange(stopping_, {}))
    promise.deliver(plugin_link::Stopped{});
  if (stopped_) return;
  if (replacing_) return next_ && next_->declaration ? take_over() : spawn();
  if (state_ == PluginState::refused) return;
  if (fall_back(*why)) return spawn();
  if (!memory_->declaration) return refuse(*why, true);  // It has never worked.
  const auto delay = delay_.after(life_.lived(now()));
  log::error("plugin", "the plugin's process ended; another follows",
             {{"plugin", options().name}, {"delay", format_duration(delay)}, {"error", *why}});
  update([](PluginStatus& status) { ++status.restarts; });
  set_state(PluginState::restarting, *why);
  actor::send_self_after(self_, delay, RespawnDue{msg.life});
}

void LinkState::set_state(PluginState state, const std::string& problem) {
  state_ = state;
  update([&](PluginStatus& status) {
    status.state = state;
    status.since = options().unix_now();
    if (!problem.empty()) status.problem = problem;
    if (state == PluginState::restarting || state == PluginState::refused) status.pid = 0;
  });
}

void LinkState::refuse(const std::string& why, bool may_pass) {
  if (state_ == PluginState::refused) return;
  if (next_) drop_next({Errc::rejected, why});
  memory_->earlier.reset();
  std::exchange(reconfiguring_, {}).deliver(Error{Errc::rejected, why});
  memory_->refusal = why;
  retries_ = may_pass;
  if (may_pass) {
    const auto delay = delay_.after(life_.lived(now()));
    log::error("plugin", "the plugin is refused, and tried again",
               {{"plugin", options().name}, {"delay", format_duration(delay)}, {"error", why}});
    actor::send_self_after(self_, delay, RespawnDue{life_.number()});
  } else {
    log::error("plugin", "the plugin is refused", {{"plugin", options().name}, {"error", why}});
  }
  set_state(PluginState::refused, why);
  forget_names();
  const Error refused{Errc::rejected, fmt::format("{} is refused: {}", title(), why)};
  questions_.end(refused);
  waiting_.fail_all(refused);
  incoming_.clear();
  life_.kill(why);
}

/// What begins can't be used: the one before it begins anew, if there is one that has worked.
void LinkState::reject(const std::string& why, bool may_pass) {
  if (memory_->earlier) return life_.kill(why);
  refuse(why, may_pass);
}

void LinkState::stage_due(const StageDue& msg) {
  if (is_next(msg.life)) return next_due();
  if (!life_.is(msg.life) || state_ != msg.stage || !life_.runs()) return;
  if (recovers_) return;  // it was configured in time
  const auto time = format_duration(
      msg.stage == PluginState::starting ? memory_->patience : options().patience.configuration);
  const auto why = msg.stage == PluginState::starting
                       ? fmt::format("it did not say what it is within {}", time)
                       : fmt::format("it did not take its configuration within {}", time);
  // A busy machine is no fault of the plugin's.
  if (msg.stage == PluginState::starting)
    memory_->patience = std::min<Nanoseconds>(2 * memory_->patience, most_patience);
  if (!memory_->declaration) return reject(why, true);
  life_.kill(why);
}

void LinkState::recovery_due(const RecoveryDue& msg) {
  if (!life_.is(msg.life) || !life_.runs() || !recovers_) return;
  drivers_.give_up_recovery(
      {Errc::timeout, fmt::format("no answer within {}", format_duration(recovery_patience))});
}

// -- frames ---------------------------------------------------------------------------------------

Result<> LinkState::send(const Fill& fill) {
  if (!life_.runs()) return Error{Errc::unavailable, fmt::format("{} does not run", title())};
  Draft<schema::plugin::Frame> draft;
  fill(*draft);
  std::string bytes;
  NOMAD_TRY(append_frame(bytes, draft.freeze()));
  life_.peer()->send(std::move(bytes));
  update([](PluginStatus& status) { ++status.frames_out; });
  return {};
}

/// At once, or when there is a process that is configured.
void LinkState::when_running(PendingRequests::Request request) {
  if (state_ == PluginState::running && life_.runs() && !replacing_) return request.ask();
  if (stopped_) return request.fail({Errc::unavailable, fmt::format("{} ends", title())});
  if (state_ == PluginState::refused)
    return request.fail({Errc::rejected, fmt::format("{} is refused", title())});
  if (!waiting_.add(request))
    request.fail({Errc::overloaded, fmt::format("{} does not run, and too many wait", title())});
}

void LinkState::received(Received& msg) {
  if (is_next(msg.life)) return next_received(msg);
  if (!life_.is(msg.life) || !life_.is_heard()) return;
  incoming_.add(std::move(msg.frame), msg.bytes);
  drain();
}

/// Looks at what may be looked at; what is left counts against the window of what is read.
void LinkState::drain() {
  const auto is_free = [this](Message::Reader frame) { return questions_.awaits(frame); };
  std::uint64_t count = 0;
  while (life_.is_heard()) {
    const auto said = incoming_.next(now(), is_free);
    if (!said) break;
    ++count;
    if (!questions_.answer(*said->frame)) take(*said->frame);
    if (life_.runs()) life_.peer()->handled(said->bytes);
  }
  const bool pauses = incoming_.is_waiting() && !std::exchange(paused_, incoming_.is_waiting());
  update([count, pauses](PluginStatus& status) {
    status.frames_in += count;
    status.delays += pauses ? 1 : 0;
  });
  if (pauses) actor::send_self_after(self_, incoming_pause, PauseOver{life_.number()});
}

void LinkState::pause_over(const PauseOver& msg) {
  if (!life_.is(msg.life) || !life_.runs()) return;
  paused_ = false;
  drain();
}

void LinkState::take(Message::Reader frame) {
  if (frame.isDeclaration()) return declared(frame.getDeclaration());
  if (state_ == PluginState::starting) return life_.kill("it spoke before it said what it is");
  const auto number = frame.getNumber();
  switch (frame.which()) {
    case Message::LOG:
      return reports_->line(frame.getLog(), now());
    case Message::METRIC:
      return reports_->metric(frame.getMetric());
    case Message::HOOK_NOTICE:
      if (!frame.getHookNotice().getNotice().isEvent() || reports_->takes_event(now()))
        hooks_.take_notice(frame.getHookNotice(), options().unix_now());
      return;
    case Message::DRIVER_NOTICE:
      if (!frame.getDriverNotice().isEvent() || reports_->takes_event(now()))
        drivers_.take_notice(frame.getDriverNotice(), options().unix_now());
      return;
    case Message::EXEC_BYTES:
    case Message::EXEC_TAKEN:
    case Message::EXEC_ENDED:
      return commands_.take(frame);
    case Message::ASK_AGENT:
      return hooks_.take_question(number, frame.getAskAgent());
    case Message::REQUEST:
      return calls_->request(number, frame.getRequest(), false);
    case Message::SUBSCRIBE:
      return calls_->request(number, frame.getSubscribe(), true);
    case Message::STREAM_TAKEN:
      return calls_->taken(frame.getStreamTaken().getNumber(), frame.getStreamTaken().getBytes());
    case Message::UNSUBSCRIBE:
      return calls_->unsubscribe(frame.getUnsubscribe());
    case Message::NODE_EVENT:
      if (memory_->served && memory_->served->node_event && reports_->takes_event(now()))
        memory_->served->node_event(said(view(frame.getNodeEvent().getMessage())),
                                    said_details(frame.getNodeEvent().getDetails()));
      return;
    default:
      break;
  }
  // An answer that comes too late, or a question that is newer than this agent.
  if (number != 0 && frame.which() > Message::API_ANSWER && !is_answer(frame))
    questions_.refuse(number, {Errc::invalid_argument, "this agent is older than the question"});
}

// -- what it is -----------------------------------------------------------------------------------

void LinkState::declared(schema::plugin::Declaration::Reader declaration) {
  if (state_ != PluginState::starting) return life_.kill("it said twice what it is");
  auto object = Object<schema::plugin::Declaration>::freeze(declaration);
  if (const auto outcome = check_declaration(*object, options().name); !outcome)
    return reject(outcome.error().what);
  if (memory_->earlier && memory_->earlier->check)
    if (const auto outcome = memory_->earlier->check(*object); !outcome)
      return reject(outcome.error().what);
  auto& known = memory_->declaration;
  // Of a script that was changed meanwhile: who is to be asked what is settled when plugins are
  // looked at, and nothing is asked of one that has not been.
  if (known && !known.equals(object))
    return refuse("its file is another one than when it was looked at; SIGHUP looks at it again");
  if (const auto entered = enter_names(*object); !entered) return reject(entered.error().what);
  if (!known) known = object;  // else the same, for whoever compares
  if (const auto bounded = life_.peer()->has_drivers(object->getDrivers().size() > 0); !bounded)
    return reject(bounded.error().what);
  configure();  // Before the declaration is seen: who waits for it sees what follows from it.
  update([&](PluginStatus& status) { status.declaration = known; });
}

void LinkState::configure() {
  const auto config = check_config(options().name, memory_->declaration->getConfig(),
                                   options().config, options().locations);
  if (!config) return reject(config.error().what);
  set_state(PluginState::configuring);
  actor::send_self_after(self_, options().patience.configuration,
                         StageDue{life_.number(), PluginState::configuring});
  ask(
      [&](FrameBuilder frame) {
        auto to = frame.initConfigure();
        const auto json = boost::json::serialize(*config);
        to.setConfig(text(json));
        to.setAgentVersion(NOMADCTL_VERSION);
        to.setDataDir(text(options().data_dir));
        to.setNode(text(options().node));
        to.setClient(options().has_client);
        to.setServer(options().has_server);
      },
      [this](Message::Reader) { configured(); },
      [this](const Error& err) {
        if (!life_.runs()) return;
        // What it says as the check of fields does may name one.
        const auto& locations = options().locations;
        const auto wrong = config_error(err.what, locations);
        const auto why = "its configuration is wrong: "
                         + (wrong ? location_error(options().name, *wrong, locations) : err.what);
        // What an earlier process has taken is right; something else is wrong, and may pass.
        if (memory_->was_configured || memory_->earlier)
          life_.kill(why);
        else
          refuse(why, true);
      });
}

void LinkState::configured() {
  memory_->was_configured = true;
  memory_->patience = options().patience.declaration;
  if (std::exchange(memory_->earlier, {})) retire_names();
  actor::send_self_after(self_, options().patience.ping_interval, PingDue{life_.number()});
  // It has taken the earlier one's place: whoever wants another one yet need not wait.
  std::exchange(reconfiguring_, {}).deliver(plugin_link::Reconfigured{});
  // Tasks of drivers that nobody has taken for ended are the process's before anything else is.
  recovers_ = true;
  actor::send_self_after(self_, recovery_patience, RecoveryDue{life_.number()});
  drivers_.recover([this, life = life_.number()] {
    if (life_.is(life) && life_.runs()) runs();
  });
}

void LinkState::runs() {
  recovers_ = false;
  log::info("plugin", "the plugin runs",
            {{"plugin", options().name}, {"version", view(memory_->declaration->getVersion())}});
  set_state(PluginState::running);
  for (const auto fingerprinter : memory_->declaration->getFingerprinters())
    actor::send_self(self_, FactsDue{life_.number(), copy(fingerprinter.getName())});
  if (memory_->served && memory_->served->gate) start_actors();
  if (!replacing_) waiting_.admit();
  if (!options().providers) return;
  for (const auto each : memory_->declaration->getServiceProviders())
    options().providers->began(copy(each.getName()));
}

/// It is not used any more: nobody is to find what it brings.
void LinkState::forget_names() const {
  if (options().job_types) options().job_types->forget(options().name);
  if (options().providers) options().providers->forget(options().name);
}

void LinkState::start_actors() {
  if (memory_->declaration->getActors().size() == 0) return;
  ask([](FrameBuilder frame) { frame.setStartActors(); }, [](Message::Reader) {},
      [this](const Error& err) {
        if (life_.runs()) life_.kill("its actors did not start: " + err.what);
      });
}

void LinkState::serve(const plugin_link::Serve& msg) {
  memory_->served = msg;
  if (calls_) calls_->open(msg.gate, options().api);
  if (calls_ && !msg.gate) calls_->end_all();
  if (msg.gate && state_ == PluginState::running && life_.runs()) start_actors();
}

/// Asked again when it has answered, at its interval.
void LinkState::facts_due(const FactsDue& msg) {
  if (!life_.is(msg.life) || !life_.runs()) return;
  Nanoseconds interval{0};
  for (const auto each : memory_->declaration->getFingerprinters())
    if (view(each.getName()) == msg.fingerprinter) interval = Nanoseconds{each.getInterval()};
  gather_facts(
      questions_, options().facts, options().name, msg.fingerprinter, [this, msg, interval] {
        if (interval.count() > 0)
          actor::send_self_after(self_, std::max<Nanoseconds>(1s, interval), FactsDue{msg});
      });
}

// -- whether it lives -----------------------------------------------------------------------------

void LinkState::ping_due(const PingDue& msg) {
  if (!life_.is(msg.life) || !life_.runs()) return;
  ping_ = ask([](FrameBuilder frame) { frame.setPing(); },
              [this, life = msg.life](Message::Reader) {
                actor::send_self_after(self_, options().patience.ping_interval, PingDue{life});
              },
              [](const Error&) {});
  actor::send_self_after(self_, options().patience.ping, PongDue{msg.life, ping_});
}

void LinkState::pong_due(const PongDue& msg) {
  if (!life_.is(msg.life) || !life_.runs() || !questions_.is_open(msg.ping)) return;
  if (incoming_.is_waiting() && msg.waited < most_pong_waits) {  // What it said is not read yet.
    actor::send_self_after(self_, options().patience.ping,
                           PongDue{msg.life, msg.ping, msg.waited + 1});
    return;
  }
  life_.kill(fmt::format("it answered nothing for {}", format_duration(options().patience.ping)));
}

/// Asks the process to end; it is killed if it does not.
void LinkState::shut_down() {
  ask([](FrameBuilder frame) { frame.setShutdown(); }, [](Message::Reader) {}, [](const Error&) {});
  actor::send_self_after(self_, options().patience.stop, StopDue{life_.number()});
}

actor::Answer<plugin_link::Stopped> LinkState::stop() {
  const bool is_first = !std::exchange(stopped_, true);
  if (next_) drop_next({Errc::cancelled, fmt::format("{} ends", title())});
  forget_names();
  waiting_.fail_all({Errc::unavailable, fmt::format("{} ends", title())});
  if (!life_.is_there()) return plugin_link::Stopped{};
  stopping_.push_back(self_->make_response_promise<plugin_link::Stopped>());
  auto answer = stopping_.back();
  if (is_first && life_.runs()) shut_down();
  return answer;
}

void LinkState::stop_due(const StopDue& msg) {
  if (life_.is(msg.life) && life_.runs()) life_.kill("it did not end in time");
}

// -- hooks and drivers ----------------------------------------------------------------------------

actor::Answer<client::hook::Answered> LinkState::run_hook(plugin_link::RunHook& msg) {
  auto promise = self_->make_response_promise<client::hook::Answered>();
  when_running({.ask = [this, msg, promise] { hooks_.run(msg, promise, title()); },
                .fail = [promise](const Error& err) { promise.deliver(err); },
                .instance = msg.instance});
  return promise;
}

actor::Answer<client::hook::Settled> LinkState::cancel_hook(const plugin_link::CancelHook& msg) {
  waiting_.fail(msg.instance, {Errc::cancelled, "it was cancelled before it was asked"});
  if (!life_.runs()) return client::hook::Settled{};
  return hooks_.cancel(msg.instance,
                       [this] { return self_->make_response_promise<client::hook::Settled>(); });
}

void LinkState::close_hook(const plugin_link::CloseHook& msg) {
  waiting_.fail(msg.instance, {Errc::cancelled, "the hook is over"});
  hooks_.close(msg.instance);
}

void LinkState::serve_driver(const plugin_link::ServeDriver& msg) {
  memory_->drivers[msg.driver] = msg.actor;
  drivers_.serve(msg.driver, msg.actor, msg.agent);
}

actor::Answer<client::driver::Answered> LinkState::ask_driver(plugin_link::AskDriver& msg) {
  auto promise = self_->make_response_promise<client::driver::Answered>();
  const auto orders = [weak = actor::weak(LinkSelf{self_})](plugin_link::ExecOrder order) {
    if (const auto link = weak.lock()) actor::tell(link, std::move(order));
  };
  when_running({.ask = [this, msg, orders,
                        promise] { drivers_.ask(msg.driver, msg.request, orders, promise); },
                .fail = [promise](const Error& err) { promise.deliver(err); }});
  return promise;
}

actor::Answer<server::decider::Decided> LinkState::decide(server::decider::Decide& msg) {
  auto promise = self_->make_response_promise<server::decider::Decided>();
  when_running({.ask = [this, msg, promise] { ask_decision(questions_, msg, promise); },
                .fail = [promise](const Error& err) { promise.deliver(err); }});
  return promise;
}

// -- providers of services ------------------------------------------------------------------------

actor::Answer<client::service_provider::Done> LinkState::register_services(
    client::service_provider::Register& msg) {
  auto promise = self_->make_response_promise<client::service_provider::Done>();
  when_running({.ask = [this, msg, promise] { ask_to_register(questions_, msg, promise); },
                .fail = [promise](const Error& err) { promise.deliver(err); }});
  return promise;
}

actor::Answer<client::service_provider::Done> LinkState::deregister_services(
    client::service_provider::Deregister& msg) {
  auto promise = self_->make_response_promise<client::service_provider::Done>();
  when_running({.ask = [this, msg, promise] { ask_to_deregister(questions_, msg, promise); },
                .fail = [promise](const Error& err) { promise.deliver(err); }});
  return promise;
}

void LinkState::checks_changed(const client::service_provider::ChecksChanged& msg) {
  if (state_ == PluginState::running && life_.runs()) tell_of_checks(questions_, msg);
}

// -- what it tells --------------------------------------------------------------------------------

void LinkState::wrote(const Wrote& msg) {
  if (!life_.is(msg.life)) return;
  reports_->dropped(msg.dropped);
  if (msg.line.empty()) return;
  reports_->line(log::Level::info, msg.line, now());
  life_.wrote(msg.line);
}

namespace {

LinkSelf::behavior_type plugin_link_actor(LinkSelf::stateful_pointer<LinkState> self,
                                          const std::shared_ptr<LinkMemory>& memory) {
  auto& state = self->state;
  state.init(memory);
  return {
      [&state](plugin_link::RunHook& msg) { return state.run_hook(msg); },
      [&state](const plugin_link::CancelHook& msg) { return state.cancel_hook(msg); },
      [&state](const plugin_link::CloseHook& msg) { state.close_hook(msg); },
      [&state](const plugin_link::TasksChanged& msg) { state.tasks_changed(msg); },
      [&state](const plugin_link::ServeDriver& msg) { state.serve_driver(msg); },
      [&state](plugin_link::AskDriver& msg) { return state.ask_driver(msg); },
      [&state](server::decider::Decide& msg) { return state.decide(msg); },
      [&state](client::service_provider::Register& msg) { return state.register_services(msg); },
      [&state](client::service_provider::Deregister& msg) {
        return state.deregister_services(msg);
      },
      [&state](const client::service_provider::ChecksChanged& msg) { state.checks_changed(msg); },
      [&state](const plugin_link::ExecOrder& msg) { state.exec_ordered(msg); },
      [&state](const plugin_link::Serve& msg) { state.serve(msg); },
      [&state](const plugin_link::Reconfigure& msg) { return state.reconfigure(msg); },
      [&state](const plugin_link::Refuse& msg) { state.refuse(msg.why); },
      [&state](const plugin_link::Stop&) { return state.stop(); },
      [&state](const Started& msg) { state.started(msg); },
      [&state](Received& msg) { state.received(msg); },
      [&state](const Wrote& msg) { state.wrote(msg); },
      [&state](const Ended& msg) { state.ended(msg); },
      [&state](const ApiHeard& msg) { state.api_heard(msg); },
      [&state](const StageDue& msg) { state.stage_due(msg); },
      [&state](const RecoveryDue& msg) { state.recovery_due(msg); },
      [&state](const PingDue& msg) { state.ping_due(msg); },
      [&state](const PongDue& msg) { state.pong_due(msg); },
      [&state](const StopDue& msg) { state.stop_due(msg); },
      [&state](const RespawnDue& msg) { state.respawn_due(msg); },
      [&state](const ReapDue& msg) { state.reaped(msg); },
      [&state](const PauseOver& msg) { state.pause_over(msg); },
      [&state](const FactsDue& msg) { state.facts_due(msg); },
      [&state](const UpgradeDue& msg) { state.upgrade_due(msg); },
      [&state](const ReplaceDue& msg) { state.replace_due(msg); },
  };
}

}  // namespace

PluginLink spawn_plugin_link(const actor::Owner& owner, LinkOptions options) {
  auto memory = std::make_shared<LinkMemory>();
  memory->options = std::move(options);
  return actor::spawn<actor::Policy::restart>(owner, plugin_link_actor, std::move(memory));
}

}  // namespace nomad::plugin
