#include "actors/plugin/plugin_link.hpp"

#include <algorithm>
#include <stdexcept>

#include <doctest/doctest.h>

#include "actors/core/actor_registry.hpp"
#include "test/unit/actors/plugin/link_fixture.hpp"
#include "test/unit/actors/plugin/two_hooks.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using plugin::PluginState;
using test::run_of;
using test::Runner;
using test::two_hooks;

namespace {

/// A runner that answers no question.
client::PluginAgent spawn_silent_host(test::ActorFixture& fixture) {
  using Promise = actor::Promise<client::plugin_agent::Answered>;
  return fixture.adopt(actor::spawn(
      fixture.system(),
      [open = std::make_shared<std::vector<Promise>>()](
          client::PluginAgent::pointer self) -> client::PluginAgent::behavior_type {
        return {[](const client::plugin_agent::Notice&) {},
                [self, open](const client::plugin_agent::Ask&)
                    -> actor::Answer<client::plugin_agent::Answered> {
                  open->push_back(self->make_response_promise<client::plugin_agent::Answered>());
                  return open->back();
                }};
      }));
}

}  // namespace

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: a plugin says what it is, is configured and runs") {
  start(two_hooks);
  CHECK(status().state == PluginState::running);
  CHECK(copy(status().declaration->getVersion()) == "1.2.3");
}

