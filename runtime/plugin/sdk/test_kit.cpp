#include "runtime/plugin/sdk/test_kit.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <poll.h>

#include "runtime/plugin/sdk/config_check.hpp"
#include "runtime/plugin/sdk/session.hpp"
#include "runtime/plugin/sdk/wire.hpp"

namespace nomad::plugin {
namespace {

using FrameBuilder = schema::plugin::Frame::Builder;
using FrameReader = schema::plugin::Frame::Reader;
using FrameKind = schema::plugin::Frame;

constexpr const char* level_names[] = {"trace", "debug", "info", "warn", "error"};

template <class Entries>
std::map<std::string, std::string> entries_of(Entries list) {
  std::map<std::string, std::string> made;
  for (const auto entry : list)
    made[copy(entry.getKey())] = copy(entry.getValue());
  return made;
}

unsigned count_of(const std::map<std::string, std::string>& entries) {
  return static_cast<unsigned>(entries.size());
}

TestAgent::Event event_of(schema::plugin::Event::Reader from) {
  return {copy(from.getType()), copy(from.getMessage()), entries_of(from.getDetails())};
}

HookAnswer hook_answer_of(schema::plugin::HookAnswer::Reader from) {
  HookAnswer made{.done = from.getDone(),
                  .data = entries_of(from.getData()),
                  .environment = entries_of(from.getEnvironment())};
  for (const auto mount : from.getMounts())
    made.mounts.push_back({copy(mount.getTaskPath()), copy(mount.getHostPath()),
                           mount.getReadOnly(), copy(mount.getPropagation())});
  for (const auto device : from.getDevices())
    made.devices.push_back(
        {copy(device.getTaskPath()), copy(device.getHostPath()), copy(device.getPermissions())});
  return made;
}

Decision decision_of(schema::plugin::Decision::Reader from) {
  Decision made;
  for (const auto stop : from.getStops())
    made.stops.push_back({copy(stop.getAllocId()), copy(stop.getDescription())});
  for (const auto each : from.getPlacements())
    made.placements.push_back(
        {copy(each.getGroup()), copy(each.getNodeId()), copy(each.getReplaces())});
  for (const auto each : from.getUnplaced())
    made.unplaced.push_back({copy(each.getGroup()), each.getCount(), copy(each.getReason())});
  return made;
}

void fill_service(schema::ServiceRegistration::Builder to, const Service& from) {
  to.setId(text_of(from.id));
  to.setServiceName(text_of(from.name));
  to.setNamespace(text_of(from.job_namespace));
  to.setNodeId(text_of(from.node_id));
  to.setDatacenter(text_of(from.datacenter));
  to.setJobId(text_of(from.job_id));
  to.setAllocId(text_of(from.alloc_id));
  to.setAddress(text_of(from.address));
  to.setPort(from.port);
  auto tags = to.initTags(static_cast<unsigned>(from.tags.size()));
  for (unsigned i = 0; i < tags.size(); ++i)
    tags.set(i, text_of(from.tags[i]));
}

void fill_scope(schema::plugin::RunHook::Builder to, const TestTask& task) {
  auto alloc = to.initAlloc();
  alloc.setId(text_of(task.alloc_id));
  alloc.setJobId(text_of(task.job));
  alloc.setTaskGroup(text_of(task.group));
  alloc.setNamespace("default");
  auto resources = alloc.initAllocatedResources().initTasks(1)[0];
  resources.setKey(text_of(task.task));
  auto devices = resources.initValue().initDevices(static_cast<unsigned>(task.devices.size()));
  for (unsigned i = 0; i < devices.size(); ++i) {
    devices[i].setVendor(text_of(task.kind.vendor));
    devices[i].setType(text_of(task.kind.type));
    devices[i].setName(text_of(task.devices[i].name));
    auto ids = devices[i].initDeviceIds(static_cast<unsigned>(task.devices[i].ids.size()));
    for (unsigned j = 0; j < ids.size(); ++j)
      ids.set(j, text_of(task.devices[i].ids[j]));
  }
  auto job = to.initJob();
  job.setId(text_of(task.job));
  job.setName(text_of(task.job));
  auto group = job.initTaskGroups(1)[0];
  group.setName(text_of(task.group));
  auto in_job = group.initTasks(1)[0];
  in_job.setName(text_of(task.task));
  fill_entries(in_job.initMeta(count_of(task.meta)), task.meta);
  auto target = to.initTarget();
  target.setAllocId(text_of(task.alloc_id));
  target.setAllocRoot(text_of(task.alloc_root));
  target.setTask(text_of(task.task));
}

}  // namespace

class TestAgent::Core {
public:
  explicit Core(const std::function<void(Plugin&)>& describe)
      : session{described(describe), [this](capnp::MessageBuilder& frame) { heard(frame); }} {
    session.begin();
  }

