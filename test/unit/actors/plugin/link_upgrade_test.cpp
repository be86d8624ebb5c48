#include <utility>

#include <doctest/doctest.h>

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/plugin/plugin_driver.hpp"
#include "actors/plugin/plugin_link.hpp"
#include "test/unit/actors/plugin/link_fixture.hpp"
#include "test/unit/actors/plugin/two_hooks.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using plugin::PluginState;
using test::run_of;
using test::Runner;
using test::two_hooks;

namespace {

/// Tells its configuration by a variable of the task.
void configured_hook(plugin::Plugin& plugin) {
  auto color = std::make_shared<std::string>();
  two_hooks(plugin);
  plugin.config({{.name = "color"}})
      .on_configure([color](const plugin::Config& config) -> Result<> {
        *color = config.text("color");
        if (*color == "grey") return Error{Errc::invalid_argument, "no color"};
        return {};
      })
      .task_hook({.name = "colors", .phases = {plugin::Phase::PRESTART}},
                 plugin::hook_of([color](plugin::HookRunner&,
                                         const plugin::HookCall&) -> Result<plugin::HookAnswer> {
                   return plugin::HookAnswer{.environment = {{"COLOR", *color}}};
                 }));
}

std::string color_of(test::LinkFixture& fixture, const plugin::PluginLink& link) {
  static std::uint64_t instance = 100;
  const auto answer
      = fixture.ask<client::hook::Answered>(link, run_of(fixture, ++instance, "colors", {}));
  if (!answer->has_value()) return "no answer";
  if (!(*answer)->has_value()) return (*answer)->error().what;
  return copy((**answer)->answer->getEnvironment()[0].getValue());
}

/// Finds tasks again while `finds` says so, and is silent about them otherwise.
std::function<void(plugin::Plugin&)> finding_driver(const std::shared_ptr<bool>& finds) {
  struct Finds final : plugin::Driver {
    explicit Finds(std::shared_ptr<bool> does) : finds{std::move(does)} {}

    void ask(schema::plugin::DriverRequest::Reader request,
             const plugin::DriverReply& reply) override {
      if (!request.isRecoverTask())
        return reply(plugin::FillAnswer{[](auto answer) { answer.setDone(); }});
      if (*finds) return reply(plugin::FillAnswer{[](auto answer) { answer.setRecovered("r"); }});
      open.push_back(reply);
    }

    std::shared_ptr<bool> finds;
    std::vector<plugin::DriverReply> open;
  };

  return [finds](plugin::Plugin& plugin) {
    plugin.is("p", "1").driver("d",
                               [finds](plugin::Agent&) { return std::make_unique<Finds>(finds); });
  };
}

/// A driver of the plugin's that has been told of a task.
client::Driver driver_with_task(test::LinkFixture& fixture, const plugin::PluginLink& link) {
  client::DriverOptions options;
  options.name = "d";
  options.agent = Runner{}.spawn(fixture);
  auto driver = fixture.adopt(plugin::spawn_plugin_driver(fixture.system(), link, options));
  fixture.settle();
  const auto found
      = fixture.ask<client::driver::Answered>(driver, client::driver::recover_task({"a1", ""}, {}));
  CHECK((found->has_value() && found->value()));
  return driver;
}

/// What a Reconfigure is answered; "done", or why not.
std::string reconfigured(test::LinkFixture& fixture,
                         const plugin::PluginLink& link,
                         const char* config) {
  const auto done = fixture.ask<plugin::plugin_link::Reconfigured>(
      link, plugin::plugin_link::Reconfigure{fixture.make_peer(), config, {}, {}});
  fixture.settle();
  if (!done->has_value()) return "no answer";
  return done->value() ? "done" : done->value().error().what;
}

}  // namespace

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin upgrade: another configuration is another process, at once") {
  const auto link = start(configured_hook, R"({"color":"red"})");
  CHECK(color_of(*this, link) == "red");

  const auto done = ask<plugin::plugin_link::Reconfigured>(
      link, plugin::plugin_link::Reconfigure{make_peer(), R"({"color":"blue"})", {}, {}});

  REQUIRE(done->has_value());
  CHECK((*done)->has_value());
  CHECK(plugin.lives == 2);
  CHECK(status().restarts == 0);
  CHECK(color_of(*this, link) == "blue");
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin upgrade: what is open is answered by the old process, what comes then by "
                  "the new one") {
  const auto link = start(configured_hook, R"({"color":"red"})");
  const auto open = ask<client::hook::Answered>(link, run_of(*this, 1, "waits", {}));
  ask<plugin::plugin_link::Reconfigured>(
      link, plugin::plugin_link::Reconfigure{make_peer(), R"({"color":"blue"})", {}, {}});
  const auto next = ask<client::hook::Answered>(link, run_of(*this, 2, "colors", {}));
  CHECK(plugin.lives == 2);
  CHECK_FALSE(next->has_value());

  actor::tell(link, plugin::plugin_link::CloseHook{1});
  advance(1s);

  CHECK(open->has_value());
  CHECK(plugin.lives == 2);
  REQUIRE(next->has_value());
  CHECK(view((**next)->answer->getEnvironment()[0].getValue()) == "blue");
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin upgrade: a configuration against its fields, or that it refuses, changes "
                  "nothing") {
  const auto link = start(configured_hook, R"({"color":"red"})");
  const auto reconfigure = [&](const char* config,
                               std::map<std::string, std::string> locations = {}) {
    const auto done = ask<plugin::plugin_link::Reconfigured>(
        link, plugin::plugin_link::Reconfigure{make_peer(), config, std::move(locations), {}});
    REQUIRE(done->has_value());
    return done->value() ? std::string{"done"} : done->value().error().what;
  };
  CHECK(reconfigure(R"({"colour":"blue"})", {{"colour", "a.hcl:7"}}).find("a.hcl:7")
        != std::string::npos);
  CHECK(color_of(*this, link) == "red");

  CHECK(reconfigure(R"({"color":"grey"})").find("its configuration is wrong: no color")
        != std::string::npos);
  CHECK(status().state == PluginState::running);
  CHECK(status().problem.find("no color") != std::string::npos);
  CHECK(color_of(*this, link) == "red");

  CHECK(reconfigure(R"({"color":"green"})") == "done");
  CHECK(status().state == PluginState::running);
  CHECK(color_of(*this, link) == "green");
}

