// Hooks that behave badly, and what their runner makes of them.
#include "actors/client/hooks/hook_set.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "actors/client/hooks/function_hook.hpp"
#include "actors/client/plugin_catalog.hpp"
#include "runtime/object/entries.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/unit/actors/client/hooks/hook_environments.hpp"

using namespace nomad;
using namespace nomad::test;
using namespace std::chrono_literals;
using client::HookEntry;
using client::HookPhase;
using client::HookSet;

namespace {

/// Does something in the runner's turn.
struct Do {
  using is_message = void;
  std::function<void(HookSet&)> what;
};

using Runner = actor::Interface<void(Do)>;

using Fill = std::function<void(schema::plugin::HookRequest::Builder)>;

struct Owner final : client::HookOwner {
  Fill filled;

  explicit Owner(Fill filler) : filled(std::move(filler)) {}

  client::PluginAgent agent() const override { return {}; }

  client::HookScope hook_scope() const override {
    Draft<schema::plugin::HookTarget> target;
    target->setAllocId("alloc");
    return {Draft<schema::Allocation>{}.freeze(), Draft<schema::Job>{}.freeze(), target.freeze()};
  }

  void fill(const HookEntry&, schema::plugin::HookRequest::Builder request) const override {
    filled(request);
  }

  client::Environments environments() const override {
    client::Environments all = *test::environments_of({{"COLOR", "red"}});
    all.of_tasks.emplace("web", all.own);
    return all;
  }
};

struct RunnerState {
  static constexpr const char* name = "runner";

  std::optional<Owner> owner;
  std::optional<HookSet> hooks;
};

Runner::behavior_type runner(Runner::stateful_pointer<RunnerState> self,
                             const std::vector<HookEntry>* entries,
                             Fill fill) {
  auto& owner = self->state.owner.emplace(std::move(fill));
  auto& hooks = self->state.hooks.emplace(self, *entries, owner);
  actor::on_down(self, [&hooks](const actor::Down& down) { hooks.child_down(down); });
  return {[&hooks](Do& msg) { msg.what(hooks); }};
}

struct HookSetFixture : ActorFixture {
  std::vector<HookEntry> entries;
  std::vector<std::string> log;  ///< What the hooks and the runner saw.
  bool runs = false;             ///< What requests say of the task.
  std::vector<bool> running;     ///< What slow hooks were told of the task.
  Runner set;
  int spawned = 0;

  using Promise = actor::Promise<client::hook::Answered>;
  using Behavior = std::function<actor::Answer<client::hook::Answered>(const client::hook::Run&)>;

  static HookEntry entry(std::string name, client::HookPhases phases) {
    return {.name = std::move(name), .phases = phases, .spawn = {}};
  }

  /// A hook that answers each request like that.
  HookEntry quick(std::string name, client::HookPhases phases, Behavior behavior) {
    auto made = entry(std::move(name), phases);
    made.spawn = [this, behavior](const actor::Owner& owner, const client::PluginAgent&,
                                  const client::HookScope&) {
      ++spawned;
      return actor::spawn(owner, [behavior](client::Hook::pointer) -> client::Hook::behavior_type {
        return {[behavior](const client::hook::Run& msg) { return behavior(msg); },
                [](client::hook::Cancel) { return client::hook::Settled{}; },
                [](const client::hook::TasksChanged&) {}};
      });
    };
    return made;
  }

  /// A hook that answers nothing by itself. What it owes is settled by `told` when it is told of
  /// tasks, and by `cancelled`, if there is one, when it is cancelled.
  HookEntry slow(std::string name,
                 client::HookPhases phases,
                 std::function<void(const Promise&)> told,
                 std::function<void(const Promise&)> cancelled = {}) {
    auto made = entry(std::move(name), phases);
    made.watches_tasks = true;
    made.spawn = [this, told, cancelled](const actor::Owner& owner, const client::PluginAgent&,
                                         const client::HookScope&) {
      ++spawned;
      return actor::spawn(
          owner,
          [this, told, cancelled](client::Hook::pointer self) -> client::Hook::behavior_type {
            const auto owed = std::make_shared<Promise>();
            const auto never = std::make_shared<actor::Promise<client::hook::Settled>>();
            return {[this, self,
                     owed](const client::hook::Run& msg) -> actor::Answer<client::hook::Answered> {
                      running.push_back(msg.request->getRunning());
                      *owed = self->make_response_promise<client::hook::Answered>();
                      return *owed;
                    },
                    [self, owed, never,
                     cancelled](client::hook::Cancel) -> actor::Answer<client::hook::Settled> {
                      if (cancelled) {
                        cancelled(*owed);
                        return client::hook::Settled{};
                      }
                      *never = self->make_response_promise<client::hook::Settled>();
                      return *never;
                    },
                    [owed, told](const client::hook::TasksChanged&) { told(*owed); }};
          });
    };
    return made;
  }

