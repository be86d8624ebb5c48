// Which command an action is, and what is refused.
#include "runtime/workload/node/task_action.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;

namespace {

struct Actions {
  Actions() {
    Draft<schema::Allocation> alloc_draft;
    alloc_draft->setId("alloc");
    alloc_draft->setJobId("web");
    alloc_draft->setTaskGroup("api");
    alloc = alloc_draft.freeze();
    Draft<schema::Job> draft;
    auto groups = draft->initTaskGroups(2);
    for (unsigned i = 0; i < 2; ++i) {
      groups[i].setName(i == 0 ? "other" : "api");
      auto task = groups[i].initTasks(1)[0];
      task.setName("server");
      auto action = task.initActions(1)[0];
      action.setName(i == 0 ? "elsewhere" : "say");
      action.setCommand("/bin/echo");
      auto args = action.initArgs(2);
      args.set(0, "a b");
      args.set(1, "${NOMAD_TASK_NAME}");
    }
    job = draft.freeze();
  }

  std::string command(std::string_view action,
                      std::string_view task = "server",
                      std::string_view job_id = "web") const {
    const auto words = workload::command_of_action(
        {.alloc = *alloc, .job = *job, .job_id = job_id, .task = task, .action = action});
    if (!words) {
      CHECK(words.error().code == Errc::invalid_argument);
      return words.error().what;
    }
    std::string joined;
    for (const auto& word : *words)
      joined += '[' + word + ']';
    return joined;
  }

  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

}  // namespace

TEST_CASE_FIXTURE(Actions, "task action: a program and its arguments, as the job has them") {
  CHECK(command("say") == "[/bin/echo][a b][${NOMAD_TASK_NAME}]");
}

TEST_CASE_FIXTURE(Actions, "task action: of the allocation's own job, group and task") {
  CHECK(command("say", "server", "other") == "job other does not have allocation alloc");
  CHECK(command("say", "client") == "task client not found in allocation alloc");
  CHECK(command("elsewhere") == "action elsewhere not found in task server");
  CHECK(command("") == "action  not found in task server");
}
