// The driver that docs/CONTRIBUTING.md points to, and its test.
#include <doctest/doctest.h>

#include "actors/client/drivers/config_reader.hpp"
#include "actors/client/drivers/config_schema.hpp"
#include "actors/client/drivers/driver_objects.hpp"
#include "actors/client/plugin_catalog.hpp"
#include "actors/core/supervise.hpp"

namespace nomad::client {
namespace {

using NapRequest = schema::plugin::DriverRequest;

/// A nap is over.
struct NapOver {
  using is_message = void;
  driver::TaskId id;
  std::string run_id;
};

using NapSelf = actor::WithInternal<Driver, void(NapOver)>;

constexpr ConfigFieldSpec nap_fields[] = {{"length", ConfigKind::DURATION, /*required=*/true}};

struct Nap {
  std::string run_id;
  std::optional<workload::ExitResult> end{};  ///< Kept until DestroyTask.
};

struct NapState {
  static constexpr const char* name = "nap";

  explicit NapState(NapSelf::pointer actor) : self{actor} {}

  NapSelf::pointer self;
  PluginAgent agent;
  std::map<driver::TaskId, Nap> naps;

  driver::Answered describe() const {
    Draft<schema::plugin::DriverDescription> draft;
    draft->initCapabilities().setFsIsolation("none");
    write_fields(nap_fields, draft->initConfig(std::size(nap_fields)));
    return driver::described(draft.freeze());
  }

  driver::Answered start(schema::plugin::TaskConfig::Reader config) {
    const auto id = driver::read_id(config.getId());
    const auto run_id = copy(config.getRunId());
    if (const auto known = naps.find(id); known != naps.end() && known->second.run_id == run_id)
      return driver::started({1, run_id});
    const auto settings = ConfigReader::parse(view(config.getConfig()));
    if (!settings) return driver::failed(settings.error());
    naps[id] = {.run_id = run_id};
    actor::send_self_after(self, settings->duration("length"), NapOver{id, run_id});
    return driver::started({1, run_id});
  }

  driver::Answered recover(schema::plugin::RecoverTask::Reader order) {
    const auto known = naps.find(driver::read_id(order.getId()));
    if (known == naps.end())  // Naps end with the agent.
      return driver::failed({Errc::unavailable, "the nap ended with the agent"});
    if (known->second.end) tell_end(known->first, known->second);
    return driver::recovered(known->second.run_id);
  }

  driver::Answered stop(const driver::TaskId& id) {
    const auto known = naps.find(id);
    if (known == naps.end()) return driver::found_nothing();
    end(id, known->second.run_id, {.signal = 9});
    return driver::done();
  }

  void end(const driver::TaskId& id, const std::string& run_id, workload::ExitResult result) {
    const auto known = naps.find(id);
    if (known == naps.end() || known->second.run_id != run_id || known->second.end) return;
    known->second.end = std::move(result);
    tell_end(id, known->second);
  }

  void tell_end(const driver::TaskId& id, const Nap& nap) {
    actor::send_urgent(self, agent, driver::exited(id, nap.run_id, *nap.end));
  }

  driver::Answered answer(NapRequest::Reader request) {
    switch (request.which()) {
      case NapRequest::DESCRIBE:
        return describe();
      case NapRequest::FINGERPRINT:
        return driver::fingerprinted(driver::make_fingerprint(true, true, "Healthy"));
      case NapRequest::START_TASK:
        return start(request.getStartTask());
      case NapRequest::RECOVER_TASK:
        return recover(request.getRecoverTask());
      case NapRequest::STOP_TASK:
        return stop(driver::read_id(request.getStopTask().getId()));
      case NapRequest::DESTROY_TASK:
        naps.erase(driver::read_id(request.getDestroyTask()));
        return driver::done();
      case NapRequest::END_OTHERS:
        return driver::done();
      default:
        return driver::unknown();
    }
  }
};

NapSelf::behavior_type nap_driver(NapSelf::stateful_pointer<NapState> self,
                                  const DriverOptions& options) {
  self->state.agent = options.agent;
  return {[self](const driver::Ask& msg) { return self->state.answer(*msg.request); },
          [self](const NapOver& msg) { self->state.end(msg.id, msg.run_id, {}); }};
}

}  // namespace

DriverEntry nap_driver_entry() {
  return {.spawn = [](const actor::Owner& owner, const DriverOptions& options) -> Driver {
    return actor::spawn(owner, nap_driver, options);
  }};
}

}  // namespace nomad::client

#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using Strings = std::vector<std::string>;

namespace {

struct NapFixture : ClientFixture {
  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    made.drivers.emplace("nap", client::nap_driver_entry());
    return made;
  }
};

}  // namespace

TEST_CASE_FIXTURE(NapFixture, "example_driver: a nap ends by itself, or is ended") {
  start();
  const auto job
      = make_job({.type = "batch",
                  .tasks = {{.name = "short", .config = R"({"length":"5s"})", .driver = "nap"},
                            {.name = "long", .config = R"({"length":"1h"})", .driver = "nap"}}});
  assign(make_alloc(job, 1), job);
  advance(10s);
  CHECK(task(1, "short").getState() == schema::TaskRunState::DEAD);
  CHECK(task(1, "long").getState() == schema::TaskRunState::RUNNING);
  stop_alloc(1, 2);
  advance(10s);
  CHECK(status(1) == schema::ClientStatus::COMPLETE);
}

TEST_CASE_FIXTURE(NapFixture, "example_driver: what its fields do not name is refused") {
  start();
  const auto job = make_job({.tasks = {{.config = R"({"lenght":"5s"})", .driver = "nap"}}});
  assign(make_alloc(job, 1), job);
  advance(1s);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Failed Validation", "Not Restarting"});
}