  static void answer(const Promise& owed) { owed.deliver(client::hook::Answered{}); }

  void tell_tasks() {
    act([](HookSet& hooks) { hooks.tell(client::hook::TasksChanged{}); });
  }

  void start() {
    set = adopt(actor::spawn(
        system(), runner, &entries,
        [this](schema::plugin::HookRequest::Builder request) { request.setRunning(runs); }));
    settle();
  }

  void act(std::function<void(HookSet&)> what) { tell(set, Do{std::move(what)}); }

  void ask(std::size_t location, client::HookPhase phase) {
    act([this, location, phase](HookSet& hooks) {
      hooks.ask(location, phase, [this](const HookSet::Answer& answer) {
        log.push_back(answer ? "answered" : answer.error().what);
      });
    });
  }

  static actor::Answer<client::hook::Answered> answers(const client::hook::Run&) {
    return client::hook::Answered{};
  }

  static actor::Answer<client::hook::Answered> fails(const client::hook::Run&) {
    return Error{Errc::io, "no luck"};
  }
};

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(HookSetFixture,
                  "hook_set: environments come as values, or as bytes to who is told so") {
  const auto color_of = [](const client::hook::Run& msg) {
    const auto bytes = msg.request->getEnvironment().getVariables();
    const auto of_task = msg.request->getTasks();
    const auto as_bytes = bytes.size() == 0
                              ? std::string{"-"}
                              : fmt::format("{}={} of {}", view(bytes[0].getKey()),
                                            view(bytes[0].getValue()), view(of_task[0].getKey()));
    const auto as_values
        = msg.environments ? msg.environments->own.variables().find("COLOR")->second : "-";
    return as_values + " " + as_bytes;
  };
  const auto reading = [&](const std::string& name, bool in_bytes) {
    auto made = quick(name, {client::HookPhase::PRESTART, client::HookPhase::STOP},
                      [this, color_of](const auto& msg) {
                        log.push_back(color_of(msg));
                        return actor::Answer<client::hook::Answered>{client::hook::Answered{}};
                      });
    made.reads_environment = {client::HookPhase::PRESTART};
    made.is_told_in_bytes = in_bytes;
    return made;
  };
  entries = {reading("values", false), reading("bytes", true)};
  start();
  ask(0, client::HookPhase::PRESTART);
  ask(1, client::HookPhase::PRESTART);
  ask(0, client::HookPhase::STOP);
  settle();
  CHECK(log == Strings{"red -", "answered", "- COLOR=red of web", "answered", "- -", "answered"});
}

TEST_CASE_FIXTURE(HookSetFixture, "hook_set: one that never answers fails its phase in time") {
  entries = {slow("mute", {HookPhase::PRERUN, HookPhase::POSTRUN}, answer)};
  entries[0].patience = 20s;
  start();
  ask(0, HookPhase::PRERUN);
  advance(19s);
  CHECK(log.empty());
  advance(2s);
  CHECK(log == Strings{"it did not answer in time"});
  ask(0, HookPhase::POSTRUN);
  CHECK(spawned == 2);
}

TEST_CASE_FIXTURE(HookSetFixture, "hook_set: one that throws fails its phase, and is made anew") {
  entries = {quick("thrower", {HookPhase::PRERUN, HookPhase::POSTRUN},
                   [](const auto&) -> actor::Answer<client::hook::Answered> {
                     throw std::runtime_error{"a bug"};
                   })};
  start();
  ask(0, HookPhase::PRERUN);
  REQUIRE(log.size() == 1);
  CHECK(log[0].find("a bug") != std::string::npos);
  ask(0, HookPhase::POSTRUN);
  CHECK(log.size() == 2);
  CHECK(spawned == 2);
}

TEST_CASE_FIXTURE(HookSetFixture, "hook_set: one that answers twice is heard once") {
  entries = {slow("twice", {HookPhase::PRERUN}, [](const Promise& owed) {
    answer(owed);
    owed.deliver(Error{Errc::io, "second thoughts"});
  })};
  start();
  ask(0, HookPhase::PRERUN);
  tell_tasks();
  CHECK(log == Strings{"answered"});
}

TEST_CASE_FIXTURE(HookSetFixture, "hook_set: one that ignores a cancel is given up") {
  entries = {slow("stubborn", {HookPhase::PRERUN, HookPhase::POSTRUN}, answer)};
  start();
  ask(0, HookPhase::PRERUN);
  act([](HookSet& hooks) { hooks.cancel_all(); });
  advance(9s);
  CHECK(log.empty());
  advance(2s);
  CHECK(log == Strings{"it was cancelled and did not answer"});
  advance(1h);
  CHECK(log.size() == 1);
  ask(0, HookPhase::POSTRUN);
  CHECK(spawned == 2);
}

TEST_CASE_FIXTURE(HookSetFixture,
                  "hook_set: one that answers late, after a cancel, is heard once") {
  entries = {slow("late", {HookPhase::PRERUN, HookPhase::POSTRUN}, answer)};
  start();
  ask(0, HookPhase::PRERUN);
  act([](HookSet& hooks) { hooks.cancel_all(); });
  advance(5s);
  tell_tasks();
  CHECK(log == Strings{"answered"});
  advance(10s);
  CHECK(log.size() == 1);
}

TEST_CASE_FIXTURE(HookSetFixture, "hook_set: a cancelled hook answers, and its phase is over") {
  entries = {slow("good", {HookPhase::PRERUN, HookPhase::POSTRUN}, answer, [](const Promise& owed) {
    owed.deliver(Error{Errc::cancelled, "cancelled"});
  })};
  start();
  ask(0, HookPhase::PRERUN);
  act([](HookSet& hooks) { hooks.cancel_all(); });
  CHECK(log == Strings{"cancelled"});
  ask(0, HookPhase::POSTRUN);
  CHECK(spawned == 1);  // It lives on.
}

TEST_CASE_FIXTURE(HookSetFixture,
                  "hook_set: who watches sees all there is before it is dismissed") {
  entries = {slow(
                 "watcher", {HookPhase::PRERUN},
                 [this](const Promise& owed) {
                   log.push_back("saw");
                   if (owed.pending()) answer(owed);
                 },
                 [](const Promise&) {}),
             quick("other", {HookPhase::PRERUN, HookPhase::POSTRUN}, answers)};
  const auto dismiss
      = [this](HookSet& hooks) { hooks.dismiss_watchers([this] { log.push_back("dismissed"); }); };
  start();
  act(dismiss);  // There is none yet.
  CHECK(log == Strings{"dismissed"});
  log.clear();
  ask(0, HookPhase::PRERUN);
  tell_tasks();
  CHECK(log == Strings{"saw", "answered"});
  log.clear();
  act([&dismiss](HookSet& hooks) {
    hooks.tell(client::hook::TasksChanged{});
    dismiss(hooks);
  });
  CHECK(log == Strings{"saw", "dismissed"});
}

TEST_CASE_FIXTURE(HookSetFixture, "hook_set: one that only prepares ends when it has") {
  entries = {quick("prepares", {HookPhase::PRESTART}, answers),
             quick("lives", {HookPhase::PRESTART, HookPhase::STOP}, answers)};
  start();
  for (int i = 0; i < 2; ++i) {
    ask(0, HookPhase::PRESTART);
    ask(1, HookPhase::PRESTART);
  }
  CHECK(log == Strings(4, "answered"));
  CHECK(spawned == 3);
}

TEST_CASE_FIXTURE(HookSetFixture, "hook_set: a failed hook holds the others of its phase not up") {
  entries = {quick("fails", {HookPhase::POSTRUN}, fails),
             quick("unwanted", {HookPhase::POSTRUN}, answers),
             quick("good", {HookPhase::POSTRUN}, answers)};
  entries[1].wanted = [](const client::HookScope&) { return false; };
  start();
  act([this](HookSet& hooks) {
    hooks.ask_all(
        HookPhase::POSTRUN,
        [this](const HookEntry& hook, const Error& err) {
          log.push_back(hook.name + " " + err.what);
        },
        [this] { log.push_back("over"); });
  });
  CHECK(log == Strings{"fails no luck", "over"});
  CHECK(spawned == 2);
}

TEST_CASE_FIXTURE(HookSetFixture, "hook_set: updates of one hook come one at a time, newest last") {
  entries = {slow("slow", {HookPhase::UPDATE}, answer)};
  start();
  const auto update = [this](bool now) {
    runs = now;
    act([](HookSet& hooks) { hooks.update([](const HookEntry&, const Error&) {}); });
  };
  update(false);
  update(false);
  update(false);
  update(true);
  CHECK(running == std::vector<bool>{false});
  tell_tasks();
  CHECK(running == std::vector<bool>{false, true});
}

TEST_CASE_FIXTURE(HookSetFixture, "hook_set: an update asks anew whether a hook is wanted") {
  bool wanted = false;
  entries = {quick("services", {HookPhase::UPDATE, HookPhase::STOP}, answers)};
  entries[0].wanted = [&wanted](const client::HookScope&) { return wanted; };
  start();
  const auto update = [this] {
    act([](HookSet& hooks) { hooks.update([](const HookEntry&, const Error&) {}); });
  };
  update();
  CHECK(spawned == 0);
  wanted = true;
  update();
  CHECK(spawned == 1);
  wanted = false;
  update();  // Told for the last time, and ended.
  wanted = true;
  update();
  CHECK(spawned == 2);
}

TEST_CASE_FIXTURE(HookSetFixture,
                  "function_hook: each phase has its function, others are answered") {
  HookEntry hook{
      .name = "files",
      .phases = {HookPhase::PRERUN, HookPhase::POSTRUN, HookPhase::DESTROY},
      .spawn = client::function_hook(
          adopt(client::spawn_inline_blocking_pool(system())),
          {{HookPhase::PRERUN,
            [this](const client::HookCall& call) -> Result<client::HookResult> {
              log.push_back("prerun " + copy(call.target().getAllocId()));
              return client::HookResult{};
            }},
           {HookPhase::DESTROY, [](const client::HookCall&) -> Result<client::HookResult> {
              return Error{Errc::io, "no luck"};
            }}})};
  entries = {hook};
  start();
  ask(0, HookPhase::PRERUN);
  ask(0, HookPhase::POSTRUN);
  ask(0, HookPhase::DESTROY);
  CHECK(log == Strings{"prerun alloc", "answered", "answered", "no luck"});
}

TEST_CASE("plugin_catalog: hooks stand where they are, or behind the one that they name") {
  const auto named = [](const char* name, const char* after = "") {
    return HookEntry{.name = name, .after = after, .phases = {HookPhase::PRERUN}, .spawn = {}};
  };
  const auto names = [](const std::vector<HookEntry>& hooks) {
    Strings list;
    for (const auto& hook : hooks)
      list.push_back(hook.name);
    return list;
  };
  auto ordered = client::in_order(
      {named("x", "a"), named("a"), named("b"), named("z", "y"), named("y", "a")});
  REQUIRE(ordered);
  CHECK(names(*ordered) == Strings{"a", "x", "y", "z", "b"});
  CHECK(client::in_order({named("a"), named("b", "c")}).error().what
        == "hook \"b\" comes after \"c\", which is no hook");
  CHECK(client::in_order({named("a"), named("a")}).error().what == "two hooks are named \"a\"");
  CHECK(client::in_order({named("a", "b"), named("b", "a")}).error().what
        == "hook \"a\" comes after itself by way of \"b\"");
}