  const Plugin& described(const std::function<void(Plugin&)>& describe) {
    describe(plugin);
    return plugin;
  }

  /// As the driver gets it.
  Result<std::string> task_config(const std::string& driver, const std::string& given) {
    std::vector<ConfigField> fields;
    const auto described = ask(
        [&](FrameBuilder frame) {
          auto to = frame.initAskDriver();
          to.setDriver(text_of(driver));
          to.initRequest().setDescribe();
        },
        [&](FrameReader frame) {
          if (frame.isDriverAnswer() && frame.getDriverAnswer().isDescription())
            fields = fields_of(frame.getDriverAnswer().getDescription().getConfig());
        });
    reading = {};  // what it refers to is gone
    if (!described) return described.error();
    return apply_config(fields, given.empty() ? "{}" : given);
  }

  /// Asks, and looks at the answer if it comes at once.
  Result<> ask(const std::function<void(FrameBuilder)>& fill,
               const std::function<void(FrameReader)>& read = {}) {
    const auto number = ++last;
    outcome.reset();
    awaited = number;
    reading = read;
    NOMAD_TRY(tell(number, fill));
    return take_outcome();
  }

  Result<> take_outcome() {
    if (!outcome) return Error{Errc::timeout, "it is not answered yet"};
    return *outcome;
  }

  Result<> tell(std::uint64_t number, const std::function<void(FrameBuilder)>& fill) {
    capnp::MallocMessageBuilder message;
    auto frame = message.initRoot<schema::plugin::Frame>();
    frame.setNumber(number);
    fill(frame);
    const auto words = capnp::messageToFlatArray(message);
    return session.take({words.begin(), words.size()}, now);
  }

  void heard(capnp::MessageBuilder& message) {
    const auto frame = message.getRoot<schema::plugin::Frame>().asReader();
    switch (frame.which()) {
      case FrameKind::HOOK_NOTICE:
        return noticed(frame.getHookNotice().getNotice());
      case FrameKind::DRIVER_NOTICE:
        return noticed(frame.getDriverNotice());
      case FrameKind::LOG:
        logs.push_back(
            std::string{level_names[static_cast<unsigned>(frame.getLog().getLevel()) % 5]} + ": "
            + copy(frame.getLog().getText()));
        return;
      case FrameKind::METRIC:
        counts[copy(frame.getMetric().getName())] += frame.getMetric().getValue();
        return;
      case FrameKind::EXEC_BYTES:
        return wrote(frame.getExecBytes());
      case FrameKind::EXEC_TAKEN:
        commands[frame.getExecTaken().getNumber()].input_taken += frame.getExecTaken().getBytes();
        return;
      case FrameKind::EXEC_ENDED: {
        const auto result = frame.getExecEnded().getResult();
        auto& command = commands[frame.getExecEnded().getNumber()];
        command.ended = true;
        command.code = result.getSignal() != 0 ? 128 + result.getSignal() : result.getCode();
        return;
      }
      case FrameKind::NODE_EVENT:
        node_events.push_back({{},
                               copy(frame.getNodeEvent().getMessage()),
                               entries_of(frame.getNodeEvent().getDetails())});
        return;
      case FrameKind::REQUEST:
        return asked(frame.getNumber(), frame.getRequest(), false);
      case FrameKind::SUBSCRIBE:
        return asked(frame.getNumber(), frame.getSubscribe(), true);
      case FrameKind::UNSUBSCRIBE:
        forget(frame.getUnsubscribe());
        return;
      default:
        return answered(frame);
    }
  }

  void noticed(schema::plugin::Notice::Reader notice) {
    if (notice.isEvent()) events.push_back(event_of(notice.getEvent()));
    if (notice.isExited()) exits.push_back(copy(notice.getExited().getRunId()));
  }