TEST_CASE_FIXTURE(
    test::LinkFixture,
    "plugin upgrade: one whose first configuration was wrong is tried again, and mended") {
  const auto link = start(configured_hook, R"({"color":"grey"})");
  CHECK(status().state == PluginState::refused);
  CHECK(status().problem == "its configuration is wrong: no color");
  advance(6s);
  CHECK(plugin.lives == 2);  // What it asked for may be there by now.

  ask<plugin::plugin_link::Reconfigured>(
      link, plugin::plugin_link::Reconfigure{make_peer(), R"({"color":"green"})", {}, {}});
  CHECK(status().state == PluginState::running);
  CHECK(color_of(*this, link) == "green");
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin upgrade: another version follows at once, and back, whatever it brings") {
  const auto link = start(two_hooks);
  const auto upgrade = [&](std::function<void(plugin::Plugin&)> describe,
                           std::function<Result<>(schema::plugin::Declaration::Reader)> check
                           = {}) {
    plugin.describe = std::move(describe);
    const auto done = ask<plugin::plugin_link::Reconfigured>(
        link, plugin::plugin_link::Reconfigure{make_peer(), "{}", {}, {}, std::move(check)});
    REQUIRE(done->has_value());
    return done->value() ? copy(status().declaration->getVersion()) : done->value().error().what;
  };
  CHECK(upgrade([](plugin::Plugin& next) {
          configured_hook(next);
          next.is("p", "2.0.0");
        })
        == "2.0.0");
  CHECK(color_of(*this, link).empty());
  CHECK(upgrade(two_hooks) == "1.2.3");

  // What can't be used changes nothing.
  const auto runs_still = [&] {
    return status().state == PluginState::running && color_of(*this, link).find("no hook") != 0
           && copy(status().declaration->getVersion()) == "1.2.3";
  };
  CHECK(upgrade([](plugin::Plugin& next) { next.is("other", "3"); }).find("other")
        != std::string::npos);
  CHECK(runs_still());
  CHECK(upgrade([](plugin::Plugin& next) { next.is("p", "3"); },
                [](schema::plugin::Declaration::Reader) -> Result<> {
                  return Error{Errc::conflict, "it is taken"};
                })
        == "it is taken");
  CHECK(runs_still());
  CHECK(upgrade([](plugin::Plugin& next) {
          next.is("p", "3").on_configure([](const plugin::Config&) -> Result<> {
            return Error{Errc::invalid_argument, "not today"};
          });
        }).find("not today")
        != std::string::npos);
  CHECK(copy(status().declaration->getVersion()) == "1.2.3");
  CHECK(status().restarts == 0);
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin upgrade: a successor that says nothing disturbs nobody and is given up") {
  const auto link = start(two_hooks);
  const Runner runner;
  const auto agent = runner.spawn(*this);
  plugin.describe = {};
  const auto done = ask<plugin::plugin_link::Reconfigured>(
      link, plugin::plugin_link::Reconfigure{make_peer(), "{}", {}, {}});
  CHECK_FALSE(done->has_value());
  const auto meanwhile = ask<client::hook::Answered>(link, run_of(*this, 1, "answers", agent));
  CHECK(meanwhile->has_value());
  advance(10s);
  REQUIRE(done->has_value());
  CHECK_FALSE((*done)->has_value());
  CHECK(status().state == PluginState::running);
}

