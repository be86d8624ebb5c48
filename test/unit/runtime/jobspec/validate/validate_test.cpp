// The rules that jobs must obey.
#include "runtime/jobspec/validate/validate.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/base/utf8.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"
#include "test/unit/runtime/jobspec/validate/validated.hpp"

using boost::json::array;
using boost::json::object;
using boost::json::value;
using namespace nomad::jobspec;

namespace {

bool is_of_support(const std::string& text) {
  return text.find(" is not supported yet: ") != text.npos
         || text.find(" has no effect yet: ") != text.npos;
}

}  // namespace

TEST_CASE("providers of services that plugins bring are known to who names them") {
  auto job = small_job();
  group_of(job)["Services"] = boost::json::parse(
      R"([{"Name": "web", "Provider": "filsd", "Checks": [{"Name": "c", "Type": "tcp"}]}])");
  const auto mistakes = joined(errors_of(job, {.providers = std::vector<std::string>{"filesd"}}));
  CHECK(mistakes.find("Service provider must be \"consul\", \"filesd\", or \"nomad\"; not "
                      "\"filsd\"; did you mean \"filesd\"?")
        != std::string::npos);
  CHECK(joined(errors_of(job)).find(R"(must be "consul", or "nomad"; not "filsd")")
        != std::string::npos);

  group_of(job).at("Services").at(0).as_object()["Provider"] = "filesd";
  const auto known = joined(errors_of(job, {.providers = std::vector<std::string>{"filesd"}}));
  CHECK(known.find("provider must be") == std::string::npos);
  CHECK_MESSAGE(known.find("check requires a port") != std::string::npos,
                "its checks are run here");

  group_of(job).at("Services").at(0).as_object().erase("Checks");
  const auto unknown = validate(admitted(job).job(), {.providers = std::nullopt});
  CHECK(unknown.ok());
  CHECK(joined(unknown.warnings).find("Service provider \"filesd\" is known only to servers")
        != std::string::npos);
}

TEST_CASE("types of jobs that plugins schedule are known to who names them") {
  auto job = small_job();
  job["Type"] = "labels";
  CHECK(joined(errors_of(job)).find("Invalid job type: \"labels\"") != std::string::npos);
  CHECK(errors_of(job, {.job_types = std::vector<std::string>{"other", "labels"}}).empty());
  CHECK_FALSE(errors_of(job, {.job_types = std::vector<std::string>{"other"}}).empty());
  const auto unknown = validate(admitted(job).job(), {.job_types = std::nullopt});
  CHECK(unknown.ok());
  CHECK(joined(unknown.warnings).find("known only to servers with a plugin") != std::string::npos);
  CHECK(joined(validate(admitted(small_job()).job(), {.job_types = std::nullopt}).warnings)
            .find("known only")
        == std::string::npos);
}

TEST_CASE("the table of rules") {
  const value table = load_json("validate.json");
  ValidateOptions options;
  options.allow_refused = true;
  options.memory_oversubscription = true;
  int refused = 0;
  int accepted = 0;
  for (const value& row : table.at("cases").as_array()) {
    CAPTURE(std::string{row.at("name").as_string()});
    JobDraft draft = drafted(edited(table.at("base"), row.at("edits").as_array()));
    canonicalize(draft.job());
    to_server_form(draft.job());
    Validation found = validate(draft.job(), options);
    std::erase_if(found.warnings, is_of_support);  // the table has the rules of Nomad
    CHECK(joined(found.errors) == joined(row.at("errors")));
    CHECK(joined(found.warnings) == joined(row.at("warnings")));
    ++(found.ok() ? accepted : refused);
  }
  CHECK(refused > 90);
  CHECK(accepted > 10);
}

