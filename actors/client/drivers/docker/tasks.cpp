#include "actors/client/drivers/docker/tasks.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "actors/client/drivers/docker/run.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/signals.hpp"

namespace nomad::client {

using docker::EngineOutcome;
using driver::Answered;
using driver::TaskId;

namespace {

namespace container_action = docker::container_action;

constexpr auto signal_time = std::chrono::seconds{30};

workload::TaskHandle docker_handle(const docker::ContainerMachine& machine) {
  return {.version = docker::container_handle_version, .data = machine.container()};
}

}  // namespace

DockerTasks::DockerTasks(DockerContext& context)
    : context_{context}, images_{context}, infra_{context}, wanted_{[&context](const TaskRun& run) {
        actor::send_urgent(context.self(), context.options().host, driver::exited(run));
      }} {}

DockerTasks::~DockerTasks() = default;

// -- orders ---------------------------------------------------------------------------------------

DockerTasks::Run* DockerTasks::find(const TaskId& id, std::optional<Stage> stage) {
  const auto* const wanted = wanted_.find(id);
  if (wanted == nullptr) return nullptr;
  auto* const run = runs_.at(wanted->number).get();
  return !stage || run->machine.stage() == *stage ? run : nullptr;
}

DockerTasks::Run& DockerTasks::make_run(const TaskId& id, Number number) {
  const docker::ContainerTraits traits{.name = docker::container_name(id.task, id.alloc_id),
                                       .agent = context_.label(),
                                       .removes = context_.settings().removes_containers};
  auto run = std::make_unique<Run>(
      Run{.id = id, .number = number, .machine = docker::ContainerMachine{traits}});
  return *runs_.emplace(number, std::move(run)).first->second;
}

actor::Answer<Answered> DockerTasks::start(schema::plugin::TaskConfig::Reader config) {
  const auto id = driver::read_id(config.getId());
  const auto run_id = copy(config.getRunId());
  auto promise = context_.self()->make_response_promise<Answered>();
  const auto begun
      = wanted_.start(id, run_id, driver::answer_by(promise, [this](const TaskRun& wanted) {
                        const auto& machine = runs_.at(wanted.number)->machine;
                        return driver::started(docker_handle(machine), machine.network());
                      }));
  if (!begun) return promise;
  hear(begun->replaced, [](Run& replaced) { replaced.machine.destroy(); });
  auto spec = container_spec(config, context_.settings(), context_.label());
  const auto image = spec ? docker::parse_image_name(spec->settings.image) : spec.error();
  if (!image) {
    wanted_.failed(begun->number, {image.error()});
    return promise;
  }
  for (const auto& [number, other] : runs_)
    if (other->id == id) other->machine.spare(run_id);
  auto& run = make_run(id, begun->number);
  run.spec = std::move(*spec);
  run.network_namespace = copy(config.getNetworkNamespace());
  run.hostname = copy(config.getHostname());
  const auto& settings = run.spec.settings;
  run.machine.start(
      {.run_id = run_id,
       .image = settings.image,
       .joins_network = !run.network_namespace.empty() && docker::joins_group_network(settings),
       .advertises_ipv6 = settings.advertises_ipv6,
       .port_map = settings.port_map});
  carry_out(run);
  return promise;
}

actor::Answer<Answered> DockerTasks::recover(schema::plugin::RecoverTask::Reader order) {
  const auto id = driver::read_id(order.getId());
  const auto run_id = copy(order.getRunId());
  auto promise = context_.self()->make_response_promise<Answered>();
  const auto begun = wanted_.recover(id, run_id, driver::answer_recovered(promise));
  if (!begun) return promise;
  auto& run = make_run(id, begun->number);
  workload::TaskHandle handle;
  if (order.hasHandle()) handle = driver::read_handle(order.getHandle());
  run.machine.recover(
      run_id, handle.version > docker::container_handle_version ? std::string{} : handle.data);
  carry_out(run);
  return promise;
}

actor::Answer<Answered> DockerTasks::stop(schema::plugin::StopTask::Reader order) {
  auto* const run = find(driver::read_id(order.getId()));
  if (run == nullptr) return driver::found_nothing();
  auto signal = copy(order.getSignal());
  if (!signal.empty() && !host::parse_signal(signal)) {
    log::warn("client", "docker: unknown kill signal {}; using the image's", signal);
    signal.clear();
  }
  const bool is_taken = run->machine.stop(signal, Nanoseconds{order.getGrace()});
  carry_out(*run);
  return is_taken ? driver::done() : driver::found_nothing();
}

actor::Answer<Answered> DockerTasks::destroy(const TaskId& id) {
  const auto wanted = wanted_.destroy(id);
  auto& run = wanted ? *runs_.at(wanted->number) : make_run(id, wanted_.next_number());
  auto answer = run.destroying = context_.self()->make_response_promise<Answered>();
  run.machine.destroy();
  carry_out(run);
  return answer;
}

actor::Answer<Answered> DockerTasks::signal(schema::plugin::SignalTask::Reader order) {
  const auto* const run = find(driver::read_id(order.getId()), Stage::running);
  if (run == nullptr) return driver::found_nothing();
  const auto name = copy(order.getSignal());
  if (const auto number = host::parse_signal(name); !number)
    return driver::failed(number.error().within("failed to parse signal"));
  auto answer = context_.self()->make_response_promise<Answered>();
  context_.ask(
      {.method = "POST",
       .target = fmt::format("{}/kill?signal={}", docker::container_path(run->machine.container()),
                             percent_encode(name))},
      signal_time, [answer](const EngineOutcome& sent) {
        answer.deliver(sent ? driver::done()
                            : driver::failed(sent.error(), docker::is_away(sent.error())));
      });
  return answer;
}

actor::Answer<Answered> DockerTasks::exec(schema::plugin::ExecTask::Reader order) {
  const auto* const run = find(driver::read_id(order.getId()), Stage::running);
  if (run == nullptr) return driver::found_nothing();
  docker::ExecRequest request{.socket = context_.settings().socket,
                              .api = context_.engine().api(),
                              .container = run->machine.container(),
                              .command = {},
                              .is_terminal = order.getTty()};
  for (const auto word : order.getCommand())
    request.command.push_back(copy(word));
  auto answer = context_.self()->make_response_promise<Answered>();
  using Ends = std::vector<host::UniqueFd>;
  commands_.begin(std::move(request), context_.turns().callback([answer](Result<Ends> ends) {
    if (!ends) return answer.deliver(driver::failed(ends.error()));
    answer.deliver(driver::exec_started(std::make_shared<Ends>(std::move(*ends))));
  }));
  return answer;
}

// -- machines -------------------------------------------------------------------------------------

/// Something has happened to a run; if it is not over meanwhile, it hears of it.
void DockerTasks::hear(Number number, const std::function<void(Run&)>& event) {
  const auto found = runs_.find(number);
  if (found == runs_.end()) return;
  event(*found->second);
  carry_out(*found->second);
}

std::string DockerTasks::position_file(const std::string& container) const {
  return fmt::format("{}/docker/{}", context_.options().state_dir, container);
}

struct DockerTasks::Performer {
  DockerTasks& tasks;
  Run& run;
  DockerContext& context = tasks.context_;

