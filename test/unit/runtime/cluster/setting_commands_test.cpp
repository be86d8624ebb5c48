// The cluster's settings as commands.
#include "runtime/cluster/setting_commands.hpp"

#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;

TEST_CASE("setting_commands: the scheduler's configuration is written unless another is stored") {
  state::StateFixture fixture;
  Draft<schema::SchedulerConfiguration> draft;
  draft->setSchedulerAlgorithm("spread");
  const auto wanted = draft.freeze();

  const auto first
      = cluster::decide_scheduler_configuration(fixture.now(), nomad::test::anybody(), wanted, {});
  REQUIRE(first.has_value());
  REQUIRE(first->command);
  const auto index
      = fixture
            .run([&](auto command) {
              command.setSchedulerConfiguration(first->command->getSchedulerConfiguration());
            })
            .index;
  CHECK(fixture.now().scheduler_configuration()->getModifyIndex() == index);

  CHECK(
      cluster::decide_scheduler_configuration(fixture.now(), nomad::test::anybody(), wanted, index)
          ->command);
  CHECK_FALSE(cluster::decide_scheduler_configuration(fixture.now(), nomad::test::anybody(), wanted,
                                                      index + 1)
                  ->command);
}

TEST_CASE("setting_commands: autopilot's settings say whether they are checked") {
  const auto settings = Draft<schema::AutopilotConfiguration>{}.freeze();

  const auto unchecked = cluster::decide_autopilot(nomad::test::anybody(), settings, {})->command;
  CHECK_FALSE(unchecked->getAutopilotUpdate().getCheck());
  const auto checked = cluster::decide_autopilot(nomad::test::anybody(), settings, 7)->command;
  CHECK(checked->getAutopilotUpdate().getCheck());
  CHECK(checked->getAutopilotUpdate().getConfiguration().getModifyIndex() == 7);
}
