#include "runtime/plugin/sdk/session.hpp"

#include <capnp/serialize.h>

#include "runtime/plugin/sdk/caught.hpp"
#include "runtime/plugin/sdk/commands.hpp"
#include "runtime/plugin/sdk/declare.hpp"
#include "runtime/plugin/sdk/hook_instance.hpp"
#include "runtime/plugin/sdk/provider_requests.hpp"
#include "runtime/plugin/sdk/replies.hpp"
#include "runtime/plugin/sdk/session_agent.hpp"

namespace nomad::plugin {

using schema::plugin::Frame;

class Session::Core {
public:
  Core(const Plugin& plugin, Send send) : plugin_{plugin}, wire_{std::move(send)}, agent_{wire_} {}

  void begin() {
    wire_.tell(
        [this](Frame::Builder frame) { fill_declaration(frame.initDeclaration(), plugin_); });
  }

  /// Serves one frame. What is kept of it (the objects of a hook) keeps `words` alive.
  void take(const FrameWords& words) {
    const auto frame = words->root();
    const auto number = frame.getNumber();
    switch (frame.which()) {
      case Frame::CONFIGURE:
        return configure(number, frame.getConfigure());
      case Frame::RUN_HOOK:
        return run_hook(number, words);
      case Frame::CANCEL_HOOK:
        return cancel_hook(number, frame.getCancelHook());
      case Frame::CLOSE_HOOK:
        hooks_.erase(frame.getCloseHook());
        return;
      case Frame::TASKS_CHANGED:
        return tasks_changed(frame.getTasksChanged());
      case Frame::ASK_DRIVER:
        return ask_driver(number, frame.getAskDriver());
      case Frame::DECIDE:
        return decide(number, frame.getDecide());
      case Frame::GATHER_FACTS:
        return gather_facts(number, view(frame.getGatherFacts()));
      case Frame::START_ACTORS:
        start_actors();
        return wire_.done(number);
      case Frame::PING:
        return wire_.done(number);
      case Frame::SHUTDOWN:
        return shut_down(number);
      case Frame::STREAM_PART:
        return agent_.stream_part(frame.getStreamPart());
      case Frame::EXEC_BYTES:
      case Frame::EXEC_TAKEN:
      case Frame::EXEC_SIZE:
      case Frame::CLOSE_EXEC:
        return commands_.take(frame);
      case Frame::REGISTER_SERVICES:
      case Frame::DEREGISTER_SERVICES:
      case Frame::CHECKS_CHANGED:
        return providers_.take(frame);
      default:
        break;
    }
    if (is_answer(frame))
      wire_.answered(frame);
    else if (number != 0)
      wire_.failed(number,
                   {Errc::invalid_argument, "the plugin's SDK is older than this question"});
  }

  SessionAgent& agent() { return agent_; }

  bool is_over() const { return over_; }

private:
  static bool is_answer(Frame::Reader frame) {
    switch (frame.which()) {
      case Frame::DONE:
      case Frame::FAILED:
      case Frame::AGENT_ANSWER:
      case Frame::API_ANSWER:
        return true;
      default:
        return false;
    }
  }

  void configure(std::uint64_t number, schema::plugin::Configure::Reader from) {
    agent_.set_surroundings({.data_dir = copy(from.getDataDir()),
                             .node = copy(from.getNode()),
                             .agent_version = copy(from.getAgentVersion()),
                             .client = from.getClient(),
                             .server = from.getServer()});
    Result<> outcome;
    if (plugin_.configure) {
      const Config config{copy(from.getConfig())};
      if (auto thrown = caught([&] { outcome = plugin_.configure(config); })) outcome = *thrown;
    }
    if (!outcome) return wire_.failed(number, outcome.error());
    wire_.done(number);
  }

  HookInstance* instance_of(std::uint64_t id) {
    const auto found = hooks_.find(id);
    return found == hooks_.end() ? nullptr : found->second.get();
  }

  void run_hook(std::uint64_t number, const FrameWords& words) {
    const auto order = words->root().getRunHook();
    auto* instance = instance_of(order.getInstance());
    if (instance == nullptr) {
      const auto* factory = hook_factory(view(order.getHook()));
      if (factory == nullptr)
        return wire_.failed(number, {Errc::not_found, "the plugin has no such hook"});
      auto made = std::make_unique<HookInstance>(order.getInstance(), wire_, agent_);
      if (auto thrown = caught([&] { made->make(*factory); })) return wire_.failed(number, *thrown);
      instance = made.get();
      hooks_[order.getInstance()] = std::move(made);
    }
    instance->run(number, words);
  }

  const HookFactory* hook_factory(std::string_view name) const {
    for (const auto* list : {&plugin_.task_hooks, &plugin_.alloc_hooks})
      for (const auto& each : *list)
        if (each.spec.name == name) return &each.factory;
    return nullptr;
  }

  void cancel_hook(std::uint64_t number, std::uint64_t id) {
    if (auto* const instance = instance_of(id))
      instance->cancel(number);
    else
      wire_.done(number);
  }