TEST_CASE_FIXTURE(
    test::LinkFixture,
    "plugin upgrade: one that is slow is given more time at each try, and is used then") {
  start({});
  advance(4s);
  CHECK(status().problem == "it did not say what it is within 3s");
  advance(5s + 7s);
  CHECK(status().problem == "it did not say what it is within 6s");
  plugin.describe = two_hooks;
  advance(11s);
  CHECK(status().state == PluginState::running);
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin upgrade: a name that another plugin has disturbs nobody") {
  const auto finds = std::make_shared<bool>(true);
  const auto link = start(finding_driver(finds));
  const auto driver = driver_with_task(*this, link);
  REQUIRE(job_types->enter("custom", {.plugin = "other"}));
  const auto brings_type = [finds](plugin::Plugin& next) {
    finding_driver(finds)(next);
    next.scheduler({.type = "custom"}, plugin::scheduler_of([](plugin::Agent&, auto) {
                     return Result<plugin::Decision>{plugin::Decision{}};
                   }));
  };
  plugin.describe = brings_type;

  CHECK(reconfigured(*this, link, "{}").find("jobs of type \"custom\" already")
        != std::string::npos);
  CHECK_MESSAGE(plugin.lives == 2, "the old one was asked to end");
  CHECK(status().state == PluginState::running);

  // It is taken while the old one ends.
  job_types->forget("other");
  plugin.mute = true;
  const auto answer = ask<plugin::plugin_link::Reconfigured>(
      link, plugin::plugin_link::Reconfigure{make_peer(), "{}", {}, {}});
  CHECK_FALSE(answer->has_value());
  REQUIRE(job_types->enter("custom", {.plugin = "other"}));
  plugin.mute = false;
  plugin.describe = finding_driver(finds);
  advance(3s);
  REQUIRE(answer->has_value());
  CHECK_FALSE(answer->value());
  CHECK(status().state == PluginState::running);
  const auto still = ask<client::driver::Answered>(driver, client::driver::fingerprint());
  REQUIRE(still->has_value());
  CHECK_MESSAGE((*still)->has_value(), "its drivers have ended");
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin upgrade: tasks that are not found again hold up nobody for good") {
  const auto finds = std::make_shared<bool>(true);
  const auto link = start(finding_driver(finds));
  driver_with_task(*this, link);
  *finds = false;
  CHECK(reconfigured(*this, link, "{}") == "done");
  CHECK(status().state == PluginState::configuring);
  advance(29s);
  CHECK(status().state == PluginState::configuring);
  advance(2s);
  CHECK(status().state == PluginState::running);
  CHECK(plugin.lives == 2);
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin upgrade: the way back is open while tasks are not found again") {
  const auto finds = std::make_shared<bool>(true);
  const auto link = start(finding_driver(finds));
  const auto driver = driver_with_task(*this, link);
  *finds = false;
  CHECK(reconfigured(*this, link, "{}") == "done");
  *finds = true;
  const auto back = ask<plugin::plugin_link::Reconfigured>(
      link, plugin::plugin_link::Reconfigure{make_peer(), "{}", {}, {}});
  CHECK(plugin.lives == 3);
  advance(13s);  // what is open has ten seconds
  REQUIRE(back->has_value());
  CHECK(back->value());
  CHECK(status().state == PluginState::running);
  CHECK(plugin.lives == 3);
  const auto still = ask<client::driver::Answered>(driver, client::driver::fingerprint());
  REQUIRE(still->has_value());
  CHECK((*still)->has_value());
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin upgrade: a driver whose tasks are not found begins anew") {
  const auto finds = std::make_shared<bool>(true);
  const auto link = start(finding_driver(finds));
  const auto driver = driver_with_task(*this, link);
  for (const char* alloc : {"a2", "a3"})
    ask<client::driver::Answered>(driver, client::driver::recover_task({alloc, ""}, {}));
  *finds = false;
  CHECK(reconfigured(*this, link, "{}") == "done");
  advance(31s);
  CHECK(status().state == PluginState::running);
  const auto gone = ask<client::driver::Answered>(driver, client::driver::fingerprint());
  REQUIRE(gone->has_value());
  CHECK_FALSE((*gone)->has_value());
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin upgrade: one that is between two processes keeps what worked, too") {
  const auto link = start(configured_hook, R"({"color":"red"})");
  const auto end = [this] {
    plugin.events.ended({Errc::unavailable, "it hung up"});
    settle();
    CHECK(status().state == PluginState::restarting);
  };
  const auto keeps = [&](const std::string& why, const char* text) {
    CAPTURE(why);
    CHECK(why.find(text) != std::string::npos);
    CHECK(status().state == PluginState::running);
    CHECK(color_of(*this, link) == "red");
  };
  end();
  keeps(reconfigured(*this, link, R"({"colour":"blue"})"), "colour");
  end();
  keeps(reconfigured(*this, link, R"({"color":"grey"})"), "no color");
  end();
  plugin.describe = [is_first = true](plugin::Plugin& next) mutable {
    if (std::exchange(is_first, false))
      next.is("other", "3");
    else
      configured_hook(next);
  };
  keeps(reconfigured(*this, link, R"({"color":"blue"})"), "calls itself");
  end();
  CHECK(reconfigured(*this, link, R"({"color":"blue"})") == "done");
  CHECK(color_of(*this, link) == "blue");
}