TEST_CASE("actions: a name without gaps, one of each, and a command") {
  const auto errors_with = [](const std::string& actions) {
    auto job = small_job();
    task_of(job)["Actions"] = boost::json::parse(actions);
    return joined(errors_of(job));
  };
  const auto finds = [&](const std::string& actions, const std::string& text) {
    return errors_with(actions).find(text) != std::string::npos;
  };
  const std::string longest(128, 'a');
  CHECK(errors_with(R"([{"Name":"say-it:now","Command":"/bin/echo","Args":["hi"]}])") == "");
  CHECK(errors_with(R"([{"Name":")" + longest + R"(","Command":"x"}])") == "");
  CHECK(finds(R"([{"Name":")" + longest + R"(a","Command":"x"}])",
              "Action " + longest + "a validation failed: 1 error occurred:\n\t* invalid name '"
                  + longest + "a'"));
  CHECK(finds(R"([{"Name":"","Command":"x"}])",
              "Action  validation failed: 1 error occurred:\n\t* invalid name ''"));
  for (const auto* name : {"a b", "a\\tb", "a\\nb", "a\\u0000b"})
    CHECK(finds(R"([{"Name":")" + std::string{name} + R"(","Command":"x"}])", "* invalid name 'a"));
  CHECK(finds(R"([{"Name":"a"}])",
              "Action a validation failed: 1 error occurred:\n\t* command cannot be empty"));
  const auto twice = errors_with(
      R"([{"Name":"a","Command":"x"},{"Name":"a","Command":"y"},{"Name":"a","Command":"z"}])");
  CHECK(twice.find("Action a defined multiple times") != std::string::npos);
  CHECK(twice.find("multiple times") == twice.rfind("multiple times"));
}

TEST_CASE("ui: its description is no book") {
  const auto errors_with = [](std::size_t bytes) {
    auto job = small_job();
    job["UI"] = object{{"Description", std::string(bytes, 'd')}};
    return joined(errors_of(job));
  };
  CHECK(errors_with(1000) == "");
  CHECK(errors_with(1001) == "UI description must be under 1000 characters, currently 1001\n");
}

TEST_CASE("system jobs: lists of wishes that are empty are none") {
  auto job = small_job();
  job["Type"] = "system";
  for (object* block : {&job, &group_of(job), &task_of(job)}) {
    (*block)["Affinities"] = boost::json::array{};
    (*block)["Spreads"] = boost::json::array{};
  }
  CHECK(joined(errors_of(job)) == "");
}

TEST_CASE("a good job passes") {
  const Validation found = validate(admitted(small_job()).job());
  CHECK(found.ok());
  CHECK(found.error_text().empty());
  CHECK(found.warning_text().empty());
}

TEST_CASE("an inline template has to parse, and its mistake comes with the line") {
  const auto mistakes_of = [](const char* data, const char* left = "{{", const char* right = "}}") {
    object job = small_job();
    task_of(job)["Templates"] = boost::json::array{{{"EmbeddedTmpl", data},
                                                    {"DestPath", "local/x"},
                                                    {"LeftDelim", left},
                                                    {"RightDelim", right}}};
    return joined(errors_of(job));
  };
  CHECK(mistakes_of("{{ range nomadService \"db\" }}{{ .Address }}{{ end }}").empty());
  CHECK(mistakes_of("one\n  {{ if }}\n")
            .find("parse: template: :2: missing value for if; line 2 is \"  {{ if }}\"")
        != std::string::npos);
  CHECK(mistakes_of("{{ noSuchFunction }}").find("function \"noSuchFunction\" not defined")
        != std::string::npos);
  CHECK(mistakes_of("[[ if ]]").empty());
  CHECK_FALSE(mistakes_of("[[ if ]]", "[[", "]]").empty());
}

TEST_CASE("all mistakes are told at once, in one text") {
  object job = small_job();
  job["ID"] = "a b";
  job["Priority"] = 200;
  const Validation found = validate(admitted(job).job());
  CHECK(found.error_text()
        == "2 errors occurred:\n"
           "\t* Job ID contains a space\n"
           "\t* job priority must be between [1, 100]\n\n");
}

TEST_CASE("one mistake and one warning are worded as one") {
  object job = small_job();
  job["Type"] = "batch";
  job["Periodic"] = boost::json::parse(R"({"Spec": "61 * * * *"})");
  const Validation found = validate(admitted(job).job());
  CHECK(found.error_text().starts_with("1 error occurred:\n\t* "));
  CHECK(found.warning_text()
        == "1 warning:\n\n"
           "* cron is deprecated and may be removed in a future release. Use crons instead");
}

TEST_CASE("counts have a bound, and their sum does not wrap") {
  object job = small_job();
  group_of(job)["Count"] = std::int64_t{1} << 40;
  CHECK(joined(errors_of(job))
        == "total count was greater than configured job_max_count: 1099511627776 > 50000\n");

  group_of(job)["Count"] = INT64_MAX;
  job.at("TaskGroups").as_array().push_back(job.at("TaskGroups").at(0));
  job.at("TaskGroups").at(1).as_object()["Name"] = "h";
  CHECK(joined(errors_of(job)).find("9223372036854775807 > 50000") != std::string::npos);

  object at_bound = small_job();
  group_of(at_bound)["Count"] = 50'000;
  CHECK(errors_of(at_bound).empty());
  ValidateOptions unbound;
  unbound.max_count = 0;
  group_of(at_bound)["Count"] = 60'000;
  CHECK(errors_of(at_bound, unbound).empty());
  CHECK_FALSE(errors_of(at_bound).empty());
}

