// Job files beyond the cases of test/data/jobspec/parse, which test/conformance runs.
#include "runtime/jobspec/parse/parse_job.hpp"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/resource.h>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/hcl/functions/functions.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

using namespace nomad::jobspec;

namespace {

ParsedJob parse(std::string text) {
  return parse_job("input.hcl", std::move(text));
}

boost::json::object job_of(std::string text) {
  ParsedJob parsed = parse(std::move(text));
  REQUIRE_MESSAGE(parsed.ok(), parsed.error);
  return std::move(parsed.job);
}

std::string meta_of(std::string attributes) {
  return to_text(job_of("job \"j\" {\n  meta {\n" + attributes + "  }\n}\n").at("Meta"));
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  REQUIRE(in);
  return {std::istreambuf_iterator<char>{in}, {}};
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += text;
  return out;
}

}  // namespace

TEST_CASE("a group says by a block what becomes of it while its client is away") {
  const auto job = job_of(R"(job "j" {
  group "g" {
    prevent_reschedule_on_lost = true
    disconnect {
      lost_after           = "6h"
      stop_on_client_after = "1m"
      replace              = false
      reconcile            = "keep_original"
    }
    network {
      port "p" {
        static           = 80
        ignore_collision = true
      }
    }
  }
}
)");
  const auto& group = job.at("TaskGroups").at(0);
  CHECK(group.at("PreventRescheduleOnLost") == true);
  CHECK(to_text(group.at("Disconnect"))
        == R"({"LostAfter":21600000000000,"Reconcile":"keep_original",)"
           R"("Replace":false,"StopOnClientAfter":60000000000})");
  CHECK(group.at("Networks").at(0).at("ReservedPorts").at(0).at("IgnoreCollision") == true);
}

TEST_CASE("the job's label is its id and name") {
  const auto job = job_of("job \"j\" {}");
  CHECK(job.at("ID") == "j");
  CHECK(job.at("Name") == "j");
  CHECK(job.at("TaskGroups").is_null());
}

TEST_CASE("references to what is known at run time stay as written") {
  CHECK(meta_of("    a = \"${NOMAD_PORT_http}\"\n") == R"({"a":"${NOMAD_PORT_http}"})");
  CHECK(meta_of("    a = \"${attr.kernel.name} and ${node.class}\"\n")
        == R"({"a":"${attr.kernel.name} and ${node.class}"})");
  CHECK(meta_of("    a = \"${upper(\"x\")}${meta.rack}\"\n") == R"({"a":"X${meta.rack}"})");
  CHECK(meta_of("    a = node.class\n") == R"({"a":"${node.class}"})");
}

TEST_CASE("a task's parts, with their short forms") {
  const auto job = job_of(R"(job "j" {
  task "t" {
    driver       = "exec"
    kill_timeout = "1m30s"
    env { A = 1 }
    artifact { source = "http://a/b" }
    resources { cpu = 20 }
    meta = { x = "y" }
  }
}
)");
  const auto& group = job.at("TaskGroups").at(0);
  CHECK(group.at("Name") == "t");
  const auto& task = group.at("Tasks").at(0);
  CHECK(task.at("KillTimeout") == 90'000'000'000);
  CHECK(to_text(task.at("Env")) == R"({"A":"1"})");
  CHECK(task.at("Artifacts").at(0).at("GetterSource") == "http://a/b");
  CHECK(task.at("Resources").at("CPU") == 20);
  CHECK(to_text(task.at("Meta")) == R"({"x":"y"})");
}

TEST_CASE("mistakes have a place, and names that are nearly right a hint") {
  CHECK(parse("job \"j\" {\n  priorty = 5\n}\n").error
        == "input.hcl:2,3-10: Unsupported argument; An argument named \"priorty\" is not expected "
           "here. Did you mean \"priority\"?");
  CHECK(parse("job \"j\" {\n  grup \"g\" {}\n}\n").error
        == "input.hcl:2,3-7: Unsupported block type; Blocks of type \"grup\" are not expected here. "
           "Did you mean \"group\"?");
  CHECK(parse("").error == "<nil>: Missing job block; A job block is required");
}

TEST_CASE("what people are shown of a mistake") {
  // Each file's diagnostics are in the .txt beside it. JOBSPEC_TEST_REWRITE=1 writes them anew.
  int checked = 0;
  const std::filesystem::path folder = std::filesystem::path{JOBSPEC_TEST_DATA} / "diagnostics";
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".nomad.hcl")) continue;
    CAPTURE(name);
    const ParsedJob parsed = parse_job(name, text_of(entry.path()));
    CHECK_FALSE(parsed.ok());
    const std::string shown = nomad::hcl::render(parsed.diagnostics) + "\n";
    const std::filesystem::path expected = folder / (name.substr(0, name.find('.')) + ".txt");
    if (std::getenv("JOBSPEC_TEST_REWRITE") != nullptr) std::ofstream{expected} << shown;
    CHECK(shown == text_of(expected));
    ++checked;
  }
  CHECK(checked > 10);
}