  void tasks_changed(schema::plugin::TasksChanged::Reader change) {
    if (auto* const instance = instance_of(change.getInstance()))
      if (auto thrown = caught([&] { instance->hook().tasks_changed(change.getTasks()); }))
        agent_.log(Level::error, "a hook was told of its tasks: " + thrown->what);
  }

  void decide(std::uint64_t number, schema::plugin::Scheduling::Reader question) {
    const auto reply = reply_to<Decision>(wire_, number, "the scheduler",
                                          [](Frame::Builder frame, const Decision& decision) {
                                            fill_decision(frame.initDecision(), decision);
                                          });
    for (const auto& each : plugin_.schedulers) {
      if (each.spec.type != view(question.getType())) continue;
      if (auto thrown = caught([&] { each.factory(agent_, question, reply); })) reply(*thrown);
      return;
    }
    reply(Error{Errc::not_found, "the plugin has no such scheduler"});
  }

  void ask_driver(std::uint64_t number, schema::plugin::AskDriver::Reader order) {
    const auto name = copy(order.getDriver());
    const auto reply = reply_to<FillAnswer>(
        wire_, number, "the driver",
        [](Frame::Builder frame, const FillAnswer& answer) { answer(frame.initDriverAnswer()); });
    auto thrown = caught([&] {
      auto& driver = drivers_[name];
      if (!driver) driver = make_driver(name);
      if (!driver) return reply(Error{Errc::not_found, "the plugin has no such driver"});
      if (order.getRequest().isExecTask())
        commands_.begin(number, *driver, order.getRequest().getExecTask(), reply);
      else
        driver->ask(order.getRequest(), reply);
    });
    if (thrown) reply(*thrown);
  }

  std::unique_ptr<Driver> make_driver(const std::string& name) {
    for (const auto& each : plugin_.drivers)
      if (each.spec == name) return each.factory(agent_);
    return nullptr;
  }

  void gather_facts(std::uint64_t number, std::string_view name) {
    for (const auto& each : plugin_.fingerprinters) {
      if (each.spec.name != name) continue;
      Result<std::map<std::string, std::string>> facts = std::map<std::string, std::string>{};
      if (auto thrown = caught([&] { facts = each.factory(agent_); })) facts = *thrown;
      if (!facts) return wire_.failed(number, facts.error());
      return wire_.answer(number, [&facts](Frame::Builder frame) {
        fill_entries(frame.initFacts().initAttributes(static_cast<unsigned>(facts->size())),
                     *facts);
      });
    }
    for (const auto& each : plugin_.device_finders)
      if (each.spec.name == name) return find_devices(number, each.spec.spec, each.factory);
    wire_.failed(number, {Errc::not_found, "the plugin has no such fingerprinter"});
  }

  void find_devices(std::uint64_t number, const DeviceSpec& spec, const DeviceFinder& find) {
    Result<std::vector<DeviceGroup>> groups = std::vector<DeviceGroup>{};
    if (auto thrown = caught([&] { groups = find(agent_); })) groups = *thrown;
    if (!groups) return wire_.failed(number, groups.error());
    wire_.answer(number, [&](Frame::Builder frame) {
      fill_devices(frame.initFacts().initDevices(static_cast<unsigned>(groups->size())), spec,
                   *groups);
    });
  }

  void start_actors() {
    for (const auto& each : plugin_.actors) {
      actors_.push_back(each.factory(agent_));
      if (actors_.back()) actors_.back()->start();
    }
  }

  void shut_down(std::uint64_t number) {
    for (const auto& actor : actors_)
      if (actor) actor->stop();
    over_ = true;
    wire_.done(number);
  }

  const Plugin& plugin_;
  Wire wire_;
  SessionAgent agent_;
  Commands commands_{wire_, agent_};
  ProviderRequests providers_{plugin_, wire_, agent_};
  std::map<std::uint64_t, std::unique_ptr<HookInstance>> hooks_;
  std::map<std::string, std::unique_ptr<Driver>, std::less<>> drivers_;
  std::vector<std::unique_ptr<Actor>> actors_;
  bool over_ = false;
};

Session::Session(const Plugin& plugin, Send send)
    : core_{std::make_unique<Core>(plugin, std::move(send))} {}

Session::~Session() = default;

void Session::begin() {
  core_->begin();
}

Result<> Session::take(std::span<const capnp::word> frame, Nanoseconds now) {
  core_->agent().set_now(now);
  auto thrown = caught([&] { core_->take(std::make_shared<FrameMessage>(frame)); });
  if (thrown) return *thrown;
  return {};
}

std::optional<Nanoseconds> Session::next_timer() const {
  return core_->agent().next_timer();
}

Result<> Session::run_timers(Nanoseconds now) {
  core_->agent().set_now(now);
  auto thrown = caught([&] { core_->agent().run_timers(); });
  if (thrown) return *thrown;
  return {};
}

std::vector<pollfd> Session::watched() const {
  return core_->agent().watched();
}

Result<> Session::run_ready(std::span<const pollfd> seen, Nanoseconds now) {
  core_->agent().set_now(now);
  auto thrown = caught([&] { core_->agent().run_ready(seen); });
  if (thrown) return *thrown;
  return {};
}

bool Session::is_over() const {
  return core_->is_over();
}

}  // namespace nomad::plugin
