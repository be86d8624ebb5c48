// When templates are rendered, when a task may start, and what is done to it after a change.
#include "runtime/workload/templates/task_templates.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::workload;
using namespace std::chrono_literals;
using templates::ChangeMode;
using templates::ClusterQuery;
using Locations = std::vector<std::size_t>;

namespace {

const ClusterQuery app{
    .kind = ClusterQuery::Kind::variable, .name_space = "default", .name = "app"};
const ClusterQuery db{.kind = ClusterQuery::Kind::service, .name_space = "default", .name = "db"};

TemplateTerms restarting(Nanoseconds wait = 0s, Nanoseconds splay = 0s) {
  return {.rule = {.mode = ChangeMode::restart, .splay = splay},
          .wait_min = wait,
          .wait_max = 4 * wait};
}

TemplateTerms signalling(const char* signal) {
  return {.rule = {.mode = ChangeMode::signal, .signal = signal}};
}

/// A task whose templates all ask for `app`, and have been rendered before it started.
TaskTemplates started(const std::vector<TemplateTerms>& terms) {
  TaskTemplates task{terms};
  task.begin(false, false);
  std::vector<TemplateRendering> done;
  for (const auto index : task.take_due(0s))
    done.push_back({.index = index, .asked = {app}, .written = true});
  task.rendered(done);
  REQUIRE(task.is_ready());
  task.released();
  task.started();
  return task;
}

/// `app` changes, and all that is due then gets another text.
void change(TaskTemplates& task, Nanoseconds now) {
  task.news(app, now);
  std::vector<TemplateRendering> done;
  for (const auto index : task.take_due(now))
    done.push_back({.index = index, .asked = {app}, .written = true});
  task.rendered(done);
}

}  // namespace

TEST_CASE("task_templates: a task may start when all of them are whole") {
  TaskTemplates task{{restarting(), restarting()}};
  task.begin(false, false);
  CHECK(task.take_due(0s) == Locations{0, 1});
  CHECK(task.take_due(0s).empty());  // One rendering at a time.
  const nomad::templates::VariableQuery awaited{.path = "app", .waits = true};
  task.rendered({{.index = 0, .written = true},
                 {.index = 1, .asked = {app}, .missing = {"app"}, .awaited = awaited}});
  CHECK_FALSE(task.is_ready());
  CHECK(task.missing() == std::set<std::string>{"app"});
  CHECK(task.awaited_variable() == awaited);
  CHECK(task.followed() == std::set{app});

  task.news(db, 1s);
  CHECK(task.take_due(1s).empty());
  task.news(app, 2s);
  CHECK(task.take_due(2s) == Locations{1});
  task.rendered({{.index = 1, .asked = {app}, .written = true}});
  CHECK(task.is_ready());
  CHECK(task.missing().empty());
  CHECK_FALSE(task.awaited_variable());
}

TEST_CASE("task_templates: one that is rendered once follows nothing when it is whole") {
  auto terms = restarting();
  terms.once = true;
  TaskTemplates task{{terms, restarting()}};
  task.begin(false, false);
  REQUIRE(task.take_due(0s) == Locations{0, 1});
  task.rendered({{.index = 0, .asked = {app}, .missing = {"app"}}, {.index = 1, .asked = {db}}});
  CHECK(task.followed() == std::set{app, db});
  CHECK(task.follows(0));
  task.news(app, 1s);
  REQUIRE(task.take_due(1s) == Locations{0});
  task.rendered({{.index = 0, .asked = {app}, .written = true}});
  CHECK(task.followed() == std::set{db});
  CHECK_FALSE(task.follows(0));
  CHECK(task.follows(1));
  task.released();
  task.started();
  task.news(app, 2s);
  task.file_changed(0, 2s);
  CHECK(task.take_due(2s).empty());
  CHECK_FALSE(task.due());

  // Whoever has it rendered before each start has it followed until then.
  task.exited();
  task.begin(false, true);
  CHECK(task.follows(0));
  CHECK(task.take_due(3s) == Locations{0, 1});
}

