// Text as people and scripts read it.
#include "cli/output/layout.hpp"

#include <cstdlib>

#include <fcntl.h>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "cli/output/describe.hpp"
#include "cli/output/diff.hpp"
#include "cli/output/go_template.hpp"
#include "runtime/host/process/unique_fd.hpp"

using namespace nomad::cli;

namespace {

constexpr std::int64_t second = 1'000'000'000;

boost::json::value json(const char* text) {
  return boost::json::parse(text);
}

}  // namespace

TEST_CASE("layout: tables align their columns and name empty cells") {
  CHECK(table({{"ID", "Status"}, {"a", "running"}, {"longer", ""}})
        == "ID      Status\n"
           "a       running\n"
           "longer  <none>");
  CHECK(table({{"ID"}}) == "ID");
}

TEST_CASE("layout: pairs align their keys") {
  CHECK(pairs({{"ID", "web"}, {"Node Pool", ""}}) == "ID        = web\nNode Pool = <none>");
}

TEST_CASE("layout: names of others move no cursor and forge no line") {
  CHECK(table({{"ID", "Status"}, {"a\033[2J\nb", "run\tning"}, {"\xc2\x9b", "\r"}})
        == "ID           Status\n"
           "a\\x1b[2J\\nb  run\\tning\n"
           "\\u009b       \\x0d");
  CHECK(pairs({{"ID", "x\nStatus = dead"}, {"Status", "running"}})
        == "ID     = x\\nStatus = dead\n"
           "Status = running");
  CHECK(pairs_of_lines({{"A\nB", "x\nStatus = dead\033[1m"}, {"Status", "running"}})
        == "A\\nB   = x\n"
           "         Status = dead\\x1b[1m\n"
           "Status = running");
  CHECK(title("a\033[2Jb") == "a\\x1b[2Jb");
  CHECK(colored("a\033[2Jb", "red") == "a\\x1b[2Jb");
}