  /// What gives an event to this run, in a turn to come.
  template <class Event>
  auto heard(Event event) const {
    return [&tasks = tasks, number = run.number, event](auto&&... arguments) {
      tasks.hear(number, [&](Run& to) { event(to, arguments...); });
    };
  }

  DockerContext::Action done(Round round) const {
    return heard([round](Run& to) { to.machine.done(round); });
  }

  auto ready(Round round) const {
    return heard([round](Run& to, const Result<std::string>& what, bool may_pass) {
      to.machine.ready(round, what, may_pass);
    });
  }

  void operator()(const container_action::GetImage& action) const {
    const auto& settings = run.spec.settings;
    tasks.images_.get({.name = *docker::parse_image_name(settings.image),
                       .user = run.user(),
                       .task = run.id,
                       .force_pull = settings.force_pull,
                       .archive = settings.load,
                       .archive_root = run.spec.task_directory + "/local",
                       .auth = settings.auth,
                       .auth_soft_fail = settings.auth_soft_fail,
                       .timeout = settings.pull_timeout},
                      ready(action.round));
  }

  void operator()(const container_action::AdoptImage& action) const {
    tasks.images_.adopt(action.image, run.user());
  }

  void operator()(const container_action::ReleaseImage&) const {
    for (const auto& user : {run.user(), run.user() + "/network"}) {
      tasks.images_.forget(user);
      tasks.images_.release(user);
    }
  }

