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
  return {base.alloc, job.freeze(), base.target};
}

}  // namespace

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin hook: one that wants a key of meta is asked for tasks that have it") {
  const auto entry = entry_with_meta({});
  CHECK(entry.wanted(with_meta(scope(), true)));
  CHECK_FALSE(entry.wanted(with_meta(scope(), false)));
}

TEST_CASE_FIXTURE(
    test::LinkFixture,
    "plugin hook: one for devices is asked for tasks that have got some of its kind") {
  Draft<schema::plugin::Declaration::Hook> hook;
  hook->setName("h");
  hook->setDevices("acme/gadget");
  hook->initPhases(1).set(0, schema::plugin::Phase::PRESTART);
  const auto entry = plugin::plugin_hook({}, hook.reader());
  const auto wanted = [&](const char* task, const char* type) {
    auto whom = scope();
    Draft<schema::Allocation> alloc{whom.alloc};
    auto resources = alloc->initAllocatedResources().initTasks(1)[0];
    resources.setKey(task);
    auto device = resources.initValue().initDevices(1)[0];
    device.setVendor("acme");
    device.setType(type);
    whom.alloc = alloc.freeze();
    return entry.wanted(whom);
  };
  CHECK(wanted("t", "gadget"));
  CHECK_FALSE(wanted("t", "gpu"));
  CHECK_FALSE(wanted("other", "gadget"));
  CHECK_FALSE(entry.wanted(scope()));
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin hook: a fingerprinter's devices are kept, and nonsense is not") {
  auto vendor = std::make_shared<std::string>("acme");
  start([vendor](plugin::Plugin& plugin) {
    plugin.is("p", "1").devices(
        "gadgets", {.vendor = *vendor, .type = "gadget", .interval = std::chrono::seconds{2}},
        [vendor](plugin::Agent&) -> Result<std::vector<plugin::DeviceGroup>> {
          return std::vector<plugin::DeviceGroup>{
              {.name = *vendor, .attributes = {{"memory", "11 GiB"}}, .instances = {{"a"}, {"b"}}}};
        },
        [](plugin::HookRunner&, const plugin::HookCall&, const plugin::ReservedDevices&)
            -> Result<plugin::HookAnswer> { return plugin::HookAnswer{}; });
  });
  const auto found = facts->get("gadgets").devices;
  REQUIRE(found.size() == 1);
  CHECK(found[0].vendor == "acme");
  CHECK(found[0].instances.size() == 2);
  *vendor = "no/name";
  advance(std::chrono::seconds{3});
  CHECK(facts->get("gadgets").devices[0].name == "acme");
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
        [lives](plugin::HookRunner&) { return std::make_unique<Counts>(lives); });
  });
  const auto hook = plugin::spawn_plugin_hook(system(), link, "h", {}, scope());
  const auto answer = ask<client::hook::Answered>(hook, phase(schema::plugin::Phase::PRESTART));
  CHECK((answer->has_value() && (*answer)->has_value()));
  CHECK(*lives == 1);

  actor::stop(hook);
  settle();

  CHECK(*lives == 0);
}

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin hook: an answer of another kind than a hook's is a failure") {
  const auto link = start([](plugin::Plugin& plugin) {
    plugin.is("p", "1").task_hook({.name = "h", .phases = {plugin::Phase::PRESTART}},
                                  plugin::hook_of([](auto&, auto&) -> Result<plugin::HookAnswer> {
                                    return plugin::HookAnswer{};
                                  }));
  });
  plugin.mute = true;
  const auto hook = adopt(plugin::spawn_plugin_hook(system(), link, "h", {}, scope()));
  const auto answer = ask<client::hook::Answered>(hook, phase(schema::plugin::Phase::PRESTART));
  for (std::uint64_t number = 1; number < 8; ++number)
    say([number](schema::plugin::Frame::Builder frame) {
      frame.setNumber(number);
      frame.initDecision();
    });
  settle();
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().what == "plugin p, hook h: it answered something else than a hook does");
}