TEST_CASE("layout: durations keep their two largest units") {
  struct Case {
    std::int64_t seconds;
    const char* text;
  };

  for (const auto& each :
       {Case{0, "0s"}, Case{59, "59s"}, Case{163, "2m43s"}, Case{3600, "1h"}, Case{3725, "1h2m"},
        Case{90'061, "1d1h"}, Case{40 * 86'400, "1mo10d"}, Case{400 * 86'400, "1y1mo"}})
    CHECK(short_duration(each.seconds * second) == each.text);
}

TEST_CASE("layout: sizes are binary, with one digit below ten") {
  CHECK(bytes(0) == "0 B");
  CHECK(bytes(1023) == "1023 B");
  CHECK(bytes(4096) == "4.0 KiB");
  CHECK(bytes(64ULL << 20) == "64 MiB");
  CHECK(bytes(std::uint64_t{3} << 29) == "1.5 GiB");
}

TEST_CASE("layout: an instant that never was") {
  CHECK(clock_time(std::int64_t{0}) == "N/A");
  CHECK(age(0) == "<none>");
}

TEST_CASE("layout: short ids") {
  CHECK(shown_id("0a1b2c3d-0000", false) == "0a1b2c3d");
  CHECK(shown_id("0a1b2c3d-0000", true) == "0a1b2c3d-0000");
}

TEST_CASE("layout: colour only where it is on") {
  set_color(false);
  CHECK(title("Summary") == "Summary");
  CHECK(colored("x", "red") == "x");
  set_color(true);
  CHECK(title("Summary") == "\033[1mSummary\033[0m");
  CHECK(colored("x", "red") == "\033[31mx\033[0m");
  set_color(false);
}

TEST_CASE("layout: a terminal takes colour unless the environment says that none is wanted") {
  const nomad::host::UniqueFd terminal{posix_openpt(O_RDWR | O_NOCTTY)};
  REQUIRE(terminal.get() >= 0);
  const nomad::host::UniqueFd file{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  CHECK(takes_color(terminal.get()));
  CHECK_FALSE(takes_color(file.get()));
  setenv("NO_COLOR", "", 1);
  CHECK(takes_color(terminal.get()));
  setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(takes_color(terminal.get()));
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  CHECK_FALSE(takes_color(terminal.get()));
}

TEST_CASE("layout: JSON has four spaces and no line break at its end") {
  CHECK(json_text(json(R"({"A":[1,{}],"B":null})"))
        == "{\n    \"A\": [\n        1,\n        {}\n    ],\n    \"B\": null\n}");
}

TEST_CASE("describe: why a group could not be placed") {
  const auto metric = json(R"({"NodesEvaluated":2,"NodesAvailable":{"dc1":2,"dc2":0},
      "ConstraintFiltered":{"${attr.kernel.name} = windows":1},"NodesExhausted":1,
      "DimensionExhausted":{"cpu":1},"CoalescedFailures":2})");
  CHECK(placement_failure(View{metric}, "  ")
        == "  * No nodes are available in datacenter \"dc2\"\n"
           "  * Constraint \"${attr.kernel.name} = windows\": 1 nodes excluded by filter\n"
           "  * Resources exhausted on 1 nodes\n"
           "  * Dimension \"cpu\" exhausted on 1 nodes");
  const boost::json::value groups = boost::json::object{{"g", metric}};
  CHECK(placement_failures(View{groups}, "")
            .starts_with("Task Group \"g\" (failed to place 3 allocations):\n  * "));
  const auto none = json(R"({"NodesEvaluated":0,"NodesAvailable":{"dc1":1}})");
  CHECK(placement_failure(View{none}, "") == "* No nodes were eligible for evaluation");
}

TEST_CASE("describe: columns of a deployment appear when they say something") {
  const auto plain = json(R"({"ID":"0a1b2c3d-0000","JobID":"web","JobVersion":1,"Status":"running",
      "StatusDescription":"Deployment is running","TaskGroups":{"app":{"DesiredTotal":3,
      "PlacedAllocs":1,"HealthyAllocs":1,"UnhealthyAllocs":0}}})");
  CHECK(deployment_block(View{plain}, false, false)
        == "ID          = 0a1b2c3d\n"
           "Job ID      = web\n"
           "Job Version = 1\n"
           "Status      = running\n"
           "Description = Deployment is running\n"
           "\n"
           "Deployed\n"
           "Task Group  Desired  Placed  Healthy  Unhealthy\n"
           "app         3        1       1        0");
  const auto canary = json(R"({"ID":"x","TaskGroups":{"app":{"DesiredTotal":3,"DesiredCanaries":1,
      "Promoted":false,"AutoRevert":true,"ProgressDeadline":1,"PlacedAllocs":1}}})");
  const auto text = deployment_block(View{canary}, true, true);
  CHECK(text.find("Task Group  Auto Revert  Promoted  Desired  Canaries  Placed") != text.npos);
  CHECK(text.find("N/A") != text.npos);  // the deadline is not set yet
}

TEST_CASE("diff: markers, annotations and alignment") {
  const auto diff = json(R"({"ID":"web","Type":"Edited","Fields":null,"Objects":null,"TaskGroups":[
    {"Name":"app","Type":"Edited","Updates":{"create":1,"ignore":2},
     "Fields":[{"Name":"Count","Type":"Edited","Old":"2","New":"3","Annotations":["forces create"]}],
     "Objects":null,
     "Tasks":[{"Name":"srv","Type":"Edited","Annotations":["forces create/destroy update"],
       "Fields":null,
       "Objects":[{"Name":"Resources","Type":"Edited","Objects":null,"Fields":[
         {"Name":"CPU","Type":"Edited","Old":"50","New":"60"},
         {"Name":"Cores","Type":"None","Old":"0","New":"0"}]}]}]}]})");
  CHECK(job_diff(View{diff}, false)
        == "+/- Job: \"web\"\n"
           "+/- Task Group: \"app\" (1 create, 2 ignore)\n"
           "  +/- Count: \"2\" => \"3\" (forces create)\n"
           "  +/- Task: \"srv\" (forces create/destroy update)\n"
           "    +/- Resources {\n"
           "      +/- CPU:   \"50\" => \"60\"\n"
           "          Cores: \"0\"\n"
           "        }\n"
           "\n");
}