  void operator()(const container_action::JoinNetwork& action) const {
    const auto ready = this->ready(action.round);
    docker::InfraSpec spec{
        .alloc_id = run.id.alloc_id,
        .agent = context.label(),
        .image = action.image,
        .hostname = run.hostname.empty() ? std::string{short_id(run.id.alloc_id)} : run.hostname,
        .program = context.options().executor_path,
        .network_namespace = run.network_namespace};
    const auto& infra = context.settings().infra_image;
    if (infra.empty()) return tasks.infra_.join(spec, ready);
    const auto name = docker::parse_image_name(infra);
    if (!name)
      return context.turns().post(
          [ready, why = name.error()] { ready(why.within("infra_image"), false); });
    tasks.images_.get({.name = *name,
                       .user = run.user() + "/network",
                       .task = run.id,
                       .timeout = context.settings().infra_pull_timeout},
                      [&infra_ = tasks.infra_, spec, ready, infra](const Result<std::string>& image,
                                                                   bool may_pass) mutable {
                        if (!image) return ready(image.error().within("infra_image"), may_pass);
                        spec.image = infra;
                        infra_.join(spec, ready);
                      });
  }

  /// It goes with the last task that joined it.
  void operator()(const container_action::LeaveNetwork& action) const {
    const bool others = std::ranges::any_of(tasks.runs_, [this](const auto& entry) {
      const auto& other = *entry.second;
      return &other != &run && other.id.alloc_id == run.id.alloc_id
             && other.machine.may_join_network();
    });
    if (others) return context.turns().post(done(action.round));
    tasks.infra_.leave(run.id.alloc_id, done(action.round));
  }

  void operator()(const container_action::Prepare& action) const {
    run.spec.image = action.image;
    run.spec.network_container = action.network_container;
    context.work<std::string>(
        [spec = run.spec, settings = context.settings()] {
          return prepare_container(spec, settings);
        },
        [ready = ready(action.round)](const Result<std::string>& body) { ready(body, false); });
  }

  void operator()(const container_action::Ask& action) const {
    const auto call = context.ask(action.request, action.timeout,
                                  heard([round = action.round](Run& to, EngineOutcome& outcome) {
                                    to.calls.erase(round);
                                    to.machine.answered(round, outcome);
                                  }));
    if (action.round != 0) run.calls[action.round] = {&context.engine(), call};
  }

  void operator()(const container_action::Withdraw& action) const {
    if (const auto call = run.calls.extract(action.round))
      call.mapped().engine->cancel(call.mapped().id);
  }

  void operator()(const container_action::Wait& action) const {
    context.after(action.delay,
                  heard([round = action.round](Run& to) { to.machine.time_over(round); }));
  }