TEST_CASE("several mistakes are all told") {
  const ParsedJob parsed = parse("job \"j\" {\n  a = 1\n  b = 2\n}\n");
  CHECK(parsed.diagnostics.size() == 2);
  CHECK(parsed.error.find("\"a\"") != std::string::npos);
  CHECK(parsed.job.empty());
}

TEST_CASE("locals may refer to each other in any order, but not in a circle") {
  CHECK(job_of("locals {\n  a = \"${local.b}!\"\n  b = \"x\"\n}\njob \"j\" { name = local.a }\n")
            .at("Name")
        == "x!");
  const ParsedJob circle
      = parse("locals {\n  a = local.b\n  b = local.c\n  c = local.a\n}\njob \"j\" {}\n");
  REQUIRE_FALSE(circle.ok());
  const auto& note = circle.diagnostics.back();
  CHECK(note.severity == nomad::hcl::Severity::warning);
  CHECK(note.summary == "Locals refer to each other");
  for (const std::string_view name : {"a", "b", "c"})
    CHECK(note.detail.find(name) != std::string::npos);
}

TEST_CASE("files in JSON") {
  const auto job = job_of(R"({"job": {"j": {"priority": 70, "group": {"g": {"count": 2}}}}})");
  CHECK(job.at("Priority") == 70);
  CHECK(job.at("TaskGroups").at(0).at("Count") == 2);
}

TEST_CASE("dynamic blocks") {
  const auto job = job_of(R"(job "j" {
  dynamic "group" {
    for_each = ["a", "b"]
    labels   = ["g-${group.value}"]
    content { count = group.key + 1 }
  }
}
)");
  REQUIRE(job.at("TaskGroups").as_array().size() == 2);
  CHECK(job.at("TaskGroups").at(1).at("Name") == "g-b");
  CHECK(job.at("TaskGroups").at(1).at("Count") == 2);
}

TEST_CASE("a table of functions can be given and used again") {
  const auto functions = nomad::hcl::job_functions({});
  ParseOptions options;
  options.functions = &functions;
  for (int i = 0; i < 2; ++i) {
    const ParsedJob parsed = parse_job("input.hcl", "job \"j\" { name = upper(\"x\") }", options);
    REQUIRE(parsed.ok());
    CHECK(parsed.job.at("Name") == "X");
  }
}

TEST_CASE("files cannot be read from job files by default") {
  const ParsedJob parsed = parse("job \"j\" { name = file(\"/etc/hostname\") }");
  CHECK_FALSE(parsed.ok());
}

