// Files of tasks that follow services and variables: a whole client with mock tasks.
#include "actors/client/hooks/template_hook.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/stat.h>

#include "runtime/base/text.hpp"
#include "test/support/node_questions.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::TaskRunState;

namespace {

struct TemplateSpec {
  std::string data = {};
  std::string source = {};
  std::string destination = "local/app.conf";
  std::string mode = "restart";
  std::string signal = {};
  std::string perms = "0644";
  bool env = false;
  Nanoseconds wait_min = 0s;
  Nanoseconds wait_max = 0s;
  Nanoseconds splay = 0s;
};

const std::string port_of_app = R"(port={{ with nomadVar "app" }}{{ .port }}{{ end }})";

struct TemplateFixture : ClientFixture {
  Object<schema::Job> job;

  void make(const std::vector<TemplateSpec>& specs, bool renders_on_restart = false) {
    Draft<schema::Job> draft{make_job({})};
    auto group = draft->getTaskGroups()[0];
    group.getRestartPolicy().setRenderTemplates(renders_on_restart);
    auto list = group.getTasks()[0].initTemplates(static_cast<unsigned>(specs.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      const auto& spec = specs[i];
      list[i].setEmbeddedTmpl(text(spec.data));
      list[i].setSourcePath(text(spec.source));
      list[i].setDestPath(text(spec.destination));
      list[i].setChangeMode(text(spec.mode));
      list[i].setChangeSignal(text(spec.signal));
      list[i].setPerms(text(spec.perms));
      list[i].setEnvvars(spec.env);
      list[i].setLeftDelim("{{");
      list[i].setRightDelim("}}");
      list[i].setSplay(spec.splay.count());
      auto wait = list[i].initWait();
      wait.getMin().setValue(spec.wait_min.count());
      wait.getMax().setValue(spec.wait_max.count());
    }
    job = draft.freeze();
  }

  void run(const std::vector<TemplateSpec>& specs) {
    make(specs);
    start();
    assign(make_alloc(job, 1), job);
    advance(1s);
  }

  std::string path(const std::string& file) const {
    return dir.file("allocs") + '/' + alloc_id(1) + "/web/" + file;
  }

  std::string file(const std::string& name = "local/app.conf") const {
    std::ifstream in{path(name)};
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }

  bool is_running() { return heard.contains(alloc_id(1)) && status(1) == ClientStatus::RUNNING; }

  using Details = std::map<std::string, std::string>;

  /// Of the task's last event of this type.
  Details details(const std::string& type) {
    Details details;
    for (const auto event : task(1).getEvents())
      if (view(event.getType()) == type) {
        details.clear();
        for (const auto entry : event.getDetails())
          details.emplace(copy(entry.getKey()), copy(entry.getValue()));
      }
    return details;
  }

  /// The sentences of the task's events of this type.
  std::vector<std::string> said(const std::string& type) {
    std::vector<std::string> said;
    if (!heard.contains(alloc_id(1))) return said;
    for (const auto event : task(1).getEvents())
      if (view(event.getType()) == type) said.push_back(copy(event.getDisplayMessage()));
    return said;
  }
};

using Said = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: a task starts when what it asks for is there") {
  run({{.data = port_of_app}});
  advance(4s);
  CHECK_FALSE(is_running());
  CHECK(said("Template") == Said{"Missing: nomad.var.block(app@default.global)"});
  CHECK(details("Template").at("missing_variable") == "app");
  CHECK(details("Template").at("missing_variable_namespace") == "default");
  CHECK_FALSE(std::filesystem::exists(path("local/app.conf")));