TEST_CASE("diff: new groups show their tasks' titles, and all of them with -verbose") {
  const auto diff = json(R"({"ID":"web","Type":"Added","Fields":[
      {"Name":"Priority","Type":"Added","Old":"","New":"50"}],"Objects":null,"TaskGroups":[
    {"Name":"app","Type":"Added","Updates":{"create":1},"Fields":[
      {"Name":"Count","Type":"Added","Old":"","New":"1"}],"Objects":null,
     "Tasks":[{"Name":"srv","Type":"Added","Annotations":["forces create"],"Objects":null,
       "Fields":[{"Name":"Driver","Type":"Added","Old":"","New":"raw_exec"}]}]}]})");
  CHECK(job_diff(View{diff}, false)
        == "+ Job: \"web\"\n"
           "+ Task Group: \"app\" (1 create)\n"
           "  + Task: \"srv\" (forces create)\n"
           "\n");
  const auto whole = job_diff(View{diff}, true);
  CHECK(whole.find("+ Priority: \"50\"") != whole.npos);
  CHECK(whole.find("+ Count: \"1\"") != whole.npos);
  CHECK(whole.find("+ Driver: \"raw_exec\"") != whole.npos);
}

TEST_CASE("go_template: what -t is used with") {
  const auto data = json(R"({"ID":"web","Count":3,"Ratio":0.5,"On":true,"Meta":{"a":"1","b":"2"},
      "Groups":[{"Name":"x","Count":1},{"Name":"y","Count":2}],"Nothing":null})");

  struct Case {
    const char* text;
    const char* result;
  };

  for (const auto& each :
       {Case{"{{.ID}}", "web"}, Case{"a{{ .Count }}b", "a3b"}, Case{"{{.On}}", "true"},
        Case{"{{range .Groups}}{{.Name}}={{.Count}};{{end}}", "x=1;y=2;"},
        Case{"{{range $i, $g := .Groups}}{{$i}}{{$g.Name}}{{end}}", "0x1y"},
        Case{"{{range $k, $v := .Meta}}{{$k}}{{$v}}{{end}}", "a1b2"},
        Case{"{{if .On}}yes{{else}}no{{end}}", "yes"},
        Case{"{{if eq .ID \"db\"}}1{{else if gt .Count 2}}2{{else}}3{{end}}", "2"},
        Case{"{{with .Nothing}}x{{else}}none{{end}}", "none"}, Case{"{{len .Groups}}", "2"},
        Case{"{{index .Groups 1 | json}}", R"({"Name":"y","Count":2})"},
        Case{"{{printf \"%s-%d\" .ID .Count}}", "web-3"},
        Case{"{{range .Groups -}}\n {{.Name}} {{- end}}", "xy"},
        Case{"{{define \"g\"}}<{{.Name}}>{{end}}{{range .Groups}}{{template \"g\" .}}{{end}}",
             "<x><y>"},
        Case{"{{$n := 0}}{{range .Groups}}{{$n = .Count}}{{end}}{{$n}}", "2"},
        Case{"{{.Count | sprig_add 1}}", "4"},
        Case{"{{.Meta | toJSON}}", R"({"a":"1","b":"2"})"}}) {
    CAPTURE(each.text);
    const auto rendered = render_go_template(each.text, data);
    REQUIRE(rendered.has_value());
    CHECK(*rendered == each.result);
  }
  for (const auto* text : {"{{.ID", "{{range .Groups}}", "{{nope .ID}}", "{{end}}"}) {
    CAPTURE(text);
    CHECK_FALSE(render_go_template(text, data).has_value());
  }
  CHECK(render_go_template("{{.ID}}\n {{.Nope}}", data).error().what
        == "template: :2:3: executing \"\" at <.Nope>: map has no entry for key \"Nope\"");
}
