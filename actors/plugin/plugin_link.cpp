#include "actors/plugin/plugin_link.hpp"

#include <deque>
#include <optional>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "actors/client/drivers/config_schema.hpp"
#include "actors/core/supervise.hpp"
#include "actors/plugin/allowance.hpp"
#include "actors/plugin/api_calls.hpp"
#include "actors/plugin/config_place.hpp"
#include "actors/plugin/driver_seats.hpp"
#include "actors/plugin/hook_instances.hpp"
#include "actors/plugin/questions.hpp"
#include "actors/plugin/reports.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/plugin/declared.hpp"
#include "runtime/workload/respawn_delay.hpp"

namespace nomad::plugin {

void PluginFacts::set(const std::string& fingerprinter, Attributes facts) {
  const std::lock_guard lock{guard_};
  facts_[fingerprinter] = std::move(facts);
}

PluginFacts::Attributes PluginFacts::get(const std::string& fingerprinter) const {
  const std::lock_guard lock{guard_};
  const auto found = facts_.find(fingerprinter);
  return found == facts_.end() ? Attributes{} : found->second;
}

namespace {

using namespace std::chrono_literals;
using FrameBuilder = schema::plugin::Frame::Builder;
using Message = schema::plugin::Frame;
using Fill = Questions::Fill;

constexpr std::size_t most_waiting = 4096;
constexpr std::size_t most_attributes = 256;
constexpr auto fault_pause = 100ms;
constexpr auto reap_interval = 10ms;
constexpr auto reap_patience = 500ms;

std::map<std::string, std::string> entries_of(capnp::List<schema::TextEntry>::Reader list) {
  std::map<std::string, std::string> made;
  read_entries(list, made);
  return made;
}

// -- what the actor tells itself. `life` is that of the process that it is about.

struct Started {
  using is_message = void;
  std::uint64_t life = 0;
  int pid = 0;
};

struct Received {
  using is_message = void;
  std::uint64_t life = 0;
  Frame frame;
  std::size_t bytes = 0;
};

struct Wrote {
  using is_message = void;
  std::uint64_t life = 0;
  std::string line;
};

struct Ended {
  using is_message = void;
  std::uint64_t life = 0;
  Error why;
};

struct ApiHeard {
  using is_message = void;
  std::uint64_t life = 0;
  ApiCalls::Heard what;
};

struct StageDue {
  using is_message = void;
  std::uint64_t life = 0;
  PluginState stage{};
};

struct PingDue {
  using is_message = void;
  std::uint64_t life = 0;
};

struct PongDue {
  using is_message = void;
  std::uint64_t life = 0;
  std::uint64_t ping = 0;
};

struct StopDue {
  using is_message = void;
};

struct RespawnDue {
  using is_message = void;
  std::uint64_t life = 0;
};

struct ReapDue {
  using is_message = void;
  std::uint64_t life = 0;
  std::chrono::steady_clock::time_point since{};
};

struct PauseOver {
  using is_message = void;
  std::uint64_t life = 0;
};

struct FactsDue {
  using is_message = void;
  std::uint64_t life = 0;
  std::string fingerprinter;
};

using LinkSelf = actor::WithInternal<PluginLink,
                                     void(Started),
                                     void(Received),
                                     void(Wrote),
                                     void(Ended),
                                     void(ApiHeard),
                                     void(StageDue),
                                     void(PingDue),
                                     void(PongDue),
                                     void(StopDue),
                                     void(RespawnDue),
                                     void(ReapDue),
                                     void(PauseOver),
                                     void(FactsDue)>;

class LinkState {
public:
  static constexpr const char* name = "plugin_link";

  explicit LinkState(LinkSelf::pointer self) : self_{self} {}

  void init(const LinkOptions& options);

  actor::Answer<client::hook::Answered> run_hook(plugin_link::RunHook& msg);

  actor::Answer<client::hook::Settled> cancel_hook(const plugin_link::CancelHook& msg) {
    if (end_) return client::hook::Settled{};
    return hooks_.cancel(msg.instance,
                         [this] { return self_->make_response_promise<client::hook::Settled>(); });
  }