TEST_CASE("hostile texts are refused in time") {
  CHECK_FALSE(parse("job \"j\" { name = " + repeated("[", 100'000) + " }").ok());
  CHECK_FALSE(parse("job \"j\" { name = " + repeated("(", 100'000) + "1").ok());
  CHECK_FALSE(parse("job \"j\" { name = \"" + repeated("${\"", 20'000) + "\" }").ok());
  CHECK_FALSE(parse("job \"j\" { " + repeated("group \"g\" { ", 20'000)).ok());
  CHECK_FALSE(parse(repeated("\xff\xfe", 1000)).ok());
  CHECK_FALSE(parse("locals {\n  a = [for x in range(1000) : [for y in range(1000) : [for z in "
                    "range(1000) : z]]]\n}\njob \"j\" {}\n")
                  .ok());
  std::string doubling = "locals {\n  l0 = \"xxxxxxxxxxxxxxxx\"\n";
  for (int i = 1; i < 60; ++i)
    doubling += "  l" + std::to_string(i) + " = \"${local.l" + std::to_string(i - 1) + "}${local.l"
                + std::to_string(i - 1) + "}\"\n";
  CHECK_FALSE(parse(doubling + "}\njob \"j\" { name = local.l59 }\n").ok());
}

// What took time out of proportion would not end within the test's time limit.
TEST_CASE("hostile texts cost little time and memory") {
  const int many = 200'000;
  const std::string body = "job \"j\" {\n  name = ";

  const struct {
    const char* name;
    std::string text;
    bool good;
  } cases[] = {
      {"a string of megabytes", body + '"' + std::string(1U << 20U, 'x') + "\"\n}\n", true},
      {"a text above the limit", body + '"' + std::string(17U << 20U, 'x') + "\"\n}\n", false},
      {"a string that does not end", body + '"' + std::string(1U << 20U, 'x'), false},
      {"a heredoc that does not end", body + "<<E\n" + repeated("line\n", many), false},
      {"a comment that does not end", "/*" + std::string(1U << 20U, '*'), false},
      {"many interpolations", body + '"' + repeated("${1}", many / 4) + "\"\n}\n", true},
      {"many escapes", body + '"' + repeated("\\u00e9", many / 4) + "\"\n}\n", true},
      {"a template that loops",
       body
           + "\"%{ for a in range(1000) }%{ for b in range(1000) }"
             "%{ for c in range(1000) }x%{ endfor }%{ endfor }%{ endfor }\""
             "\n}\n",
       false},
      {"directives that are not closed", body + '"' + repeated("%{ if true }", many / 20), false},
      {"blocks that multiply",
       "job \"j\" {\n  dynamic \"group\" {\n    for_each = range(1000)\n    labels = "
       "[group.value]\n    content {\n      dynamic \"task\" {\n        for_each = range(1000)\n"
       "        labels = [task.value]\n        content {}\n      }\n    }\n  }\n}\n",
       false},
      {"bytes that are no text", body + '"' + repeated("\xff\xc0", many) + "\"\n}\n", false},
      {"the same name many times",
       "job \"j\" {\n" + repeated("  name = \"x\"\n", many / 20) + "}\n", false},
      {"mistakes without number", "job \"j\" {\n" + repeated("  nmae {}\n", many / 20) + "}\n",
       false},
      {"minus signs", body + repeated("-", many) + "1\n}\n", false},
      {"digits", body + std::string(many, '9') + "\n}\n", false},
      {"an exponent", body + "1e999999999\n}\n", false},
      {"a power", body + "pow(9, pow(9, 9))\n}\n", true},
  };

  for (const auto& each : cases) {
    CAPTURE(std::string{each.name});
    const long before = peak_kilobytes();
    CHECK(parse(each.text).ok() == each.good);
    CHECK(peak_kilobytes() - before < 700'000);
  }
}

TEST_CASE("job file: a driver's configuration has values that JSON has") {
  CHECK(parse("job \"j\" {\n  task \"t\" {\n    config {\n      a = 1e400\n    }\n  }\n}\n").error
        == "input.hcl:4,11-16: unsuitable value type; Unsuitable value: number is too large");
}

TEST_CASE("job file: a task's scaling policy is of what its label says") {
  CHECK(parse("job \"j\" {\n  task \"t\" {\n    scaling \"cpu\" {\n      type = \"vertical_mem\"\n"
              "    }\n  }\n}\n")
            .error
        == "input.hcl:3,5-18: Invalid scaling policy type; Invalid policy type, expected "
           "\"vertical_cpu\" but found \"vertical_mem\"");
}

TEST_CASE("job file: has blocks in a number that can be looked at") {
  const auto parsed = parse("job \"j\" {\n" + repeated("  group \"g\" {}\n", 200'001) + "}\n");
  CHECK(parsed.diagnostics.back().to_string()
        == "input.hcl:200002,3-12: Too many blocks; A job may have at most 200000 blocks.");
}

TEST_CASE("job file: actions, links and what later releases have are where the API has them") {
  const auto job = job_of(R"(
job "j" {
  ui {
    description = "what it does"
    link {
      label = "docs"
      url   = "https://docs.example"
    }
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      action "say" {
        command = "/bin/echo"
        args    = ["hi"]
      }
      schedule {
        cron {
          start    = "30 9 * * MON-FRI *"
          end      = "0 16"
          timezone = "America/New_York"
        }
      }
      template {
        data        = "x"
        destination = "local/x"
        once        = true
        change_mode = "script"
        change_script {
          command             = "/bin/load"
          run_on_first_render = true
        }
      }
      artifact {
        source   = "https://host/f"
        chown    = true
        insecure = true
      }
    }
  }
}
)");
  CHECK(
      to_text(job.at("UI"))
      == R"({"Description":"what it does","Links":[{"Label":"docs","Url":"https://docs.example"}]})");
  const auto& task = job.at("TaskGroups").at(0).at("Tasks").at(0);
  CHECK(to_text(task.at("Actions")) == R"([{"Args":["hi"],"Command":"/bin/echo","Name":"say"}])");
  CHECK(to_text(task.at("Schedule"))
        == R"({"Cron":{"End":"0 16","Start":"30 9 * * MON-FRI *","Timezone":"America/New_York"}})");
  CHECK(task.at("Templates").at(0).at("Once") == true);
  CHECK(task.at("Templates").at(0).at("ChangeScript").at("RunOnFirstRender") == true);
  CHECK(task.at("Artifacts").at(0).at("Chown") == true);
  CHECK(task.at("Artifacts").at(0).at("GetterInsecure") == true);
}

TEST_CASE("job file: a task has one identity without a name, and others by their names") {
  const auto job_with = [](const std::string& identities) {
    return parse("job \"j\" {\n  group \"g\" {\n    task \"t\" {\n" + identities
                 + "    }\n  }\n}\n");
  };

  const auto parsed = job_with(
      "      identity {\n        env  = true\n        file = true\n      }\n"
      "      identity {\n        name = \"aws\"\n        aud  = [\"sts\"]\n        ttl  = \"1h\"\n"
      "      }\n");

  REQUIRE_MESSAGE(parsed.ok(), parsed.error);
  const auto& task = parsed.job.at("TaskGroups").at(0).at("Tasks").at(0);
  CHECK(boost::json::serialize(task.at("Identity")) == R"({"Env":true,"File":true})");
  CHECK(task.at("Identities").at(0).at("Name") == "aws");
  CHECK(task.at("Identities").at(0).at("TTL") == 3'600'000'000'000);
  const auto twice
      = job_with("      identity {}\n      identity {\n        name = \"default\"\n      }\n");
  CHECK(twice.error.find("Duplicate identity block") != std::string::npos);
  CHECK(
      twice.error.find("Only one identity block without a name is allowed. Another was defined at")
      != std::string::npos);
}