  void wrote(schema::plugin::ExecBytes::Reader part) {
    const auto bytes = part.getBytes();
    auto& command = commands[part.getNumber()];
    (part.getStream() == 2 ? command.errors : command.output)
        .append(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
    taken.emplace_back(part.getNumber(), bytes.size());
  }

  void asked(std::uint64_t number, schema::plugin::ApiRequest::Reader from, bool subscription) {
    const auto body = from.getBody();
    requests.push_back({number,
                        copy(from.getMethod()),
                        copy(from.getPath()),
                        {reinterpret_cast<const char*>(body.begin()), body.size()},
                        subscription});
  }

  void forget(std::uint64_t number) {
    std::erase_if(requests, [number](const Asked& each) { return each.number == number; });
  }

  void answered(FrameReader frame) {
    if (frame.getNumber() == 0 || frame.getNumber() != awaited) return;
    if (frame.isFailed()) {
      outcome = Error{Errc{frame.getFailed().getCode()}, copy(frame.getFailed().getMessage())};
      return;
    }
    outcome.emplace();
    if (reading) reading(frame);
  }

  Plugin plugin;
  Session session;
  Nanoseconds now{0};
  std::uint64_t last = 0;
  std::uint64_t awaited = 0;
  std::optional<Result<>> outcome;
  std::function<void(FrameReader)> reading;
  HookAnswer hook_answer;
  std::map<std::string, std::uint64_t> instances;
  std::vector<Asked> requests;
  std::vector<Event> events, node_events;
  std::vector<std::string> logs, exits;
  std::map<std::string, double> counts;
  std::map<std::uint64_t, TestAgent::Command> commands;
  std::vector<std::pair<std::uint64_t, std::size_t>> taken;  ///< And not said yet.
};

TestAgent::TestAgent(const std::function<void(Plugin&)>& describe)
    : core_{std::make_unique<Core>(describe)} {}

TestAgent::~TestAgent() = default;

const Plugin& TestAgent::plugin() const {
  return core_->plugin;
}

Result<> TestAgent::configure(const std::string& json, const Surroundings& around) {
  const auto config = apply_config(core_->plugin.fields, json);
  if (!config) return config.error();
  return core_->ask([&](FrameBuilder frame) {
    auto to = frame.initConfigure();
    to.setConfig(text_of(*config));
    to.setDataDir(text_of(around.data_dir));
    to.setNode(text_of(around.node));
    to.setAgentVersion(text_of(around.agent_version));
    to.setClient(around.client);
    to.setServer(around.server);
  });
}

Result<HookAnswer> TestAgent::run_hook(const std::string& hook, Phase phase, const TestTask& task) {
  const auto key = hook + '/' + task.alloc_id + '/' + task.task;
  const auto instance
      = core_->instances.try_emplace(key, core_->instances.size() + 1).first->second;
  core_->hook_answer = {};
  NOMAD_TRY(core_->ask(
      [&](FrameBuilder frame) {
        auto to = frame.initRunHook();
        to.setInstance(instance);
        to.setHook(text_of(hook));
        fill_scope(to, task);
        auto request = to.initRequest();
        request.setPhase(phase);
        request.setDeadline(Nanoseconds{std::chrono::minutes{1}}.count());
        fill_entries(request.initData(count_of(task.data)), task.data);
        fill_entries(request.initEnvironment().initVariables(count_of(task.environment)),
                     task.environment);
      },
      [core = core_.get()](FrameReader frame) {
        core->hook_answer = hook_answer_of(frame.getHookAnswer());
      }));
  return core_->hook_answer;
}

Result<HookAnswer> TestAgent::take_answer() {
  NOMAD_TRY(core_->take_outcome());
  return core_->hook_answer;
}

Result<> TestAgent::ask_driver(
    const std::string& driver,
    const std::function<void(schema::plugin::DriverRequest::Builder)>& fill,
    const std::function<void(schema::plugin::DriverAnswer::Reader)>& read) {
  capnp::MallocMessageBuilder message;
  auto request = message.initRoot<schema::plugin::DriverRequest>();
  fill(request);
  if (request.isStartTask()) {
    auto task = request.getStartTask();
    const auto config = core_->task_config(driver, copy(task.getConfig()));
    if (!config) return config.error();
    task.setConfig(text_of(*config));
  }
  const auto outcome = core_->ask(
      [&](FrameBuilder frame) {
        auto to = frame.initAskDriver();
        to.setDriver(text_of(driver));
        to.setRequest(request);
      },
      [&](FrameReader frame) {
        if (read) read(frame.getDriverAnswer());
      });
  core_->reading = {};  // what it refers to is gone
  return outcome;
}

Result<std::map<std::string, std::string>> TestAgent::gather_facts(
    const std::string& fingerprinter) {
  std::map<std::string, std::string> facts;
  const auto outcome = core_->ask(
      [&](FrameBuilder frame) { frame.setGatherFacts(text_of(fingerprinter)); },
      [&](FrameReader frame) { facts = entries_of(frame.getFacts().getAttributes()); });
  core_->reading = {};  // what it refers to is gone
  if (!outcome) return outcome.error();
  return facts;
}

Result<std::vector<DeviceGroup>> TestAgent::find_devices(const std::string& name) {
  std::vector<DeviceGroup> groups;
  const auto outcome = core_->ask(
      [&](FrameBuilder frame) { frame.setGatherFacts(text_of(name)); },
      [&](FrameReader frame) {
        for (const auto group : frame.getFacts().getDevices()) {
          auto& to = groups.emplace_back(DeviceGroup{
              .name = copy(group.getName()), .attributes = entries_of(group.getAttributes())});
          for (const auto instance : group.getInstances())
            to.instances.push_back({copy(instance.getId()), instance.getHealthy(),
                                    copy(instance.getHealthDescription())});
        }
      });
  core_->reading = {};  // what it refers to is gone
  if (!outcome) return outcome.error();
  return groups;
}

Result<Decision> TestAgent::decide(
    const std::string& type, const std::function<void(schema::plugin::Scheduling::Builder)>& fill) {
  Decision decision;
  const auto outcome = core_->ask(
      [&](FrameBuilder frame) {
        auto question = frame.initDecide();
        question.setType(text_of(type));
        fill(question);
      },
      [&](FrameReader frame) { decision = decision_of(frame.getDecision()); });
  core_->reading = {};  // what it refers to is gone
  if (!outcome) return outcome.error();
  return decision;
}

Result<> TestAgent::register_services(const std::string& provider,
                                      const std::vector<Service>& services) {
  return core_->ask([&](FrameBuilder frame) {
    auto order = frame.initRegisterServices();
    order.setProvider(text_of(provider));
    if (!services.empty()) order.setAllocId(text_of(services.front().alloc_id));
    if (!services.empty()) order.setTask(text_of(services.front().task));
    auto list = order.initServices(static_cast<unsigned>(services.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      fill_service(list[i], services[i]);
  });
}

Result<> TestAgent::deregister_services(const std::string& provider,
                                        const std::vector<std::string>& ids) {
  return core_->ask([&](FrameBuilder frame) {
    auto order = frame.initDeregisterServices();
    order.setProvider(text_of(provider));
    auto list = order.initIds(static_cast<unsigned>(ids.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.set(i, text_of(ids[i]));
  });
}

Result<> TestAgent::take_done() {
  return core_->take_outcome();
}

Result<> TestAgent::change_checks(const std::string& provider,
                                  const std::string& alloc_id,
                                  const std::vector<ServiceCheck>& checks) {
  return core_->tell(0, [&](FrameBuilder frame) {
    auto change = frame.initChecksChanged();
    change.setProvider(text_of(provider));
    change.setAllocId(text_of(alloc_id));
    auto list = change.initChecks(static_cast<unsigned>(checks.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setTask(text_of(checks[i].task));
      list[i].setService(text_of(checks[i].service));
      list[i].setName(text_of(checks[i].name));
      list[i].setStatus(
          static_cast<schema::plugin::ChecksChanged::Check::Status>(checks[i].status));
      list[i].setOutput(text_of(checks[i].output));
    }
  });
}

Result<> TestAgent::start_actors() {
  return core_->ask([](FrameBuilder frame) { frame.setStartActors(); });
}

Result<> TestAgent::advance(Nanoseconds time) {
  const auto end = core_->now + time;
  for (auto due = core_->session.next_timer(); due && *due <= end;
       due = core_->session.next_timer()) {
    core_->now = std::max(core_->now, *due);
    NOMAD_TRY(core_->session.run_timers(core_->now));
  }
  core_->now = end;
  return core_->session.run_timers(end);
}

Result<std::uint64_t> TestAgent::run_beside(const std::string& driver,
                                            const std::vector<std::string>& command,
                                            bool tty) {
  Result<> begun;
  NOMAD_TRY(ask_driver(
      driver,
      [&](schema::plugin::DriverRequest::Builder request) {
        auto order = request.initExecTask();
        auto words = order.initCommand(static_cast<unsigned>(command.size()));
        for (unsigned i = 0; i < words.size(); ++i)
          words.set(i, text_of(command[i]));
        order.setTty(tty);
      },
      [&](schema::plugin::DriverAnswer::Reader answer) {
        if (answer.isFailed())
          begun = Error{Errc{answer.getFailed().getCode()}, copy(answer.getFailed().getMessage())};
      }));
  if (!begun) return begun.error();
  return core_->last;
}

Result<> TestAgent::send_input(std::uint64_t number, const std::string& bytes, bool last) {
  return core_->tell(0, [&](FrameBuilder frame) {
    auto to = frame.initExecBytes();
    to.setNumber(number);
    to.setBytes({reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()});
    to.setLast(last);
  });
}

Result<> TestAgent::resize(std::uint64_t number, unsigned rows, unsigned columns) {
  return core_->tell(0, [&](FrameBuilder frame) {
    auto to = frame.initExecSize();
    to.setNumber(number);
    to.setRows(static_cast<std::uint16_t>(rows));
    to.setColumns(static_cast<std::uint16_t>(columns));
  });
}

Result<> TestAgent::close_command(std::uint64_t number) {
  return core_->tell(0, [number](FrameBuilder frame) { frame.setCloseExec(number); });
}

Result<> TestAgent::wait(std::chrono::milliseconds real_time) {
  auto waits = core_->session.watched();
  ::poll(waits.data(), waits.size(), static_cast<int>(real_time.count()));
  NOMAD_TRY(core_->session.run_ready(waits, core_->now));
  for (const auto& [number, bytes] : std::exchange(core_->taken, {}))
    NOMAD_TRY(core_->tell(0, [&, number = number, bytes = bytes](FrameBuilder frame) {
      auto to = frame.initExecTaken();
      to.setNumber(number);
      to.setBytes(static_cast<std::uint32_t>(bytes));
    }));
  return {};
}

const TestAgent::Command& TestAgent::command(std::uint64_t number) const {
  return core_->commands[number];
}

const std::vector<TestAgent::Asked>& TestAgent::open_requests() const {
  return core_->requests;
}

Result<> TestAgent::answer(std::uint64_t number, unsigned status, const std::string& body) {
  const auto found = std::ranges::find(core_->requests, number, &Asked::number);
  if (found == core_->requests.end() || !found->is_subscription) core_->forget(number);
  return core_->tell(number, [&](FrameBuilder frame) {
    auto to = frame.initApiAnswer();
    to.setStatus(static_cast<std::uint16_t>(status));
    to.setBody({reinterpret_cast<const kj::byte*>(body.data()), body.size()});
  });
}

Result<> TestAgent::send_line(std::uint64_t subscription, const std::string& line) {
  return core_->tell(0, [&](FrameBuilder frame) {
    const auto bytes = line + '\n';
    auto to = frame.initStreamPart();
    to.setNumber(subscription);
    to.setBytes({reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()});
  });
}

Result<> TestAgent::end_stream(std::uint64_t subscription) {
  core_->forget(subscription);
  return core_->tell(0, [&](FrameBuilder frame) {
    auto to = frame.initStreamPart();
    to.setNumber(subscription);
    to.setLast(true);
  });
}

const std::vector<TestAgent::Event>& TestAgent::events() const {
  return core_->events;
}

const std::vector<TestAgent::Event>& TestAgent::node_events() const {
  return core_->node_events;
}

const std::vector<std::string>& TestAgent::logs() const {
  return core_->logs;
}

double TestAgent::counted(const std::string& name) const {
  const auto found = core_->counts.find(name);
  return found == core_->counts.end() ? 0 : found->second;
}

const std::vector<std::string>& TestAgent::exits() const {
  return core_->exits;
}

}  // namespace nomad::plugin