TEST_CASE_FIXTURE(test::LinkFixture, "plugin link: who lists the actors sees whose it is") {
  start(two_hooks);
  const auto all = actor::list_actors(system());
  const auto link = std::ranges::find(all, "plugin_link", &actor::ActorInfo::name);
  REQUIRE(link != all.end());
  CHECK(link->about == "p");
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: a hook's phase is answered, and what it says is of its task") {
  const auto link = start(two_hooks);
  const Runner runner;
  const auto answer = ask<client::hook::Answered>(
      link, plugin::plugin_link::RunHook{1, "answers", phase(plugin::Phase::PRESTART),
                                         scope().target, runner.spawn(*this)});
  REQUIRE((answer->has_value() && (*answer)->has_value()));
  CHECK(view((**answer)->answer->getEnvironment()[0].getKey()) == "A");
  CHECK(*runner.told == std::vector<std::string>{"a1:a1/t"});
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: an end answers what is open, and another process follows") {
  const auto link = start(two_hooks);
  const Runner runner;
  const auto agent = runner.spawn(*this);
  const auto lost = ask<client::hook::Answered>(
      link, plugin::plugin_link::RunHook{1, "waits", phase(plugin::Phase::PRESTART), scope().target,
                                         agent});
  CHECK_FALSE(lost->has_value());

  plugin.events.ended({Errc::unavailable, "it hung up"});
  settle();

  REQUIRE(lost->has_value());
  CHECK((*lost)->error().code == Errc::unavailable);
  CHECK(status().state == PluginState::restarting);
  const auto next = ask<client::hook::Answered>(
      link, plugin::plugin_link::RunHook{2, "answers", phase(plugin::Phase::PRESTART),
                                         scope().target, agent});
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
      plugin::plugin_link::RunHook{1, "h", phase(plugin::Phase::PRESTART), scope().target, {}});
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
  for (int i = 0; i < 30'000; ++i)
    say([](auto frame) { frame.initMetric().setName("x"); });
  settle();
  CHECK(plugin.handled - before <= 20'010 * 10);
  CHECK(status().delays >= 1);
  advance(1s);
  CHECK(plugin.handled - before <= 22'500 * 10);
  advance(5s);
  CHECK(plugin.handled - before == 30'000 * 10);
  CHECK(status().state == PluginState::running);
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: one that floods and answers no ping is ended in the end") {
  start(two_hooks);
  plugin.mute = true;
  for (int i = 0; i < 250 && status().state == PluginState::running; ++i) {
    for (int many = 0; many < (i == 0 ? 22'000 : 2'000); ++many)
      say([](auto frame) { frame.initMetric().setName("x"); });
    advance(1s);
  }
  CHECK(status().state != PluginState::running);
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: a hook that is cancelled or over before it was asked never is") {
  const auto link = start(two_hooks);
  const Runner runner;
  const auto agent = runner.spawn(*this);
  plugin.events.ended({Errc::unavailable, "it hung up"});
  settle();
  const auto cancelled = ask<client::hook::Answered>(link, run_of(*this, 1, "answers", agent));
  const auto over = ask<client::hook::Answered>(link, run_of(*this, 2, "answers", agent));

  ask<client::hook::Settled>(link, plugin::plugin_link::CancelHook{1});
  actor::tell(link, plugin::plugin_link::CloseHook{2});
  settle();

  REQUIRE(cancelled->has_value());
  CHECK((*cancelled)->error() == Error{Errc::cancelled, "it was cancelled before it was asked"});
  REQUIRE(over->has_value());
  CHECK((*over)->error().code == Errc::cancelled);
  advance(6s);
  CHECK(status().state == PluginState::running);
  CHECK_MESSAGE(runner.told->empty(), "the next process was asked");
}

TEST_CASE_FIXTURE(test::LinkFixture, "plugin link: what is open of a hook ends with it") {
  const auto link = start(two_hooks);
  const auto open = ask<client::hook::Answered>(link, run_of(*this, 1, "waits", {}));
  CHECK_FALSE(open->has_value());
  plugin.mute = true;  // it does not say that it gives up
  actor::tell(link, plugin::plugin_link::CloseHook{1});
  settle();
  REQUIRE(open->has_value());
  CHECK((*open)->error().code == Errc::cancelled);
  CHECK((*open)->error().what.ends_with(", hook waits: the hook is over"));
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: after a crash of the link the API answers on, drivers begin anew") {
  const auto starts = std::make_shared<int>(0);
  const auto link = start([starts](plugin::Plugin& plugin) {
    two_hooks(plugin);
    struct Counts final : plugin::Actor {
      explicit Counts(std::shared_ptr<int> to) : count{std::move(to)} {}

      void start() override { ++*count; }

      std::shared_ptr<int> count;
    };

    plugin.actor("a", [starts](plugin::Agent&) { return std::make_unique<Counts>(starts); });
  });
  actor::tell(link, plugin::plugin_link::Serve{.gate = std::make_shared<plugin::ApiGate>(
                                                   std::make_shared<const net::HttpRouter>()),
                                               .node_event = {}});
  const auto stand_in
      = adopt(actor::spawn(system(), [](client::Driver::pointer) -> client::Driver::behavior_type {
          return {[](const client::driver::Ask&) -> actor::Answer<client::driver::Answered> {
            return client::driver::Answered{};
          }};
        }));
  actor::tell(link, plugin::plugin_link::ServeDriver{"d", stand_in, {}});
  settle();
  CHECK(*starts == 1);

  clock_breaks = true;
  say([](auto frame) { frame.initHookNotice().initNotice().initEvent(); });
  settle();

  CHECK(plugin.lives == 2);
  CHECK(status().state == PluginState::running);
  CHECK(*starts == 2);
  const auto asked = ask<client::driver::Answered>(stand_in, client::driver::Ask{});
  REQUIRE(asked->has_value());
  CHECK_MESSAGE(!(*asked)->has_value(), "whoever stood for the driver goes on");
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: a configuration that was taken once is not what is wrong later") {
  const auto lives = std::make_shared<int>(0);
  start([lives](plugin::Plugin& plugin) {
    plugin.is("p", "1").on_configure([lives](const plugin::Config&) -> Result<> {
      if (++*lives == 2) return Error{Errc::io, "the disk is full"};
      return {};
    });
  });
  plugin.events.ended({Errc::unavailable, "it hung up"});
  settle();
  advance(6s);
  CHECK(status().state == PluginState::restarting);
  CHECK(status().problem.find("the disk is full") != std::string::npos);
  advance(11s);
  CHECK(status().state == PluginState::running);
}

TEST_CASE_FIXTURE(test::LinkFixture, "plugin link: one that is refused is not heard any more") {
  const auto link = start(two_hooks);
  const Runner runner;
  ask<client::hook::Answered>(link, run_of(*this, 1, "answers", runner.spawn(*this)));
  runner.told->clear();
  const auto events = plugin.events;
  actor::tell(link, plugin::plugin_link::Refuse{"its name is taken"});
  Draft<schema::plugin::Frame> draft;
  auto notice = draft->initHookNotice();
  notice.setInstance(1);
  notice.initNotice().initEvent().setMessage("late");
  events.frame(draft.freeze(), 10);
  settle();
  CHECK(runner.told->empty());
  CHECK(status().state == PluginState::refused);
}

TEST_CASE_FIXTURE(test::LinkFixture, "plugin link: what it says is one line of a bounded length") {
  start([](plugin::Plugin& plugin) {
    plugin.is("p", "1").on_configure([](const plugin::Config&) -> Result<> {
      return Error{Errc::invalid_argument, "bad\n\x1b[31m2026 forged" + std::string(100'000, 'x')};
    });
  });
  CHECK(status().problem.find('\n') == std::string::npos);
  CHECK(status().problem.find('\x1b') == std::string::npos);
  CHECK(status().problem.size() < 5000);
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: events are bounded in length and in number, ends are not") {
  const auto link = start(two_hooks);
  const Runner runner;
  ask<client::hook::Answered>(link, run_of(*this, 1, "answers", runner.spawn(*this)));
  runner.told->clear();
  for (int i = 0; i < 1000; ++i)
    say([](auto frame) {
      auto notice = frame.initHookNotice();
      notice.setInstance(1);
      notice.initNotice().initEvent().setMessage(std::string(10'000, 'y').c_str());
    });
  settle();
  CHECK(runner.told->size() < 250);
  REQUIRE_FALSE(runner.told->empty());
  CHECK(runner.told->front().size() < 5000);
}

TEST_CASE_FIXTURE(test::LinkFixture, "plugin link: there is a bound to what it asks of runners") {
  const auto link = start(two_hooks);
  ask<client::hook::Answered>(link, run_of(*this, 1, "answers", spawn_silent_host(*this)));
  for (int i = 1; i <= 1000; ++i)
    say([i](auto frame) {
      frame.setNumber(static_cast<unsigned>(i));
      auto question = frame.initAskAgent();
      question.setInstance(1);
      question.initRequest().setReadAlloc();
    });
  settle();
  CHECK_MESSAGE(plugin.refusals >= 1000 - 256, "all of them are open");
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: facts that are not answered are not asked for again and again") {
  start([](plugin::Plugin& plugin) {
    plugin.is("p", "1").fingerprinter(
        "f", 1s, [](plugin::Agent&) -> Result<std::map<std::string, std::string>> {
          return std::map<std::string, std::string>{{"n", std::string(5000, 'z')}};
        });
  });
  CHECK_MESSAGE(facts->get("f").attributes.empty(), "a value of 5,000 bytes is no attribute");
  plugin.mute = true;
  const auto before = status().frames_out;
  advance(20s);
  CHECK(status().frames_out - before <= 3);  // one question, and pings
}

TEST_CASE_FIXTURE(test::LinkFixture, "plugin link: facts are asked for again at their interval") {
  auto asked = std::make_shared<int>(0);
  start([asked](plugin::Plugin& plugin) {
    plugin.is("p", "1").fingerprinter(
        "f", 10s, [asked](plugin::Agent&) -> Result<std::map<std::string, std::string>> {
          return std::map<std::string, std::string>{{"n", std::to_string(++*asked)}};
        });
  });
  CHECK(facts->get("f").attributes.at("n") == "1");
  advance(11s);
  CHECK(facts->get("f").attributes.at("n") == "2");
}

TEST_CASE_FIXTURE(test::LinkFixture, "plugin link: once it has stopped no other process follows") {
  const auto link = start(two_hooks);
  plugin.events.ended({Errc::unavailable, "it hung up"});
  settle();
  CHECK(status().state == PluginState::restarting);
  const auto stopped = ask<plugin::plugin_link::Stopped>(link, plugin::plugin_link::Stop{});
  CHECK(stopped->has_value());
  advance(10min);
  CHECK(plugin.lives == 1);
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: its process is bounded for good, unless there are drivers") {
  start(two_hooks);
  CHECK_FALSE(plugin.has_drivers);
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin link: one whose memory can't be bounded is refused, and says so") {
  plugin.bounded = Error{Errc::rejected, "its memory can't be bounded: Operation not permitted"};
  start(two_hooks);
  CHECK(status().state == PluginState::refused);
  CHECK(status().problem == "its memory can't be bounded: Operation not permitted");
}
