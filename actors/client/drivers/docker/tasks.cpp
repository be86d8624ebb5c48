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
namespace log_action = workload::log_action;

constexpr auto signal_time = std::chrono::seconds{30};

workload::TaskHandle docker_handle(const docker::ContainerMachine& machine) {
  return {.version = docker::container_handle_version, .data = machine.container()};
}

}  // namespace

DockerTasks::DockerTasks(DockerContext& context)
    : context_{context},
      life_{std::to_string(context.options().unix_now())},
      images_{context},
      infra_{context},
      wanted_{[&context](const TaskRun& run) {
        actor::send_urgent(context.self(), context.options().agent, driver::exited(run));
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
  auto run = std::make_unique<Run>(Run{{docker::ContainerMachine{traits}}, id, number});
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
       .keeps_logs = run.spec.keeps_logs,
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
    log::warn("client", "unknown kill signal; using the image's",
              {{"driver", "docker"}, {"signal", signal}});
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

docker::LogCollectorOptions DockerTasks::log_options(const Run& run) const {
  // What was found has a record; one of the first form says no root.
  const auto root = fmt::format("{}/{}", context_.options().alloc_dir, run.id.alloc_id);
  return {.alloc_root = run.spec.alloc_root.empty() ? root : run.spec.alloc_root,
          .task = run.id.task,
          .max_files = run.spec.log_files,
          .max_bytes = run.spec.log_bytes,
          .position_file = position_file(run.machine.container()),
          .is_terminal = run.is_terminal};
}

struct DockerTasks::Performer : EnginePerformer<Run> {
  using EnginePerformer::operator();

  DockerTasks& tasks;

  DockerContext::Action done(Round round) const {
    return [hear = hear, round] { hear([round](Run& to) { to.machine.done(round); }); };
  }

  auto ready(Round round) const {
    return [hear = hear, round](const Result<std::string>& what, bool may_pass) {
      hear([&](Run& to) { to.machine.ready(round, what, may_pass); });
    };
  }

  /// Opens the logs where that may block. `then` is called with the run, if it is there still.
  void open_logs(bool is_new, std::function<void(Run&, const Result<>&)> then) const {
    auto collector = std::make_shared<docker::LogCollector>(tasks.log_options(life));
    context.work<bool>(
        [collector, is_new, folder = context.options().state_dir + "/docker"]() -> Result<bool> {
          std::error_code failure;  // shows where the record is written
          std::filesystem::create_directories(folder, failure);
          NOMAD_TRY(collector->open(is_new));
          return true;
        },
        [hear = hear, collector, then = std::move(then), &tasks = tasks, number = life.number,
         container = life.machine.container()](const Result<bool>& opened) {
          // It may have been forgotten before it was written.
          const auto found = tasks.runs_.find(number);
          if (found == tasks.runs_.end() || found->second->machine.stage() == Stage::ending)
            return tasks.forget_logs(container, [] {});
          hear([&](Run& to) {
            if (opened) to.collector = collector;
            then(to, opened ? Result<>{} : Result<>{opened.error()});
          });
        });
  }

  void operator()(const container_action::GetImage& action) const {
    const auto& settings = life.spec.settings;
    tasks.images_.get({.name = *docker::parse_image_name(settings.image),
                       .user = life.user(),
                       .task = life.id,
                       .force_pull = settings.force_pull,
                       .archive = settings.load,
                       .archive_root = life.spec.task_directory + "/local",
                       .auth = settings.auth,
                       .auth_soft_fail = settings.auth_soft_fail,
                       .timeout = settings.pull_timeout},
                      ready(action.round));
  }

  void operator()(const container_action::AdoptImage& action) const {
    tasks.images_.adopt(action.image, life.user());
  }

  void operator()(const container_action::ReleaseImage&) const {
    for (const auto& user : {life.user(), life.user() + "/network"}) {
      tasks.images_.forget(user);
      tasks.images_.release(user);
    }
  }

  void operator()(const container_action::JoinNetwork& action) const {
    const auto ready = this->ready(action.round);
    docker::InfraSpec spec{
        .alloc_id = life.id.alloc_id,
        .agent = context.label(),
        .image = action.image,
        .hostname = life.hostname.empty() ? std::string{short_id(life.id.alloc_id)} : life.hostname,
        .program = context.options().executor_path,
        .network_namespace = life.network_namespace};
    const auto& infra = context.settings().infra_image;
    if (infra.empty()) return tasks.infra_.join(spec, ready);
    const auto name = docker::parse_image_name(infra);
    if (!name)
      return context.turns().post(
          [ready, why = name.error()] { ready(why.within("infra_image"), false); });
    tasks.images_.get({.name = *name,
                       .user = life.user() + "/network",
                       .task = life.id,
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
      return &other != &life && other.id.alloc_id == life.id.alloc_id
             && other.machine.may_join_network();
    });
    if (others) return context.turns().post(done(action.round));
    tasks.infra_.leave(life.id.alloc_id, done(action.round));
  }

  void operator()(const container_action::Prepare& action) const {
    life.spec.image = action.image;
    life.spec.network_container = action.network_container;
    life.binds_location = life.spec.binds_location = tasks.binds_location(life);
    context.work<std::string>(
        [spec = life.spec, settings = context.settings()] {
          return prepare_container(spec, settings);
        },
        [&tasks = tasks, number = life.number, location = life.binds_location,
         ready = ready(action.round)](const Result<std::string>& body) {
          // What was released at its end may have been held since.
          if (!tasks.runs_.contains(number)) tasks.release_location(location);
          ready(body, false);
        });
  }

  void operator()(const container_action::OpenLogs& action) const {
    life.is_terminal = life.spec.settings.tty;
    open_logs(/*is_new=*/true, [round = action.round](Run& to, const Result<>& opened) {
      to.machine.done(round, opened);
    });
  }

  void operator()(const container_action::BeginLogs& action) const {
    life.is_terminal = action.is_terminal;
    life.logs.begin();
  }

  void operator()(const container_action::EndLogs& action) const {
    life.logs_end = action.round;
    life.logs.task_ended();
  }

  void operator()(const container_action::CloseLogs&) const { life.logs.close(); }

  // What the machine of its logs wants.

  void operator()(const log_action::Take& action) const {
    if (life.collector) return tasks.follow_logs(life, action);
    open_logs(/*is_new=*/false, [&tasks = tasks, action](Run& to, const Result<>& opened) {
      if (!to.logs.awaits(action.round)) return to.collector.reset();
      if (opened) return tasks.follow_logs(to, action);
      // Without a record nobody wants them.
      const bool is_wanted = opened.error().code != Errc::not_found;
      to.logs.stopped(action.round, workload::LogMachine::Stop::for_good,
                      is_wanted ? opened.error().what : std::string{});
    });
  }

  void operator()(const log_action::Wait& action) const {
    context.after(action.delay, [hear = hear, round = action.round] {
      hear([round](Run& to) { to.logs.time_over(round); });
    });
  }

  void operator()(const log_action::Close&) const {
    if (life.log_stream) context.log_engine().cancel(*std::exchange(life.log_stream, {}));
    if (life.collector) life.collector->close();
    life.collector.reset();
  }

  void operator()(const log_action::Complete&) const { life.machine.done(life.logs_end); }

  void operator()(const log_action::TellUser& action) const { context.tell(life.id, action.text); }

  void operator()(const container_action::ForgetLogs& action) const {
    tasks.forget_logs(life.machine.container(), done(action.round));
  }

  void operator()(const container_action::TellRunning&) const {
    life.spec = {};
    tasks.wanted_.began(life.number, life.machine.run_id());
  }

  void operator()(const container_action::TellFailed& action) const {
    tasks.wanted_.failed(life.number, {action.error, action.recoverable});
  }

  void operator()(const container_action::TellExited& action) const {
    tasks.wanted_.ended(life.number, action.result);
  }

  void operator()(const container_action::TellDestroyed&) const {
    life.destroying.deliver(driver::done());
  }

  void operator()(const container_action::TellUser& action) const {
    context.tell(life.id, action.text);
  }

  void operator()(const container_action::LogError& action) const {
    log::error("client", action.text,
               {{"driver", "docker"},
                {"alloc", life.id.alloc_id},
                {"task", life.id.task},
                {"container", action.container},
                {"error", action.error}});
  }

  void operator()(const container_action::End&) const {
    tasks.release_binds(life);
    life.is_over = true;
  }
};

/// Until there is nothing to take, for whatever reason.
void DockerTasks::follow_logs(Run& run, const workload::log_action::Take& action) {
  const auto collector = run.collector;
  docker::EngineRequest request{
      .target = fmt::format("{}/logs?follow={}&stdout=1&stderr=1&timestamps=1&since={}",
                            docker::container_path(run.machine.container()), action.is_rest ? 0 : 1,
                            collector->since())};
  const auto ended = context_.in_turn([this, number = run.number, action](EngineOutcome& outcome) {
    hear(number, [&](Run& to) {
      if (!to.logs.awaits(action.round)) return;  // They were closed meanwhile.
      to.log_stream.reset();
      if (const auto complaint = to.collector->take_complaint(); !complaint.empty())
        context_.tell(to.id, complaint);
      to.collector->restart();
      const auto [stop, why] = docker::log_stop(outcome, action.is_rest);
      to.logs.stopped(action.round, stop, why);
    });
  });
  run.log_stream = context_.log_engine().follow(
      std::move(request), {.header = std::chrono::milliseconds{0}},
      {.piece = [collector](std::string_view bytes) { return collector->take(bytes); },
       .ended =
           [collector, ended](Result<docker::EngineAnswer> answer) {
             collector->save();
             ended(std::move(answer));
           },
       .tick = [collector] { collector->save_if_due(docker::LogCollector::Clock::now()); }});
}

void DockerTasks::carry_out(Run& run) {
  const Performer performer{
      {context_, run, [this, number = run.number](const auto& event) { hear(number, event); }},
      *this};
  for (;;) {
    perform_all(performer);
    const auto wanted = run.logs.take();
    if (wanted.empty()) break;
    for (const auto& action : wanted)
      std::visit(performer, action);
  }
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
