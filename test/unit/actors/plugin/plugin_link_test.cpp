#include "actors/plugin/plugin_link.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

#include "test/unit/actors/plugin/link_fixture.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using plugin::PluginState;

namespace {

/// A hook that leaves its phase open, and one that answers.
void two_hooks(plugin::Plugin& plugin) {
  plugin.is("p", "1.2.3")
      .task_hook({.name = "answers", .phases = {plugin::Phase::PRESTART}},
                 plugin::hook_of([](plugin::HookHost& host,
                                    const plugin::HookCall& call) -> Result<plugin::HookAnswer> {
                   host.event("Test", call.alloc_id() + '/' + call.task());
                   return plugin::HookAnswer{.environment = {{"A", "1"}}};
                 }))
      .task_hook({.name = "waits", .phases = {plugin::Phase::PRESTART}}, [](plugin::HookHost&) {
        struct Waits final : plugin::Hook {
          void run(const plugin::HookCall&, const plugin::HookReply& reply) override {
            open.push_back(reply);
          }

          std::vector<plugin::HookReply> open;
        };

        return std::make_unique<Waits>();
      });
}

/// What a runner is to its hooks.
struct Runner {
  std::shared_ptr<std::vector<std::string>> told = std::make_shared<std::vector<std::string>>();

  client::PluginHost spawn(test::ActorFixture& fixture) const {
    return fixture.adopt(actor::spawn(
        fixture.system(),
        [told = told](client::PluginHost::pointer) -> client::PluginHost::behavior_type {
          return {
              [told](const client::plugin_host::Notice& msg) {
                told->push_back(copy(msg.notice->getAllocId()) + ':'
                                + copy(msg.notice->getEvent().getMessage()));
              },
              [](const client::plugin_host::Ask&) -> actor::Answer<client::plugin_host::Answered> {
                return client::plugin_host::Answered{};
              }};
        }));
  }
};

}  // namespace

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: a plugin says what it is, is configured and runs") {
  start(two_hooks);
  CHECK(status().state == PluginState::running);
  CHECK(copy(status().declaration->getVersion()) == "1.2.3");
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: a hook's phase is answered, and what it says is of its task") {
  const auto link = start(two_hooks);
  const Runner runner;
  const auto answer = ask<client::hook::Answered>(
      link, plugin::plugin_link::RunHook{1, "answers", phase(plugin::Phase::PRESTART),
                                         scope().place, runner.spawn(*this)});
  REQUIRE((answer->has_value() && (*answer)->has_value()));
  CHECK(view((**answer)->answer->getEnvironment()[0].getKey()) == "A");
  CHECK(*runner.told == std::vector<std::string>{"a1:a1/t"});
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: an end answers what is open, and another process follows") {
  const auto link = start(two_hooks);
  const Runner runner;
  const auto host = runner.spawn(*this);
  const auto lost = ask<client::hook::Answered>(
      link, plugin::plugin_link::RunHook{1, "waits", phase(plugin::Phase::PRESTART), scope().place,
                                         host});
  CHECK_FALSE(lost->has_value());

  plugin.events.ended({Errc::unavailable, "it hung up"});
  settle();

  REQUIRE(lost->has_value());
  CHECK((*lost)->error().code == Errc::unavailable);
  CHECK(status().state == PluginState::restarting);
  const auto next = ask<client::hook::Answered>(
      link, plugin::plugin_link::RunHook{2, "answers", phase(plugin::Phase::PRESTART),
                                         scope().place, host});
  CHECK_FALSE(next->has_value());  // It waits for the next process.
  advance(6s);
  CHECK(plugin.lives == 2);
  CHECK(status().state == PluginState::running);
  CHECK(status().restarts == 1);
  REQUIRE(next->has_value());
  CHECK((*next)->has_value());
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: one that ends again and again is waited for longer") {
  start(two_hooks);
  for (const auto wait : {5s, 10s, 20s}) {
    const auto lives = plugin.lives;
    plugin.events.ended({Errc::unavailable, "it hung up"});
    settle();
    advance(wait - 1s);
    CHECK(plugin.lives == lives);
    advance(2s);
    CHECK(plugin.lives == lives + 1);
  }
}

TEST_CASE_FIXTURE(test::LinkFixture, "plugin link: silence is refused, and its questions with it") {
  const auto link = start({});
  const auto asked = ask<client::hook::Answered>(
      link,
      plugin::plugin_link::RunHook{1, "h", phase(plugin::Phase::PRESTART), scope().place, {}});
  advance(4s);
  CHECK(status().state == PluginState::refused);
  CHECK(status().problem == "it did not say what it is within 3s");
  REQUIRE(asked->has_value());
  CHECK((*asked)->error().code == Errc::rejected);
}

TEST_CASE_FIXTURE(test::LinkFixture, "plugin link: nonsense is refused and not started again") {
  start([](plugin::Plugin& plugin) { plugin.is("other", "1"); });
  CHECK(status().state == PluginState::refused);
  advance(10min);
  CHECK(plugin.lives == 1);
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: a mistake in the configuration is refused where it stands") {
  start(
      [](plugin::Plugin& plugin) {
        plugin.is("p", "1").config({{.name = "wait", .kind = plugin::ConfigKind::DURATION}});
      },
      R"({"wait":"long"})", {{"", "a.hcl:3"}, {"wait", "a.hcl:5"}});
  CHECK(status().problem == "a.hcl:5: plugin.p.config: wait: expected a duration such as \"10s\"");
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: what the plugin says of its configuration is shown") {
  start([](plugin::Plugin& plugin) {
    plugin.is("p", "1").on_configure([](const plugin::Config&) -> Result<> {
      return Error{Errc::invalid_argument, "no url"};
    });
  });
  CHECK(status().state == PluginState::refused);
  CHECK(status().problem == "its configuration is wrong: no url");
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: one that answers no ping is ended, and another follows") {
  start(two_hooks);
  plugin.mute = true;
  advance(39s);
  CHECK(plugin.lives == 1);
  advance(3s);
  CHECK(status().state == PluginState::restarting);
  CHECK(status().problem.find("it answered nothing for 30s") != std::string::npos);
}

TEST_CASE_FIXTURE(
    test::LinkFixture,
    "plugin link: who floods is not handled faster than allowed, and nothing is lost") {
  start([](plugin::Plugin& plugin) { plugin.is("p", "1"); });
  const auto before = plugin.handled;
  Draft<schema::plugin::Frame> draft;
  draft->initMetric().setName("x");
  const auto frame = draft.freeze();
  for (int i = 0; i < 30'000; ++i)
    plugin.events.frame(frame, 10);
  settle();
  CHECK(plugin.handled - before <= 20'010 * 10);
  CHECK(status().delays >= 1);
  advance(1s);
  CHECK(plugin.handled - before == 30'000 * 10);
  CHECK(status().state == PluginState::running);
}

TEST_CASE_FIXTURE(test::LinkFixture, "plugin link: facts are asked for again at their interval") {
  auto asked = std::make_shared<int>(0);
  start([asked](plugin::Plugin& plugin) {
    plugin.is("p", "1").fingerprinter(
        "f", 10s, [asked](plugin::Host&) -> Result<std::map<std::string, std::string>> {
          return std::map<std::string, std::string>{{"n", std::to_string(++*asked)}};
        });
  });
  CHECK(facts->get("f").at("n") == "1");
  advance(11s);
  CHECK(facts->get("f").at("n") == "2");
}
