#include "test/simulation/docker/sim_engine.hpp"

#include <fmt/format.h>

#include "actors/client/drivers/config_reader.hpp"
#include "actors/client/drivers/docker/docker.hpp"
#include "actors/client/drivers/driver_objects.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/docker/container_body.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using namespace client;

namespace {

SimEngine::Process process_of(const FakeContainer& container) {
  SimEngine::Process process{
      .container = container.id,
      .id = {container.label(docker::label::alloc), container.label(docker::label::task)},
      .run_id = container.label(docker::label::run)};
  if (const auto plan = ConfigReader::parse(container.command.back())) {
    process.run_for = plan->number("run_for");
    process.exit_code = static_cast<int>(plan->number("exit"));
  }
  return process;
}

}  // namespace

SimEngine::SimEngine(SimSystem& system, SimNetwork& network, Machine machine, std::uint64_t seed)
    : system_(system), network_(network), machine_(machine), random_(seed) {
  calls_.later = [this](std::function<void()> action) {
    const auto longest = system_.now() < slow_until_ ? Time{2s} : Time{10ms};
    system_.at(system_.now() + network_.delay(100us, longest), std::move(action));
  };
  calls_.fate = [this](const docker::EngineRequest& request) { return fate_of(request); };
  auto& engine = calls_.engine;
  engine.obeys = [this](const FakeContainer&) { return !faulty_ || random_.chance(0.8); };
  engine.on_start = [this](const FakeContainer& container) { on_start(process_of(container)); };
  engine.on_end = [this](const FakeContainer& container) {
    const auto process = process_of(container);
    on_end(process, !changes_by_itself_ && told_.contains(process.run_id)
                        && !asked_.contains(process.run_id));
  };
}

/// The real driver, behind one that notes what its host wants of it and knows.
DriverEntry SimEngine::driver() {
  return {.spawn = [this](const actor::Owner&, const DriverOptions& given) -> Driver {
    auto options = given;
    options.config = {{"endpoint", "unix:///"},  // a path that is there
                      {"disable_log_collection", "true"},
                      {"gc.image_delay", "1s"},
                      {"gc.dangling_containers.enabled", "false"}};
    const auto real = system_.own(machine_, docker_entry([this](const auto&, const auto&) {
                                              return calls_.connect();
                                            }).spawn(system_.system(), options));
    const auto life = system_.life(machine_);
    return system_.own(
        machine_,
        actor::spawn(system_.system(),
                     [this, real, life](DriverSelf self) -> Driver::behavior_type {
                       return {[this, self, real,
                                life](const driver::Ask& msg) -> actor::Answer<driver::Answered> {
                         note_order(*msg.request);
                         auto promise = self->make_response_promise<driver::Answered>();
                         const auto run_id = msg.request->isStartTask()
                                                 ? copy(msg.request->getStartTask().getRunId())
                                                 : std::string{};
                         self->request(real, actor::infinite, msg)
                             .then(
                                 [this, life, run_id, promise](const driver::Answered& answer) {
                                   if (answer.answer && answer.answer->isStarted()
                                       && !run_id.empty() && system_.life(machine_) == life)
                                     told_.insert(run_id);
                                   promise.deliver(answer);
                                 },
                                 [promise](const Error& err) { promise.deliver(err); });
                         return promise;
                       }};
                     }));
  }};
}

void SimEngine::note_order(schema::plugin::DriverRequest::Reader request) {
  if (!request.isStopTask()) return;
  const auto id = driver::read_id(request.getStopTask().getId());
  for (const auto& container : calls_.engine.containers)
    if (process_of(container).id == id) asked_.insert(container.label(docker::label::run));
}

FakeEngineCalls::Fate SimEngine::fate_of(const docker::EngineRequest& request) {
  using Fate = FakeEngineCalls::Fate;
  if (!faulty_
      || (!request.target.starts_with("/containers/") && !request.target.starts_with("/images/")))
    return Fate::answered;
  const auto luck = random_.below(100);
  return luck < 2 ? Fate::lost : luck < 3 ? Fate::refused : luck < 8 ? Fate::twice : Fate::answered;
}

void SimEngine::by_itself(const std::function<void()>& change) {
  changes_by_itself_ = true;
  change();
  changes_by_itself_ = false;
  calls_.look_again();
}

void SimEngine::end(const std::string& container, int exit_code) {
  by_itself([&] { calls_.engine.end(container, exit_code); });
}

void SimEngine::fail() {
  const auto& containers = calls_.engine.containers;
  const auto luck = random_.below(3);
  if (luck == 0) return die();
  if (luck == 1) slow_until_ = system_.now() + network_.delay(100ms, 3s);
  if (luck == 2 && !containers.empty())
    by_itself([&] { calls_.engine.forget(containers[random_.below(containers.size())].id); });
}

void SimEngine::die() {
  if (random_.chance(0.5))
    for (const auto& container : std::vector{calls_.engine.containers})
      by_itself([&] { calls_.engine.end(container.id, 137); });
  calls_.die();
  system_.at(system_.now() + network_.delay(10ms, 4s), [this] { calls_.is_away = false; });
}

void SimEngine::set_faulty(bool faulty) {
  faulty_ = faulty;
  if (faulty) return;
  calls_.is_away = false;
  slow_until_ = Time{0};
}

void SimEngine::crash_agent() {
  calls_.abandon([this] { return random_.chance(0.5); });
}

void SimEngine::crash_machine() {
  crash_agent();
  for (auto& container : calls_.engine.containers)
    if (container.is_running()) {
      container.status = "exited";
      container.exit_code = 137;
    }
}

std::string SimEngine::left() const {
  for (const auto& container : calls_.engine.containers)
    if (!container.is_running())
      return fmt::format("container {} ({}) of run {} is left", container.name, container.status,
                         container.label(docker::label::run));
  return {};
}

}  // namespace nomad::test