  void operator()(const container_action::OpenLogs& action) const {
    const auto position = tasks.position_file(run.machine.container());
    auto collector = std::make_shared<docker::LogCollector>(
        docker::LogCollectorOptions{.alloc_root = action.destination.alloc_root,
                                    .task = run.id.task,
                                    .max_files = action.destination.max_files,
                                    .max_bytes = action.destination.max_bytes,
                                    .position_file = position,
                                    .is_terminal = action.is_terminal});
    context.work<bool>(
        [collector, position, is_new = action.is_new]() -> Result<bool> {
          std::error_code failure;
          std::filesystem::create_directories(std::filesystem::path{position}.parent_path(),
                                              failure);
          // Of one that was made a moment ago nothing is known: a record would be another agent's,
          // who died in between.
          const bool begins = is_new && !std::filesystem::exists(position, failure);
          NOMAD_TRY(collector->open(begins));
          return true;
        },
        heard([collector, round = action.round](Run& to, const Result<bool>& opened) {
          if (opened) to.collector = collector;
          to.machine.done(round, opened ? Result<>{} : Result<>{opened.error()});
        }));
  }

  void operator()(const container_action::FollowLogs& action) const {
    const auto collector = run.collector;
    docker::EngineRequest request{
        .target = fmt::format("{}/logs?follow={}&stdout=1&stderr=1&timestamps=1&since={}",
                              docker::container_path(run.machine.container()),
                              action.is_rest ? 0 : 1, collector->since())};
    const auto ended = context.in_turn(heard(
        [id = run.id, round = action.round, &context = context](Run& to, EngineOutcome& outcome) {
          to.calls.erase(round);
          if (!to.collector) return;  // They were closed meanwhile.
          if (const auto complaint = to.collector->take_complaint(); !complaint.empty())
            context.tell(id, complaint);
          to.collector->restart();
          to.machine.answered(round, outcome);
        }));
    const auto call = context.log_engine().follow(
        std::move(request), {.header = std::chrono::milliseconds{0}},
        {.piece = [collector](std::string_view bytes) { return collector->take(bytes); },
         .ended =
             [collector, ended](Result<docker::EngineAnswer> answer) {
               collector->save();
               ended(std::move(answer));
             },
         .tick = [collector] { collector->save_if_due(docker::LogCollector::Clock::now()); }});
    run.calls[action.round] = {&context.log_engine(), call};
  }

  void operator()(const container_action::CloseLogs&) const {
    if (run.collector) run.collector->close();
    run.collector.reset();
  }

  void operator()(const container_action::ForgetLogs& action) const {
    tasks.forget_logs(run.machine.container(), done(action.round));
  }

  void operator()(const container_action::TellRunning&) const {
    run.spec = {};
    tasks.wanted_.began(run.number, run.machine.run_id());
  }

  void operator()(const container_action::TellFailed& action) const {
    tasks.wanted_.failed(run.number, {action.error, action.recoverable});
  }

  void operator()(const container_action::TellExited& action) const {
    tasks.wanted_.ended(run.number, action.result);
  }

  void operator()(const container_action::TellDestroyed&) const {
    run.destroying.deliver(driver::done());
  }

  void operator()(const container_action::TellUser& action) const {
    context.tell(run.id, action.text);
  }

  void operator()(const container_action::LogError& action) const {
    log::error("client", "{}", action.text);
  }

  void operator()(const container_action::End&) const { run.is_over = true; }
};

void DockerTasks::carry_out(Run& run) {
  for (auto actions = run.machine.take(); !actions.empty(); actions = run.machine.take())
    for (const auto& action : actions)
      std::visit(Performer{*this, run}, action);
  if (run.machine.stage() == Stage::ended && find(run.id) == &run) wanted_.usage().drop(run.id);
  if (run.is_over) runs_.erase(run.number);
}

/// How far the logs of a container were taken is of no use any more.
void DockerTasks::forget_logs(const std::string& container, DockerContext::Action done) {
  context_.work<bool>(
      [file = position_file(container)]() -> Result<bool> {
        std::error_code ignored;
        std::filesystem::remove(file, ignored);
        return true;
      },
      [done = std::move(done)](const Result<bool>&) { done(); });
}

}  // namespace nomad::client