  set_variable("app", {{"port", "80"}});
  advance(1s);
  CHECK(is_running());
  CHECK(file() == "port=80");
}

TEST_CASE_FIXTURE(TemplateFixture,
                  "template_hook: a change restarts the task, which is not counted") {
  set_variable("app", {{"port", "80"}});
  run({{.data = port_of_app}});
  REQUIRE(is_running());
  set_variable("app", {{"port", "81"}});
  advance(6s);
  CHECK(file() == "port=81");
  CHECK(said("Restart Signaled") == Said{"Template with change_mode restart re-rendered"});
  CHECK(task(1).getState() == TaskRunState::RUNNING);
  CHECK(said("Restarting").size() == 1);
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: the environment is there at each rendering") {
  set_variable("app", {{"port", "80"}});
  run({{.data = R"({{ env "NOMAD_TASK_NAME" }} {{ with nomadVar "app" }}{{ .port }}{{ end }})",
        .mode = "noop"}});
  CHECK(file() == "web 80");
  set_variable("app", {{"port", "81"}});
  advance(1s);
  CHECK(file() == "web 81");
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: env knows the node at each rendering") {
  set_variable("app", {{"port", "80"}});
  run({{.data = R"({{ env "node.datacenter" }} {{ envOrDefault "meta.none" "no" }} )"
                R"({{ len (env "node.unique.id") }} {{ with nomadVar "app" }}{{ .port }}{{ end }})",
        .mode = "noop"}});
  CHECK(file() == "dc1 no 36 80");
  set_variable("app", {{"port", "81"}});
  advance(1s);
  CHECK(file() == "dc1 no 36 81");
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: the same text again is no change") {
  set_variable("app", {{"port", "80"}});
  run({{.data = port_of_app}});
  set_variable("app", {{"port", "80"}, {"other", "x"}});
  advance(6s);
  CHECK(said("Restart Signaled").empty());
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: whether a variable exists is not guessed") {
  set_variable("app", {{"port", "80"}});
  const std::string data
      = R"({{ nomadVarExists "app" }} {{ if nomadVarExists "none" }}yes{{ else }}no{{ end }})";
  run({{.data = data}});
  advance(10s);
  CHECK(file() == "true no");
  CHECK(is_running());
  CHECK(said("Restart Signaled").empty());
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: two files of one variable are one restart") {
  set_variable("app", {{"port", "80"}});
  run({{.data = port_of_app}, {.data = port_of_app, .destination = "local/other.conf"}});
  const int before = data_questions;
  set_variable("app", {{"port", "81"}});
  advance(6s);
  CHECK(said("Restart Signaled").size() == 1);
  CHECK(file("local/other.conf") == "port=81");
  CHECK(data_questions == before + 1);
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: a signal is sent, and told") {
  set_variable("app", {{"port", "80"}});
  run({{.data = port_of_app, .mode = "signal", .signal = "SIGHUP"}});
  set_variable("app", {{"port", "81"}});
  advance(1s);
  CHECK(file() == "port=81");
  CHECK(said("Signaling") == Said{"Template re-rendered"});
  CHECK(said("Restart Signaled").empty());
  CHECK(is_running());
}

TEST_CASE_FIXTURE(TemplateFixture,
                  "template_hook: what was written when the agent died is dealt with by the next") {
  const auto note = dir.file("allocs") + '/' + alloc_id(1) + "/.templates/web";
  std::string mode = "signal";
  SUBCASE("a signal") {}
  SUBCASE("a restart") {
    mode = "restart";
  }
  make({{.data = port_of_app, .mode = mode, .signal = "SIGHUP", .splay = 10min}});
  set_variable("app", {{"port", "80"}});
  start(true);
  assign(make_alloc(job, 1), job);
  advance(1s);
  CHECK_FALSE(std::filesystem::exists(note));
  set_variable("app", {{"port", "81"}});
  advance(1s);
  REQUIRE(file() == "port=81");
  const auto told
      = [this, &mode] { return said(mode == "signal" ? "Signaling" : "Restart Signaled").size(); };
  CHECK(std::filesystem::exists(note) == (told() == 0));  // The splay may be over by chance.

  crash();
  start(true);
  advance(11min);
  CHECK(told() == 1);
  CHECK(is_running());
  CHECK_FALSE(std::filesystem::exists(note));

  crash();
  start(true);
  advance(11min);
  INFO(join(events(1), ", "));
  CHECK(told() == 1);
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: ten changes within the wait are one restart") {
  set_variable("app", {{"port", "0"}});
  run({{.data = port_of_app, .wait_min = 1s, .wait_max = 4s}});
  for (int i = 1; i <= 10; ++i) {
    set_variable("app", {{"port", std::to_string(i)}});
    advance(100ms);
  }
  CHECK(file() == "port=0");
  advance(8s);
  CHECK(file() == "port=10");
  CHECK(said("Restart Signaled").size() == 1);
}

TEST_CASE_FIXTURE(TemplateFixture,
                  "template_hook: however often data changes, one that is slow hears of it once") {
  set_variable("app", {{"port", "0"}});
  run({{.data = port_of_app, .mode = "noop"}});
  hold("template_hook");
  for (int i = 1; i <= 30; ++i) {
    set_variable("app", {{"port", std::to_string(i)}});
    advance(1s);
  }
  CHECK(fullest("template_hook") <= 2);  // And a timer.

  hold("");
  advance(10s);
  CHECK(file() == "port=30");
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: variables of env = true reach the task") {
  set_variable("app", {{"port", "80"}});
  run({{.data = "PORT={{ with nomadVar \"app\" }}{{ .port }}{{ end }}\n",
        .destination = "secrets/app.env",
        .env = true}});
  CHECK(is_running());
  CHECK(file("secrets/app.env") == "PORT=80\n");
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: an environment that is none ends the task") {
  set_variable("app", {{"port", "80"}});
  run({{.data = "no equals sign", .env = true}});
  advance(6s);
  CHECK(status(1) == ClientStatus::FAILED);
  REQUIRE(said("Killing").size() == 1);
  CHECK(
      said("Killing")[0].starts_with("Template failed to read environment variables: error "
                                     "parsing env template"));
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: a template that fails ends the task") {
  run({{.data = "{{ index 1 2 }}"}});
  advance(6s);
  CHECK(status(1) == ClientStatus::FAILED);
  REQUIRE(said("Killing").size() == 1);
  CHECK(said("Killing")[0].starts_with("Template failed: execute: template: :1:"));
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: a text without end is refused") {
  run({{.data = "{{ range loop 2000000 }}0123456789{{ end }}"}});
  advance(6s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK_FALSE(std::filesystem::exists(path("local/app.conf")));
}

TEST_CASE_FIXTURE(TemplateFixture,
                  "template_hook: what waits is given up when the task is killed") {
  run({{.data = port_of_app}});
  stop_alloc(1, 5);
  advance(1s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  set_variable("app", {{"port", "80"}});
  advance(1s);
  CHECK_FALSE(std::filesystem::exists(path("local/app.conf")));
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: after the end nothing is written any more") {
  set_variable("app", {{"port", "80"}});
  run({{.data = port_of_app}});
  stop_alloc(1, 5);
  advance(10s);
  set_variable("app", {{"port", "81"}});
  advance(10s);
  CHECK(file() == "port=80");
}

TEST_CASE_FIXTURE(TemplateFixture,
                  "template_hook: destinations outside of the directories are refused") {
  run({{.data = "x", .destination = "local/../../../escaped"}});
  advance(6s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(said("Task hook failed")
        == Said{"template: template destination path escapes alloc directory"});
}

TEST_CASE_FIXTURE(TemplateFixture,
                  "template_hook: sources outside of the directories are refused") {
  run({{.source = "../../../../etc/passwd"}});
  advance(6s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(said("Task hook failed") == Said{"template: template source path escapes alloc directory"});
}

TEST_CASE_FIXTURE(TemplateFixture,
                  "template_hook: sources that are no files of the task are refused") {
  make({{.source = "local/source"}});
  start();
  SUBCASE("absent") {}
  SUBCASE("a FIFO") {
    std::filesystem::create_directories(path("local"));
    REQUIRE(::mkfifo(path("local/source").c_str(), 0600) == 0);
  }
  SUBCASE("a link out") {
    std::filesystem::create_directories(path("local"));
    std::filesystem::create_symlink("/etc/passwd", path("local/source"));
  }
  assign(make_alloc(job, 1), job);
  advance(6s);
  CHECK(status(1) == ClientStatus::FAILED);
  REQUIRE(said("Task hook failed").size() == 1);
  CHECK(said("Task hook failed")[0].starts_with("template: failed to read template: "));
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: nothing is written through a link out") {
  make({{.data = "x", .destination = "local/conf/app"}});
  start();
  std::filesystem::create_directories(path("local"));
  std::filesystem::create_directories(dir.file("outside"));
  std::filesystem::create_directory_symlink(dir.file("outside"), path("local/conf"));
  assign(make_alloc(job, 1), job);
  advance(6s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(std::filesystem::is_empty(dir.file("outside")));
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: a file has the mode that it is to have") {
  run({{.data = "x", .destination = "secrets/deep/key", .perms = "600"}});

  struct stat status {};

  REQUIRE(::stat(path("secrets/deep/key").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: one question for all templates of a task") {
  set_variable("app", {{"port", "80"}});
  make({{.data = port_of_app, .destination = "local/a", .mode = "noop"},
        {.data = port_of_app, .destination = "local/b", .mode = "noop"}});
  start();
  assign(make_alloc(job, 1), job);
  advance(1s);
  CHECK(held_data.size() == 1);
  CHECK(data_questions == 2);  // The answer, and the next change.
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: servers that are away are asked again") {
  data_refusal = Error{Errc::unavailable, "No servers"};
  run({{.data = port_of_app}});
  advance(30s);
  CHECK_FALSE(is_running());
  CHECK(data_questions < 12);
  data_refusal.reset();
  set_variable("app", {{"port", "80"}});
  advance(1min);
  CHECK(is_running());
}

TEST_CASE_FIXTURE(TemplateFixture, "template_hook: what a task may not read is told once") {
  data_refusal = Error{Errc::permission_denied, "Permission denied"};
  run({{.data = port_of_app}});
  advance(10s);
  CHECK_FALSE(is_running());
  const auto told = said("Template");
  CHECK(std::ranges::count(told, "app: Permission denied; asking again") == 1);
  data_refusal.reset();
  set_variable("app", {{"port", "80"}});
  advance(1min);
  CHECK(is_running());
}

TEST_CASE_FIXTURE(TemplateFixture,
                  "template_hook: on restart files are made anew if the job says so") {
  make({{.data = "{{ timestamp }}"}}, true);
  start();
  assign(make_alloc(job, 1), job);
  advance(1s);
  const auto before = file();
  CHECK_FALSE(before.empty());
  ask<door::NodeReply>(client, test::restart_tasks(alloc_id(1), ""));
  advance(10s);
  CHECK(is_running());
  CHECK(file() != before);
}