  HookInstances& hooks() { return hooks_; }

  DriverSeats& drivers() { return drivers_; }

  actor::Answer<client::driver::Answered> ask_driver(plugin_link::AskDriver& msg);
  void serve(const plugin_link::Serve& msg);
  void refuse(const std::string& why);
  actor::Answer<plugin_link::Stopped> stop();

  void started(const Started& msg);
  void received(const Received& msg);
  void wrote(const Wrote& msg);
  void ended(const Ended& msg);
  void reaped(const ReapDue& msg);
  void stage_due(const StageDue& msg);
  void ping_due(const PingDue& msg);
  void pong_due(const PongDue& msg);
  void stop_due();
  void pause_over(const PauseOver& msg);
  void facts_due(const FactsDue& msg);

  void respawn_due(const RespawnDue& msg) {
    if (msg.life == life_ && state_ == PluginState::restarting) spawn();
  }

  void api_heard(const ApiHeard& msg) {
    if (msg.life == life_ && calls_) calls_->heard(msg.what);
  }

private:
  using Failed = Questions::Failed;

  void spawn();
  void fail_process(const std::string& why);
  void set_state(PluginState state, const std::string& problem = {});
  Result<> send(const Fill& fill);

  void ask(const Fill& fill, Questions::Then then, Failed failed) {
    questions_.ask(fill, std::move(then), std::move(failed));
  }

  void when_running(std::function<void()> action, Failed failed);
  void take(Message::Reader frame);
  void declared(schema::plugin::Declaration::Reader declaration);
  void configure();
  void configured();
  void start_actors();
  void throttle(std::size_t bytes);

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  std::string title() const { return fmt::format("plugin {}", options_.name); }

  LinkSelf::pointer self_;
  LinkOptions options_;
  PluginState state_ = PluginState::starting;
  std::uint64_t life_ = 0;  ///< Of the process; counts them.
  Nanoseconds since_{0};    ///< The process's begin.
  std::unique_ptr<PluginPeer> process_;
  std::unique_ptr<ApiCalls> calls_;
  Object<schema::plugin::Declaration> declaration_;
  std::string last_line_;  ///< Of what the process wrote: often why it ended.
  std::string fault_;      ///< Why it was killed.
  std::optional<Error> end_;
  workload::RespawnDelay delay_;