TEST_CASE("constraints have a bound, as what schedulers judge has") {
  for (const char* operand : {"regexp", "version", "semver"}) {
    CAPTURE(operand);
    object job = small_job();
    job["Constraints"] = array{object{{"LTarget", "${attr.cpu.arch}"},
                                      {"Operand", operand},
                                      {"RTarget", std::string(64 * 1024 + 1, '1')}}};
    CHECK(joined(errors_of(job)).find("it has more than 65536 bytes") != std::string::npos);
  }
}

TEST_CASE("names have a bound") {
  object job = small_job();
  const std::string longest(1024, 'x');
  job["ID"] = longest;
  job["Name"] = longest;
  group_of(job)["Name"] = longest;
  CHECK(errors_of(job).empty());
  job["ID"] = longest + 'x';
  job["Name"] = longest + 'x';
  group_of(job)["Name"] = longest + 'x';
  CHECK(joined(errors_of(job))
        == "Job ID has more than 1024 bytes\nJob name has more than 1024 bytes\n"
           "Job task group 1 has a name of more than 1024 bytes\n");
}

TEST_CASE("priority") {
  ValidateOptions options;
  options.max_priority = 1000;
  object job = small_job();
  job["Priority"] = 1000;
  CHECK(errors_of(job, options).empty());
  job["Priority"] = 1001;
  CHECK(joined(errors_of(job, options)) == "job priority must be between [1, 1000]\n");
  job["Priority"] = -1;
  CHECK(joined(errors_of(job)) == "job priority must be between [1, 100]\n");
}

TEST_CASE("what is not carried out is told with the rest, and only warned of if that is allowed") {
  object job = small_job();
  job["ID"] = "a b";
  task_of(job)["Vault"] = boost::json::parse(R"({"Policies": ["p"]})");
  const auto errors = errors_of(job);
  REQUIRE(errors.size() == 2);
  CHECK(errors[0] == "Job ID contains a space");
  CHECK(errors[1].starts_with("group \"g\", task \"t\": vault is not supported yet: "));
  const Validation allowed = validate(admitted(job).job(), {.allow_refused = true});
  CHECK(allowed.errors.size() == 1);
  REQUIRE(allowed.warnings.size() == 1);
  CHECK(allowed.warnings[0] == errors[1]);
}

TEST_CASE("memory_max that has no effect is warned about") {
  object job = small_job();
  task_of(job).at("Resources").as_object()["MemoryMaxMB"] = 200;
  JobDraft kept = admitted(job);
  CHECK(
      validate(kept.job()).warnings
      == std::vector<std::string>{
          "Memory oversubscription is not enabled; Task \"g.t\" memory_max value will be ignored. "
          "Update the Scheduler Configuration to allow oversubscription."});
  ValidateOptions options;
  options.memory_oversubscription = true;
  CHECK(validate(kept.job(), options).warnings.empty());
}

TEST_CASE("connect is refused in words") {
  object job = small_job();
  group_of(job)["Networks"] = boost::json::parse(R"([{"Mode": "bridge"}])");
  group_of(job)["Services"] = boost::json::parse(
      R"([{"Name": "s", "PortLabel": "9000", "Connect": {"SidecarService": {}}}])");
  CHECK(joined(errors_of(job)).find("Consul Connect is not supported") != std::string::npos);
}

TEST_CASE("a payload comes with dispatching only") {
  object job = small_job();
  job["Payload"] = "aGk=";
  CHECK(joined(errors_of(job)) == "job can't be submitted with a payload, only dispatched\n");
}

TEST_CASE("the name of the shared folder is no task name") {
  object job = small_job();
  task_of(job)["Name"] = "alloc";
  CHECK_FALSE(errors_of(job).empty());
}

TEST_CASE("a job without any member is refused, not crashed on") {
  CHECK_FALSE(validate(drafted({}).job()).ok());
  CHECK_FALSE(errors_of({}).empty());
}

