#include "actors/plugin/plugin_driver.hpp"

#include <doctest/doctest.h>

#include "actors/client/drivers/driver_objects.hpp"
#include "test/unit/actors/plugin/link_fixture.hpp"

using namespace nomad;

namespace {

/// Says what it is, and that run "r" is over whenever it is asked how it feels.
void telling_driver(plugin::Plugin& plugin) {
  struct Tells final : plugin::Driver {
    explicit Tells(plugin::Agent& to) : agent{to} {}

    void ask(schema::plugin::DriverRequest::Reader request,
             const plugin::DriverReply& reply) override {
      if (request.isDescribe())
        return reply(plugin::FillAnswer{[](auto answer) {
          answer.initDescription().initCapabilities().setFsIsolation("none");
        }});
      capnp::MallocMessageBuilder message;
      auto notice = message.initRoot<schema::plugin::Notice>();
      notice.setAllocId("a1");
      notice.initExited().setRunId("r");
      agent.tell(notice.asReader());
      reply(plugin::FillAnswer{[](auto answer) { answer.setDone(); }});
    }

    plugin::Agent& agent;
  };

  plugin.is("p", "1").driver("d",
                             [](plugin::Agent& agent) { return std::make_unique<Tells>(agent); });
}

}  // namespace

TEST_CASE_FIXTURE(test::LinkFixture,
                  "plugin driver: it answers as the plugin's does, and ends with the process") {
  const auto link = start(telling_driver);
  client::DriverOptions options;
  options.name = "d";
  std::vector<std::string> told;
  options.agent = adopt(actor::spawn(
      system(), [&told](client::PluginAgent::pointer) -> client::PluginAgent::behavior_type {
        return {
            [&told](const client::plugin_agent::Notice& msg) {
              told.push_back(copy(msg.notice->getDriver()) + ' '
                             + copy(msg.notice->getExited().getRunId()));
            },
            [](const client::plugin_agent::Ask&) -> actor::Answer<client::plugin_agent::Answered> {
              return client::plugin_agent::Answered{};
            }};
      }));
  const auto driver = plugin::spawn_plugin_driver(system(), link, options);
  settle();

  const auto about = ask<client::driver::Answered>(driver, client::driver::describe());
  REQUIRE((about->has_value() && (*about)->has_value()));
  CHECK(view((**about)->answer->getDescription().getCapabilities().getFsIsolation()) == "none");
  ask<client::driver::Answered>(driver, client::driver::fingerprint());
  CHECK_MESSAGE(told.empty(), "it tells of a task that it was never asked to run");
  ask<client::driver::Answered>(driver, client::driver::recover_task({"a1", ""}, {}));
  CHECK(told == std::vector<std::string>{"d r"});

  plugin.mute = true;
  const auto odd = ask<client::driver::Answered>(driver, client::driver::fingerprint());
  for (std::uint64_t number = 1; number < 10; ++number)
    say([number](schema::plugin::Frame::Builder frame) {
      frame.setNumber(number);
      frame.setDone();
    });
  settle();
  REQUIRE(odd->has_value());
  CHECK((*odd)->error().what == "it answered something else than a driver does");

  plugin.events.ended({Errc::unavailable, "it hung up"});
  settle();

  const auto late = ask<client::driver::Answered>(driver, client::driver::describe());
  REQUIRE(late->has_value());
  CHECK((*late)->error().code == Errc::unavailable);
}