TEST_CASE("task_templates: the scripts of the first rendering run once the task does") {
  auto terms = restarting(0s, 10s);
  terms.rule.mode = ChangeMode::script;
  terms.rule.script = {.command = "/bin/load", .runs_first = true};
  auto other = terms;
  other.rule.script = {.command = "/bin/other"};
  TaskTemplates task{{terms, other}};
  task.begin(false, false);
  task.take_due(0s);
  task.rendered({{.index = 0, .asked = {app}, .written = true}, {.index = 1, .written = true}});
  task.released();
  CHECK_FALSE(task.take_plan(0s, 0));
  task.started();
  const auto plan = task.take_plan(0s, 7);
  REQUIRE(plan);
  REQUIRE(plan->scripts.size() == 1);
  CHECK(plan->scripts[0].command == "/bin/load");
  CHECK_FALSE(plan->restarts);
  CHECK(task.unsettled().empty());
  change(task, 1s);
  CHECK_FALSE(task.take_plan(100s, 0));
  task.acted();
  CHECK(task.take_plan(100s, 0)->scripts.size() == 1);
  task.acted();

  // Not for a restart with the same text, but for one that renders anew.
  task.exited();
  task.begin(false, false);
  task.started();
  CHECK_FALSE(task.take_plan(101s, 0));
  task.exited();
  task.begin(false, true);
  task.take_due(102s);
  task.rendered({{.index = 0}, {.index = 1}});
  task.started();
  CHECK(task.take_plan(102s, 0)->scripts.size() == 1);
}

TEST_CASE("task_templates: the script of the first rendering is not run in a task that runs") {
  auto terms = restarting();
  terms.rule.mode = ChangeMode::script;
  terms.rule.script = {.command = "/bin/load", .runs_first = true};
  TaskTemplates task{{terms}};
  task.begin(true, false);
  task.take_due(0s);
  task.rendered({{.index = 0}});
  task.released();
  task.started();
  CHECK_FALSE(task.take_plan(0s, 0));
}

TEST_CASE("task_templates: what was written before the start changes nothing") {
  auto task = started({restarting()});
  CHECK_FALSE(task.take_plan(1s, 0));
}

TEST_CASE("task_templates: restarts of several are one, and nothing else is done") {
  auto task = started({restarting(), signalling("SIGHUP"), restarting()});
  change(task, 1s);
  const auto plan = task.take_plan(1s, 0);
  REQUIRE(plan);
  CHECK(plan->restarts);
  CHECK(plan->signals.empty());
  CHECK_FALSE(task.take_plan(1s, 0));
}

TEST_CASE("task_templates: changes wait until the last plan has been carried out") {
  auto task = started({signalling("SIGHUP")});
  change(task, 1s);
  REQUIRE(task.take_plan(1s, 0));
  change(task, 2s);
  CHECK_FALSE(task.take_plan(2s, 0));
  task.acted();
  CHECK(task.take_plan(2s, 0));
}

TEST_CASE("task_templates: what changes while the task ends is what it starts with") {
  auto task = started({restarting()});
  change(task, 1s);
  REQUIRE(task.take_plan(1s, 0));
  change(task, 2s);
  task.exited();
  task.acted();
  task.begin(false, false);
  CHECK(task.is_ready());
  task.released();
  task.started();
  CHECK_FALSE(task.take_plan(3s, 0));
}

TEST_CASE("task_templates: what changes between the start and its news is dealt with then") {
  auto task = started({restarting()});
  task.exited();
  task.begin(false, false);
  task.released();
  change(task, 1s);
  CHECK_FALSE(task.take_plan(1s, 0));
  task.started();
  CHECK(task.take_plan(1s, 0)->restarts);
}

TEST_CASE("task_templates: a task that was found running is left alone unless a file is another") {
  for (const bool written : {false, true}) {
    TaskTemplates task{{restarting()}};
    task.begin(true, false);
    REQUIRE(task.take_due(0s) == Locations{0});
    task.rendered({{.index = 0, .asked = {app}, .written = written}});
    REQUIRE(task.is_ready());
    task.released();
    task.started();
    CHECK(task.take_plan(0s, 0).has_value() == written);
  }
}