TEST_CASE("validate: of very many mistakes the first are told, and the others counted") {
  const auto errors
      = errors_of(object{{"TaskGroups", boost::json::array(std::size_t{5'000}, object{})}});

  REQUIRE(errors.size() > 2);
  CHECK(errors.front() == "Missing job ID");
  CHECK(errors.back().starts_with("and "));
  CHECK(errors.back().ends_with(" more"));
  CHECK(join_errors(errors).size() < 100'000);
}

TEST_CASE("validate: names as long as a request are not told again for each block in them") {
  object job = small_job();
  object task = task_of(job);
  task["Vault"] = object{};
  task["Resources"] = object{{"MemoryMB", 100}, {"MemoryMaxMB", 200}};
  auto& group = group_of(job);
  group["Name"] = std::string(1'000'000, 'x');
  group["Tasks"] = boost::json::array(std::size_t{2'000}, task);
  for (const bool allowed : {false, true}) {
    const Validation found = validate(admitted(job).job(), {.allow_refused = allowed});
    CHECK(found.ok() == false);
    CHECK(found.error_text().size() < 100'000);
    CHECK(found.warning_text().size() < 100'000);
  }
}

TEST_CASE("validate: a text that passes the bound is cut between code points") {
  object job = small_job();
  job["Type"] = std::string(70'000, 'x');
  CHECK(joined(errors_of(job)).size() < 70'000);
  std::string name(1, 'x');
  for (int i = 0; i < 30'000; ++i)
    name += "\u00e4\u20ac";
  for (const char* prefix : {"", "x", "xx"}) {
    task_of(job)["Name"] = prefix + name;
    task_of(job)["Driver"] = "";
    job["Type"] = "service";
    const auto errors = errors_of(job);
    REQUIRE(errors.size() == 2);
    CHECK(errors[1].size() < 4);  // the next one, of which there is no room
    CHECK(errors[0].size() > 65'000);
    CHECK(errors[0].size() <= 64 * 1024);
    CHECK(nomad::is_valid_utf8(errors[0]));
  }
}

TEST_CASE("validate: a long mistake behind others is cut, and not left out") {
  object job = small_job();
  job["ID"] = "a b";
  task_of(job)["Name"] = std::string(64 * 1024, 't');
  task_of(job)["Driver"] = "";
  const auto errors = errors_of(job);
  REQUIRE(errors.size() == 3);
  CHECK(errors[1].starts_with("Task group"));
  CHECK(errors[1].find("Task ttt") != std::string::npos);
}

TEST_CASE("a job's size has bounds, and so has what its programs are started with") {
  object job = small_job();
  ValidateOptions options;
  options.bounds = {.job_bytes = 2'000, .env_bytes = 100};
  CHECK(errors_of(job, options).empty());

  task_of(job)["Env"] = {{"A", std::string(100, 'x')}};
  CHECK(joined(errors_of(job, options))
            .find("env has 101 bytes, at most 100 are taken (limits.job_env_max_kb)")
        != std::string::npos);
  for (auto* block : {&job, &group_of(job), &task_of(job)}) {
    task_of(job)["Env"] = {{"A", "x"}};
    (*block)["Meta"] = {{"m", std::string(100, 'x')}};
    CHECK(joined(errors_of(job, options)).find("meta has 101 bytes") != std::string::npos);
    (*block)["Meta"] = object{};
  }
  CHECK(errors_of(job, options).empty());

  task_of(job)["Templates"]
      = boost::json::array{{{"EmbeddedTmpl", std::string(2'000, 'x')}, {"DestPath", "local/x"}}};
  CHECK(joined(errors_of(job, options)).find("at most 2000 are taken (limits.job_max_kb)")
        != std::string::npos);
  options.bounds.job_bytes = 0;
  CHECK(errors_of(job, options).empty());
}

TEST_CASE("null characters are refused wherever they stand") {
  const std::string null{"a\0b", 3};
  const auto refused = [](const object& job) {
    return joined(errors_of(job)).find("contains a null character") != std::string::npos;
  };
  const auto with = [](auto change) {
    object job = small_job();
    change(job);
    return job;
  };
  CHECK_FALSE(refused(small_job()));
  CHECK(refused(with([&](object& job) { task_of(job)["Env"] = {{"A", null}}; })));
  CHECK(refused(with([&](object& job) { task_of(job)["Env"] = {{null, "x"}}; })));
  CHECK(refused(with([&](object& job) { task_of(job)["User"] = null; })));
  CHECK(refused(with([&](object& job) { job["Meta"] = {{"m", null}}; })));
  CHECK(refused(with([&](object& job) { job["Datacenters"] = {null}; })));
  CHECK(refused(with([&](object& job) { task_of(job)["Config"] = {{"args", {null}}}; })));
  CHECK(refused(with([&](object& job) {
    task_of(job)["Artifacts"] = boost::json::array{{{"GetterSource", null}}};
  })));
  CHECK(refused(with([&](object& job) {
    group_of(job)["Networks"]
        = boost::json::array{{{"DynamicPorts", boost::json::array{{{"Label", null}}}}}};
  })));
  CHECK_FALSE(refused(with([&](object& job) {
    task_of(job)["Config"] = {{"args", {"\\u0000"}}};  // a backslash and a u
  })));
  CHECK_FALSE(refused(with([&](object& job) {
    task_of(job)["Templates"]
        = boost::json::array{{{"EmbeddedTmpl", null}, {"DestPath", "local/x"}}};
  })));
}

TEST_CASE("names and keys have no control characters, and variables have names") {
  const auto errors_with = [](auto change) {
    object job = small_job();
    change(job);
    return joined(errors_of(job));
  };
  const auto service = [](const char* member, value of) {
    return [=](object& job) {
      group_of(job)["Services"]
          = boost::json::array{{{"Name", "s"}, {"Provider", "nomad"}, {member, of}}};
    };
  };
  for (const char* bad : {"a\nb", "a\x1b[31m", "\t", "a\x7f", "\xc2\x85"}) {
    CAPTURE(bad);
    const auto refused = [&](auto change) {
      return errors_with(change).find("has a control character in ") != std::string::npos;
    };
    CHECK(refused([&](object& job) { job["ID"] = bad; }));
    CHECK(refused([&](object& job) { job["Name"] = bad; }));
    CHECK(refused([&](object& job) { job["Meta"] = {{bad, "x"}}; }));
    CHECK(refused([&](object& job) { group_of(job)["Name"] = bad; }));
    CHECK(refused([&](object& job) { task_of(job)["Name"] = bad; }));
    CHECK(refused([&](object& job) { task_of(job)["Env"] = {{bad, "x"}}; }));
    CHECK(refused([&](object& job) { task_of(job)["Meta"] = {{bad, "x"}}; }));
    CHECK(refused([&](object& job) {
      group_of(job)["Volumes"] = {{bad, {{"Name", "v"}, {"Type", "host"}, {"Source", "s"}}}};
    }));
    CHECK(refused(service("Tags", boost::json::array{bad})));
    CHECK(refused(service("CanaryTags", boost::json::array{bad})));
    CHECK(refused(service("Meta", object{{bad, "x"}})));
  }
  for (const char* bad : {"", "=", "A=B"})
    CHECK(errors_with([&](object& job) {
            task_of(job)["Env"] = {{bad, "x"}};
          }).find("\"t\": env has no variable's name in \"")
          != std::string::npos);

  CHECK(errors_with([](object& job) {
          job["ID"] = "team/web";
          job["Name"] = "web \xc3\xa4/../x";
          group_of(job)["Name"] = "../g h";
          job["Meta"] = {{"a=b \xe4\xb8\xad", "1\n2"}, {"", "x"}};
          task_of(job)["Env"] = {{"a.b-c \xc3\xa4", "1\n2=3"}};
        })
        == "");
}

TEST_CASE("numbers below zero and beyond all measure are refused, each once") {
  const auto mistakes_of = [](const char* block, const char* field, std::int64_t number) {
    object job = small_job();
    object& of = std::string_view{block} == "group" ? group_of(job) : task_of(job);
    if (*block == 'g' || *block == 't')
      of[field] = number;
    else
      of[block].emplace_object()[field] = number;
    return joined(errors_of(job));
  };
  CHECK(mistakes_of("RestartPolicy", "Attempts", -1).find("attempts can't be negative: -1")
        != std::string::npos);
  CHECK(mistakes_of("RestartPolicy", "Delay", -1).find("delay can't be negative: -1")
        != std::string::npos);
  CHECK(mistakes_of("Resources", "Cores", -1).find("cores can't be negative: -1")
        != std::string::npos);
  for (const std::string amount : {"CPU", "Cores", "MemoryMB", "MemoryMaxMB", "IOPS"}) {
    CAPTURE(amount);
    CHECK(mistakes_of("Resources", amount.c_str(), INT64_MAX).find("is too large")
          != std::string::npos);
    CHECK(mistakes_of("Resources", amount.c_str(), INT64_MIN) != "");
  }
  CHECK(mistakes_of("task", "KillTimeout", -1).find("can't be negative") == std::string::npos);
  CHECK(mistakes_of("group", "Count", -1).find("can't be negative: ") == std::string::npos);
}
