#include "actors/plugin/plugin_hook.hpp"

#include <doctest/doctest.h>

#include "runtime/object/entries.hpp"
#include "test/unit/actors/plugin/link_fixture.hpp"

using namespace nomad;

namespace {

client::HookEntry entry_with_meta(const plugin::PluginLink& link) {
  Draft<schema::plugin::Declaration::Hook> hook;
  hook->setName("h");
  hook->setMeta("color");
  hook->initPhases(1).set(0, schema::plugin::Phase::PRESTART);
  return plugin::plugin_hook(link, hook.reader());
}

client::HookScope with_meta(const client::HookScope& base, bool has) {
  Draft<schema::Job> job{base.job};
  auto group = job->initTaskGroups(1)[0];
  group.setName("g");
  auto task = group.initTasks(1)[0];
  task.setName("t");
  if (has) fill_entries(task.initMeta(1), {{"color", "red"}});
  return {base.alloc, job.freeze(), base.place};
}

}  // namespace

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin hook: one that wants a key of meta is asked for tasks that have it") {
  const auto entry = entry_with_meta({});
  CHECK(entry.wanted(with_meta(scope(), true)));
  CHECK_FALSE(entry.wanted(with_meta(scope(), false)));
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin hook: the instance of the plugin ends with its actor") {
  auto lives = std::make_shared<int>(0);

  struct Counts final : plugin::Hook {
    explicit Counts(std::shared_ptr<int> of) : lives{std::move(of)} { ++*lives; }

    ~Counts() override { --*lives; }

    void run(const plugin::HookCall&, const plugin::HookReply& reply) override {
      reply(plugin::HookAnswer{});
    }

    std::shared_ptr<int> lives;
  };

  const auto link = start([lives](plugin::Plugin& plugin) {
    plugin.is("p", "1").task_hook(
        {.name = "h", .phases = {plugin::Phase::PRESTART}},
        [lives](plugin::HookHost&) { return std::make_unique<Counts>(lives); });
  });
  const client::HookTools tools{
      .host = {}, .steps = {}, .checks = {}, .unix_now = [] { return std::int64_t{0}; }};
  const auto hook = plugin::spawn_plugin_hook(system(), link, "h", tools, scope());
  const auto answer = ask<client::hook::Answered>(hook, phase(schema::plugin::Phase::PRESTART));
  CHECK((answer->has_value() && (*answer)->has_value()));
  CHECK(*lives == 1);

  actor::stop(hook);
  settle();

  CHECK(*lives == 0);
}