TEST_CASE("task_templates: many changes are one rendering after a quiet time, or the longest") {
  auto task = started({restarting(1s)});
  for (int i = 0; i < 10; ++i) {
    task.news(app, i * 100ms);
    CHECK(task.take_due(i * 100ms).empty());
  }
  CHECK(task.due() == Nanoseconds{1900ms});
  CHECK(task.take_due(1900ms) == Locations{0});
  task.rendered({{.index = 0, .asked = {app}, .written = true}});
  CHECK(task.take_plan(1900ms, 0)->restarts);

  auto busy = started({restarting(1s)});
  for (auto at = Nanoseconds{0}; at < 4s; at += 500ms)
    busy.news(app, at);
  CHECK(busy.due() == Nanoseconds{4s});
}

TEST_CASE("task_templates: a splay gathers what changes within it") {
  auto task = started({restarting(0s, 10s), signalling("SIGHUP")});
  task.news(app, 1s);
  REQUIRE(task.take_due(1s) == Locations{0, 1});
  task.rendered({{.index = 0, .asked = {app}, .written = true}, {.index = 1, .asked = {app}}});
  CHECK_FALSE(task.take_plan(1s, 4'000'000'000));
  CHECK(task.due() == Nanoseconds{5s});
  change(task, 3s);
  CHECK_FALSE(task.take_plan(3s, 9'000'000'000));
  CHECK(task.take_plan(5s, 0)->restarts);
  CHECK_FALSE(task.due());
}

TEST_CASE("task_templates: rendering anew before a restart holds the start again") {
  auto task = started({restarting()});
  task.exited();
  task.begin(false, true);
  CHECK_FALSE(task.is_ready());
  CHECK(task.take_due(1s) == Locations{0});
  task.rendered({{.index = 0, .asked = {app}, .written = true}});
  CHECK(task.is_ready());
  task.released();
  task.started();
  CHECK_FALSE(task.take_plan(1s, 0));
}

TEST_CASE("task_templates: a start that was given up renders what it lacks the next time") {
  TaskTemplates task{{restarting()}};
  task.begin(false, false);
  REQUIRE(task.take_due(0s) == Locations{0});
  task.rendered({});  // It was cancelled.
  task.exited();
  task.begin(false, false);
  CHECK(task.take_due(1s) == Locations{0});
}

TEST_CASE("task_templates: noop asks for nothing") {
  auto task = started({{.rule = {.mode = ChangeMode::noop}}});
  change(task, 1s);
  CHECK_FALSE(task.take_plan(1s, 0));
  CHECK_FALSE(task.due());
}

TEST_CASE("task_templates: a file that has changed is read when its template's wait is over") {
  auto task = started({restarting(2s), restarting()});
  task.file_changed(0, 1s);
  CHECK(task.take_due(2s).empty());
  CHECK(task.take_due(3s) == Locations{0});
  task.rendered({{.index = 0, .written = true}});
  CHECK(task.take_plan(3s, 0)->restarts);
}

TEST_CASE("task_templates: what an earlier agent left undone is done if the task still runs") {
  for (const bool is_running : {true, false}) {
    CAPTURE(is_running);
    TaskTemplates task{{signalling("SIGHUP"), signalling("SIGUSR1")}};
    task.begin(is_running, false);
    task.resume({1, 7});  // The job may have fewer templates than it had.
    std::vector<TemplateRendering> done;
    for (const auto index : task.take_due(0s))
      done.push_back({.index = index, .asked = {app}});
    task.rendered(done);
    task.released();
    CHECK(task.unsettled() == (is_running ? std::set<std::size_t>{1} : std::set<std::size_t>{}));
    task.started();
    const auto plan = task.take_plan(0s, 0);
    REQUIRE(plan.has_value() == is_running);
    if (!plan) continue;
    CHECK(plan->signals == std::vector<std::string>{"SIGUSR1"});
    CHECK(task.unsettled() == std::set<std::size_t>{1});
    task.acted();
    CHECK(task.unsettled().empty());
  }
}

TEST_CASE("task_templates: a task acts on what is written unless it starts with it") {
  TaskTemplates task{{restarting()}};
  task.begin(false, false);
  CHECK_FALSE(task.acts_on_changes());
  task.released();
  CHECK(task.acts_on_changes());
  task.started();
  CHECK(task.acts_on_changes());
  task.exited();
  CHECK_FALSE(task.acts_on_changes());
  task.begin(true, false);
  CHECK(task.acts_on_changes());
}
