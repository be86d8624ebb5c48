// The mailboxes of a node's actors while one kind of them handles nothing and tasks, users and
// servers go on: what waits for it does not grow with what happens.
#include <set>

#include "client_fixture.hpp"
#include "test/support/node_questions.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct MailboxFixture : ClientFixture {
  static constexpr int allocs = 4;

  std::vector<Object<schema::Job>> jobs;
  std::uint64_t version = 1;

  MailboxFixture() {
    set_variable("app", {{"port", "80"}});
    start(/*durable=*/true);
    for (int number = 1; number <= allocs; ++number) {
      jobs.push_back(churning_job(number));
      assign(make_alloc(jobs.back(), number), jobs.back());
    }
    advance(1s);
  }

  /// Two tasks, one of which ends and begins all the time; a service; a template; a deployment to
  /// be judged.
  static Object<schema::Job> churning_job(int number) {
    Draft<schema::Job> draft{
        make_job({.id = "j" + std::to_string(number),
                  .tasks = {{.name = "web"}, {.name = "churns", .config = R"({"run_for":"20ms"})"}},
                  .restart_attempts = 1'000'000,
                  .restart_delay = 5ms,
                  .min_healthy_time = 5min})};
    auto service = draft->getTaskGroups()[0].initServices(1)[0];
    service.setName("api");
    service.setProvider("nomad");
    auto file = draft->getTaskGroups()[0].getTasks()[0].initTemplates(1)[0];
    file.setEmbeddedTmpl(R"({{ with nomadVar "app" }}{{ .port }}{{ end }})");
    file.setDestPath("local/app");
    file.setChangeMode("noop");
    file.setPerms("0644");
    file.setLeftDelim("{{");
    file.setRightDelim("}}");
    return draft.freeze();
  }

  void flood(int rounds, bool from_servers) {
    for (int i = 0; i < rounds; ++i) {
      set_variable("app", {{"port", std::to_string(++version)}});
      for (int number = 1; number <= allocs; ++number) {
        if (from_servers) {
          assign(changed(make_alloc(jobs[static_cast<std::size_t>(number - 1)], number), ++version,
                         [](auto&) {}),
                 jobs[static_cast<std::size_t>(number - 1)]);
          actor::tell(client, test::signal_tasks(alloc_id(number), "web", "SIGHUP"));
        }
        settle();
      }
      advance(30ms);
    }
  }
};

/// Whether every message of the interface is a question: these are refused beyond a bound.
template <class Interface>
constexpr bool takes_questions_only = false;

template <class... Replies, class... Requests>
constexpr bool takes_questions_only<
    actor::Interface<Replies(Requests)...>> = (!std::is_void_v<Replies> && ...);

}  // namespace

TEST_CASE("mailboxes: drivers and doors to the servers are asked, and not told") {
  static_assert(takes_questions_only<client::Driver>);
  static_assert(takes_questions_only<NodeDoor>);
  static_assert(!takes_questions_only<client::Hook>);
}

TEST_CASE("mailboxes: what waits for an actor of a node does not grow with what happens") {
  // Whom servers and users tell directly: by a watch that is answered, by questions.
  const std::set<std::string> told_by_others{"client", "alloc_runner", "task_runner",
                                             "mock_driver"};
  for (const std::string kind : {"alloc_health_watcher", "alloc_runner", "alloc_sync", "client",
                                 "client_db", "data_watcher", "driver_manager", "function_hook",
                                 "mock_driver", "services_hook", "task_runner", "template_hook"}) {
    CAPTURE(kind);
    const bool from_servers = !told_by_others.contains(kind);
    MailboxFixture node;
    node.flood(3, from_servers);
    node.hold(kind);
    node.flood(4, from_servers);
    const auto early = node.fullest(kind);
    node.flood(15, from_servers);
    // One message of each allocation and task.
    CHECK(early >= 1);
    CHECK(node.fullest(kind) <= early + 2 * MailboxFixture::allocs);
    node.hold("");
    node.settle();
  }
}