  Questions questions_{[this](const Fill& fill) { return send(fill); }};
  HookInstances hooks_{self_, questions_, life_};
  DriverSeats drivers_{self_, questions_};
  std::optional<Reports> reports_;
  std::deque<std::pair<std::function<void()>, Failed>> waiting_;  ///< Until it runs.
  std::uint64_t ping_ = 0;                                        ///< Which is open.
  std::optional<plugin_link::Serve> served_;
  Allowance frames_{20'000, 2'000};
  std::size_t held_bytes_ = 0;  ///< Handled, but not said so: it has to wait.
  bool paused_ = false;
  std::vector<actor::Promise<plugin_link::Stopped>> stopping_;
};

// -- the process ----------------------------------------------------------------------------------

void LinkState::init(const LinkOptions& options) {
  options_ = options;
  reports_.emplace(options_.name, options_.board, options_.metrics);
  spawn();
}

void LinkState::spawn() {
  const auto life = (life_ == 0 ? self_->seed(0) : life_) + 1;
  life_ = life;
  since_ = now();
  end_.reset();
  fault_.clear();
  last_line_.clear();
  ping_ = 0;
  held_bytes_ = 0;
  paused_ = false;
  const auto weak = actor::weak(LinkSelf{self_});
  const auto tell = [weak](auto message) {
    if (const auto link = weak.lock()) actor::tell(link, std::move(message));
  };
  set_state(PluginState::starting);
  calls_ = std::make_unique<ApiCalls>(
      options_.post, options_.name,
      [tell, life](ApiCalls::Heard what) {
        tell(ApiHeard{life, std::move(what)});
      },
      [this](const Fill& fill) { static_cast<void>(send(fill)); });
  if (served_) calls_->open(served_->gate);
  process_ = options_.make_peer(ProcessEvents{.started =
                                                  [tell, life](int pid) {
                                                    tell(Started{life, pid});
                                                  },
                                              .frame =
                                                  [tell, life](Frame frame, std::size_t bytes) {
                                                    tell(Received{life, std::move(frame), bytes});
                                                  },
                                              .line =
                                                  [tell, life](std::string line) {
                                                    tell(Wrote{life, std::move(line)});
                                                  },
                                              .ended =
                                                  [tell, life](Error why) {
                                                    tell(Ended{life, std::move(why)});
                                                  }});
  actor::send_self_after(self_, options_.patience.declaration,
                         StageDue{life, PluginState::starting});
}

void LinkState::started(const Started& msg) {
  if (msg.life != life_) return;
  options_.board->update(options_.name, [&](PluginStatus& status) { status.pid = msg.pid; });
}

/// It has broken its word: it is killed, and its end leads on.
void LinkState::fail_process(const std::string& why) {
  if (fault_.empty()) fault_ = why;
  if (process_) process_->kill();
}

void LinkState::ended(const Ended& msg) {
  if (msg.life != life_ || end_) return;
  end_ = msg.why;
  const Error why{Errc::unavailable, fmt::format("{} has ended", title())};
  questions_.end(why);
  drivers_.end();
  actor::send_self(self_, ReapDue{life_, self_->now()});
}

/// What became of the process says more than that it hung up.
void LinkState::reaped(const ReapDue& msg) {
  if (!end_ || msg.life != life_ || !process_) return;
  const auto end = process_->reap(self_->now() - msg.since > reap_patience);
  if (end.empty()) {
    actor::send_self_after(self_, reap_interval, ReapDue{msg});
    return;
  }
  process_.reset();
  calls_.reset();
  auto why = fault_.empty() ? end_->what : fault_;
  why += fmt::format(" ({})", end);
  if (!last_line_.empty()) why += ": " + last_line_;
  if (!stopping_.empty()) {
    for (const auto& promise : std::exchange(stopping_, {}))
      promise.deliver(plugin_link::Stopped{});
    return;
  }
  if (state_ == PluginState::refused) return;
  if (!declaration_) return refuse(why);  // It has never worked.
  const auto delay = delay_.after(now() - since_);
  log::error("plugin", "{}: its process ended: {}; another follows in {}", title(), why,
             format_duration(delay));
  options_.board->update(options_.name, [](PluginStatus& status) { ++status.restarts; });
  set_state(PluginState::restarting, why);
  actor::send_self_after(self_, delay, RespawnDue{life_});
}

void LinkState::set_state(PluginState state, const std::string& problem) {
  state_ = state;
  options_.board->update(options_.name, [&](PluginStatus& status) {
    status.state = state;
    status.since = options_.unix_now();
    if (!problem.empty()) status.problem = problem;
    if (state == PluginState::restarting || state == PluginState::refused) status.pid = 0;
  });
}

void LinkState::refuse(const std::string& why) {
  if (state_ == PluginState::refused) return;
  log::error("plugin", "{} is refused: {}", title(), why);
  set_state(PluginState::refused, why);
  const Error refused{Errc::rejected, fmt::format("{} is refused: {}", title(), why)};
  questions_.end(refused);
  for (const auto& [action, failed] : std::exchange(waiting_, {}))
    failed(refused);
  if (process_) process_->kill();
}

void LinkState::stage_due(const StageDue& msg) {
  if (msg.life != life_ || state_ != msg.stage || end_) return;
  const auto time
      = format_duration(msg.stage == PluginState::starting ? options_.patience.declaration
                                                           : options_.patience.configuration);
  const auto why = msg.stage == PluginState::starting
                       ? fmt::format("it did not say what it is within {}", time)
                       : fmt::format("it did not take its configuration within {}", time);
  if (!declaration_) return refuse(why);
  fail_process(why);
}

// -- frames ---------------------------------------------------------------------------------------

Result<> LinkState::send(const Fill& fill) {
  if (!process_ || end_) return Error{Errc::unavailable, fmt::format("{} does not run", title())};
  Draft<schema::plugin::Frame> draft;
  fill(*draft);
  std::string bytes;
  NOMAD_TRY(append_frame(bytes, draft.freeze()));
  process_->send(std::move(bytes));
  options_.board->update(options_.name, [](PluginStatus& status) { ++status.frames_out; });
  return {};
}

/// At once, or when there is a process that is configured.
void LinkState::when_running(std::function<void()> action, Failed failed) {
  if (state_ == PluginState::running && !end_) return action();
  if (state_ == PluginState::refused)
    return failed({Errc::rejected, fmt::format("{} is refused", title())});
  if (waiting_.size() >= most_waiting)
    return failed({Errc::overloaded, fmt::format("{} does not run, and too many wait", title())});
  waiting_.emplace_back(std::move(action), std::move(failed));
}

void LinkState::received(const Received& msg) {
  if (msg.life != life_ || end_) return;
  options_.board->update(options_.name, [](PluginStatus& status) { ++status.frames_in; });
  const auto frame = *msg.frame;
  const bool is_answer = questions_.answer(frame);
  if (!is_answer) take(frame);
  if (is_answer || frames_.take(now())) {
    if (process_) process_->handled(msg.bytes);
  } else {
    throttle(msg.bytes);
  }
}

/// What it has said counts against its window for a while longer.
void LinkState::throttle(std::size_t bytes) {
  held_bytes_ += bytes;
  if (std::exchange(paused_, true)) return;
  options_.board->update(options_.name, [](PluginStatus& status) { ++status.delays; });
  actor::send_self_after(self_, fault_pause, PauseOver{life_});
}

void LinkState::pause_over(const PauseOver& msg) {
  if (msg.life != life_ || !process_) return;
  paused_ = false;
  process_->handled(std::exchange(held_bytes_, 0));
}

void LinkState::take(Message::Reader frame) {
  if (frame.isDeclaration()) return declared(frame.getDeclaration());
  if (state_ == PluginState::starting) return fail_process("it spoke before it said what it is");
  const auto number = frame.getNumber();
  switch (frame.which()) {
    case Message::LOG:
      return reports_->line(frame.getLog(), now());
    case Message::METRIC:
      return reports_->metric(frame.getMetric());
    case Message::HOOK_NOTICE:
      return hooks_.take_notice(frame.getHookNotice(), options_.unix_now());
    case Message::DRIVER_NOTICE:
      return drivers_.take_notice(frame.getDriverNotice(), options_.unix_now());
    case Message::ASK_HOST:
      return hooks_.take_question(number, frame.getAskHost());
    case Message::REQUEST:
      return calls_->request(number, frame.getRequest(), false);
    case Message::SUBSCRIBE:
      return calls_->request(number, frame.getSubscribe(), true);
    case Message::STREAM_TAKEN:
      return calls_->taken(frame.getStreamTaken().getNumber(), frame.getStreamTaken().getBytes());
    case Message::UNSUBSCRIBE:
      return calls_->unsubscribe(frame.getUnsubscribe());
    case Message::NODE_EVENT:
      if (served_ && served_->node_event)
        served_->node_event(copy(frame.getNodeEvent().getMessage()),
                            entries_of(frame.getNodeEvent().getDetails()));
      return;
    default:
      break;
  }
  // An answer that comes too late, or a question that is newer than this agent.
  if (number != 0 && frame.which() > Message::API_ANSWER)
    questions_.refuse(number, {Errc::invalid_argument, "this agent is older than the question"});
}

// -- what it is -----------------------------------------------------------------------------------

void LinkState::declared(schema::plugin::Declaration::Reader declaration) {
  if (state_ != PluginState::starting) return fail_process("it said twice what it is");
  auto object = Object<schema::plugin::Declaration>::freeze(declaration);
  if (const auto outcome = check_declaration(*object, options_.name); !outcome)
    return refuse(outcome.error().what);
  if (declaration_ && !declaration_.equals(object))
    return refuse("it is another one than when the agent started");
  declaration_ = object;
  if (object->getDrivers().size() > 0 && process_) process_->lift_memory_bound();
  configure();  // Before the declaration is seen: who waits for it sees what follows from it.
  options_.board->update(options_.name,
                         [&](PluginStatus& status) { status.declaration = declaration_; });
}

void LinkState::configure() {
  boost::json::error_code failure;
  const auto given = boost::json::parse(options_.config, failure);
  const auto config = failure ? Result<boost::json::object>{Error{Errc::invalid_argument,
                                                                  "its configuration is no JSON"}}
                              : client::apply_fields(declaration_->getConfig(), given);
  if (!config) return refuse(place_error(options_.name, config.error().what, options_.places));
  set_state(PluginState::configuring);
  actor::send_self_after(self_, options_.patience.configuration,
                         StageDue{life_, PluginState::configuring});
  ask(
      [&](FrameBuilder frame) {
        auto to = frame.initConfigure();
        const auto json = boost::json::serialize(*config);
        to.setConfig(text(json));
        to.setAgentVersion(NOMADCTL_VERSION);
        to.setDataDir(text(options_.data_dir));
        to.setNode(text(options_.node));
        to.setClient(options_.has_client);
        to.setServer(options_.has_server);
      },
      [this](Message::Reader) { configured(); },
      [this](const Error& err) {
        if (!end_) refuse("its configuration is wrong: " + err.what);
      });
}

void LinkState::configured() {
  log::info("plugin", "{} {} runs", title(), view(declaration_->getVersion()));
  set_state(PluginState::running);
  actor::send_self_after(self_, options_.patience.ping_interval, PingDue{life_});
  for (const auto fingerprinter : declaration_->getFingerprinters())
    actor::send_self(self_, FactsDue{life_, copy(fingerprinter.getName())});
  if (served_ && served_->gate) start_actors();
  for (const auto& [action, failed] : std::exchange(waiting_, {}))
    action();
}

void LinkState::start_actors() {
  if (declaration_->getActors().size() == 0) return;
  ask([](FrameBuilder frame) { frame.setStartActors(); }, [](Message::Reader) {},
      [this](const Error& err) {
        if (!end_) fail_process("its actors did not start: " + err.what);
      });
}

void LinkState::serve(const plugin_link::Serve& msg) {
  served_ = msg;
  if (calls_) calls_->open(msg.gate);
  if (calls_ && !msg.gate) calls_->end_all();
  if (!msg.gate) return;
  if (state_ == PluginState::running && !end_) start_actors();
}

void LinkState::facts_due(const FactsDue& msg) {
  if (msg.life != life_ || end_) return;
  for (const auto each : declaration_->getFingerprinters())
    if (view(each.getName()) == msg.fingerprinter && each.getInterval() > 0)
      actor::send_self_after(self_, std::max<Nanoseconds>(1s, Nanoseconds{each.getInterval()}),
                             FactsDue{msg});
  ask([&](FrameBuilder frame) { frame.setGatherFacts(text(msg.fingerprinter)); },
      [this, name = msg.fingerprinter](Message::Reader frame) {
        if (!frame.isFacts()) return;
        auto facts = entries_of(frame.getFacts().getAttributes());
        if (facts.size() > most_attributes)
          return log::warn("plugin",
                           "{}: fingerprinter {} gives {} attributes, at most {} are taken",
                           title(), name, facts.size(), most_attributes);
        options_.facts->set(name, std::move(facts));
      },
      [this, name = msg.fingerprinter](const Error& err) {
        log::warn("plugin", "{}: fingerprinter {} failed: {}", title(), name, err.what);
      });
}

// -- whether it lives -----------------------------------------------------------------------------

void LinkState::ping_due(const PingDue& msg) {
  if (msg.life != life_ || end_) return;
  const auto ping = ++ping_;
  ask([](FrameBuilder frame) { frame.setPing(); },
      [this, life = life_, ping](Message::Reader) {
        if (ping_ != ping) return;
        ping_ = ping + 1;  // which is answered
        actor::send_self_after(self_, options_.patience.ping_interval, PingDue{life});
      },
      [](const Error&) {});
  actor::send_self_after(self_, options_.patience.ping, PongDue{life_, ping});
}

void LinkState::pong_due(const PongDue& msg) {
  if (msg.life != life_ || msg.ping != ping_ || end_) return;
  if (paused_) {  // What it said is not read yet.
    actor::send_self_after(self_, options_.patience.ping, PongDue{msg});
    return;
  }
  fail_process(fmt::format("it answered nothing for {}", format_duration(options_.patience.ping)));
}

actor::Answer<plugin_link::Stopped> LinkState::stop() {
  if (!process_ || end_) return plugin_link::Stopped{};
  stopping_.push_back(self_->make_response_promise<plugin_link::Stopped>());
  ask([](FrameBuilder frame) { frame.setShutdown(); }, [](Message::Reader) {}, [](const Error&) {});
  actor::send_self_after(self_, options_.patience.stop, StopDue{});
  return stopping_.back();
}

void LinkState::stop_due() {
  if (!stopping_.empty()) fail_process("it did not end in time");
}

// -- hooks ----------------------------------------------------------------------------------------

actor::Answer<client::hook::Answered> LinkState::run_hook(plugin_link::RunHook& msg) {
  auto promise = self_->make_response_promise<client::hook::Answered>();
  when_running([this, msg, promise] { hooks_.run(msg, promise, title()); },
               [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

// -- drivers --------------------------------------------------------------------------------------

actor::Answer<client::driver::Answered> LinkState::ask_driver(plugin_link::AskDriver& msg) {
  auto promise = self_->make_response_promise<client::driver::Answered>();
  when_running([this, msg, promise] { drivers_.ask(msg.driver, msg.request, promise); },
               [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

// -- what it tells --------------------------------------------------------------------------------

void LinkState::wrote(const Wrote& msg) {
  if (msg.life != life_) return;
  last_line_ = msg.line.substr(0, Reports::most_line_bytes);
  reports_->line(log::Level::info, msg.line, now());
}

LinkSelf::behavior_type plugin_link_actor(LinkSelf::stateful_pointer<LinkState> self,
                                          const LinkOptions& options) {
  auto& state = self->state;
  state.init(options);
  return {
      [&state](plugin_link::RunHook& msg) { return state.run_hook(msg); },
      [&state](const plugin_link::CancelHook& msg) { return state.cancel_hook(msg); },
      [&state](const plugin_link::CloseHook& msg) { state.hooks().close(msg.instance); },
      [&state](const plugin_link::TasksChanged& msg) { state.hooks().tasks_changed(msg); },
      [&state](const plugin_link::ServeDriver& msg) {
        state.drivers().serve(msg.driver, msg.actor, msg.host);
      },
      [&state](plugin_link::AskDriver& msg) { return state.ask_driver(msg); },
      [&state](const plugin_link::Serve& msg) { state.serve(msg); },
      [&state](const plugin_link::Refuse& msg) { state.refuse(msg.why); },
      [&state](const plugin_link::Stop&) { return state.stop(); },
      [&state](const Started& msg) { state.started(msg); },
      [&state](const Received& msg) { state.received(msg); },
      [&state](const Wrote& msg) { state.wrote(msg); },
      [&state](const Ended& msg) { state.ended(msg); },
      [&state](const ApiHeard& msg) { state.api_heard(msg); },
      [&state](const StageDue& msg) { state.stage_due(msg); },
      [&state](const PingDue& msg) { state.ping_due(msg); },
      [&state](const PongDue& msg) { state.pong_due(msg); },
      [&state](StopDue) { state.stop_due(); },
      [&state](const RespawnDue& msg) { state.respawn_due(msg); },
      [&state](const ReapDue& msg) { state.reaped(msg); },
      [&state](const PauseOver& msg) { state.pause_over(msg); },
      [&state](const FactsDue& msg) { state.facts_due(msg); },
  };
}

}  // namespace

PluginLink spawn_plugin_link(const actor::Owner& owner, LinkOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, plugin_link_actor, std::move(options));
}

}  // namespace nomad::plugin
