#include "runtime/template/render.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <random>

#include <doctest/doctest.h>

#include "runtime/base/text.hpp"
#include "runtime/template/functions/library.hpp"
#include "runtime/template/functions/toml.hpp"
#include "runtime/template/functions/yaml.hpp"
#include "test/unit/runtime/template/cases.hpp"

using namespace nomad;
using namespace nomad::templates;

namespace {

const Functions& functions() {
  static const std::vector<std::string> denied{"plugin", "writeToFile"};
  static const Functions made = task_functions(denied);
  return made;
}

Result<Rendered> render(std::string text, TaskTemplateOptions options = {}, Limits limits = {}) {
  CaseSources sources;
  const auto parsed = TaskTemplate::parse(std::move(text), functions(), std::move(options));
  if (!parsed) return parsed.error();
  return parsed->render(sources, limits);
}

Result<std::string> text_of(const std::string& text, const Limits& limits) {
  auto rendered = render(text, {}, limits);
  if (!rendered) return rendered.error();
  return rendered->text;
}

/// As the cases were written down.
Result<std::string> text_and_missing(const Case& each) {
  auto rendered = render(each.text, {.delimiters = each.delimiters,
                                     .errors_on_missing_key = each.missing_key == "error"});
  if (!rendered) return rendered.error();
  const auto missing = rendered->dependencies.missing();
  return rendered->text + (missing.empty() ? "" : "\nMissing: " + join(missing, ", "));
}

}  // namespace

TEST_CASE("render: gives and says what consul-template does, byte by byte") {
  for (const Case& each : load_cases("consul_template.json")) {
    CAPTURE(each.text);
    const auto expected = each.output ? *each.output : "error: " + each.error;
    const auto found = outcome(text_and_missing(each));
    CHECK(found == expected);
  }
}

TEST_CASE("render: says what it asked for and what of it is missing") {
  const auto rendered
      = render("{{nomadVarExists \"app/gone\"}}{{nomadVar \"new\"}}{{nomadService \"db\"}}");

  REQUIRE(rendered.has_value());
  CHECK(rendered->dependencies.asked.size() == 3);
  CHECK_FALSE(rendered->is_complete());
  CHECK(join(rendered->dependencies.missing(), ", ")
        == "nomad.service(db), nomad.var.block(new@default.global)");
}

TEST_CASE("render: variables without a namespace are of the task's") {
  const auto rendered
      = render("{{nomadVarExists \"x\"}}{{nomadVarList \"y\" | len}}", {.name_space = "prod"});

  REQUIRE(rendered.has_value());
  CHECK(join(rendered->dependencies.missing(), ", ")
        == "nomad.var.get(x@prod.global), nomad.var.list(y@prod.global)");
}

TEST_CASE("render: what needs Consul or Vault says that there is none") {
  for (const std::string call :
       {"key \"a\"", "keyExists \"a\"", "keyOrDefault \"a\" \"b\"", "ls \"a\"", "safeLs \"a\"",
        "tree \"a\"", "safeTree \"a\"", "service \"a\"", "services", "nodes", "datacenters"}) {
    CAPTURE(call);
    CHECK(render("{{" + call + "}}").error().what.find("no Consul is configured")
          != std::string::npos);
  }
  for (const std::string call : {"secret \"a\"", "secrets \"a\"", "pkiCert \"a\""}) {
    CAPTURE(call);
    CHECK(render("{{" + call + "}}").error().what.find("no Vault is configured")
          != std::string::npos);
  }
}

TEST_CASE("render: values of variables are not shown by errors") {
  const auto error
      = render("{{with nomadVar \"app/config\"}}{{parseInt .user.Value}}{{end}}").error();

  CHECK(error.what.find("[redacted]") != std::string::npos);
  CHECK(error.what.find("admin") == std::string::npos);
}

TEST_CASE("render: a long message is shown by its beginning, and no half of a value") {
  for (std::size_t before = 65'440; before < 65'520; ++before) {
    const auto error = render("{{with nomadVar \"app/config\"}}{{parseInt (print (sprig_repeat "
                              + std::to_string(before)
                              + " \"x\") .user.Value (sprig_repeat 2000 \"y\"))}}{{end}}")
                           .error();
    CHECK(error.what.size() < 66'000);
    CHECK(error.what.find("xa") == std::string::npos);
  }
}

TEST_CASE("render: the clock is the sources'") {
  CHECK(render("{{timestamp}}")->text == "2023-11-14T22:13:20Z");
  CHECK(render("{{timestamp \"unix\"}}")->text == "1700000000");
  CHECK(render("{{timestamp \"2006\"}}")->text == "2023");
  CHECK(render("{{sprig_now | sprig_date \"15:04\"}}")->text == "22:13");
}

TEST_CASE("render: nothing asks the network, and says so") {
  CHECK(render("{{sprig_getHostByName \"localhost\"}}")
            .error()
            .what.find("templates are rendered without asking the network")
        != std::string::npos);
}

TEST_CASE("render: times are shown in zones, and unknown ones are UTC") {
  const std::string time = "(sprig_toDate \"2006-01-02\" \"2017-12-31\")";
  const auto shown = [&](const std::string& zone) {
    return render("{{sprig_dateInZone \"2006-01-02 15:04 MST -0700 Z07:00\" " + time + " \"" + zone
                  + "\"}}")
        ->text;
  };
  CHECK(shown("America/New_York") == "2017-12-30 19:00 EST -0500 -05:00");
  CHECK(shown("Asia/Kolkata") == "2017-12-31 05:30 IST +0530 +05:30");
  for (const char* zone : {"UTC", "", "Local", "Mars/Base", "../etc/passwd", "/etc/localtime"})
    CHECK(shown(zone) == "2017-12-31 00:00 UTC +0000 Z");
  CHECK(render("{{sprig_date_in_zone \"15:04\" 0 \"Europe/Berlin\"}}")->text == "01:00");
  CHECK(render("{{sprig_htmlDateInZone 0 \"America/New_York\"}}")->text == "1969-12-31");
}

TEST_CASE("render: times are read by any layout of Go's") {
  const auto read = [](const std::string& layout, const std::string& text) {
    const auto rendered = render("{{sprig_mustToDate \"" + layout + "\" \"" + text + "\"}}");
    return rendered ? rendered->text : rendered.error().what;
  };
  CHECK(read("2006-01-02 MST", "2017-07-31 EST") == "2017-07-31 00:00:00 +0000 EST");
  CHECK(read("2006-01-02 MST", "2017-07-31 WITA") == "2017-07-31 00:00:00 +0000 WITA");
  CHECK(read("2006-01-02 MST", "2017-07-31 UTC") == "2017-07-31 00:00:00 +0000 UTC");
  CHECK(read("2006-01-02 MST", "2017-07-31 GMT+3") == "2017-07-31 03:00:00 +0300 GMT+3");
  CHECK(read("2006-01-02 15:04 -0700", "2017-07-31 02:00 +0300")
        == "2017-07-31 02:00:00 +0300 +0300");
  CHECK(read("2006-01-02 15:04 -0700 MST", "2017-07-31 02:00 -0500 EST")
        == "2017-07-31 02:00:00 -0500 EST");
  CHECK(read("2006-01-02T15:04:05Z07:00", "2017-07-31T02:00:00Z")
        == "2017-07-31 02:00:00 +0000 UTC");
  CHECK(read("2006-01-02T15:04:05Z07:00", "2017-07-31T02:00:00.25-05:00")
        == "2017-07-31 02:00:00.25 -0500 -0500");
  CHECK(read("Mon Jan _2 15:04:05.000 2006", "Tue FEB  7 01:02:03.456 2017")
        == "2017-02-07 01:02:03.456 +0000 UTC");
  CHECK(read("2006 002", "2016 060") == "2016-02-29 00:00:00 +0000 UTC");
  CHECK(read("2006 __2", "2017  60") == "2017-03-01 00:00:00 +0000 UTC");
  CHECK(read("06-1-2 3:04PM", "17-7-31 12:30AM") == "2017-07-31 00:30:00 +0000 UTC");
  for (const auto& [layout, text, why] : std::initializer_list<std::array<std::string, 3>>{
           {"2006-01-02 MST", "2017-07-31 est",
            "parsing time \"2017-07-31 est\" as \"2006-01-02 MST\": cannot parse \"est\" as "
            "\"MST\""},
           {"2006-01-02", "2017-13-31", "parsing time \"2017-13-31\": month out of range"},
           {"2006-01-02", "2017-02-30", "parsing time \"2017-02-30\": day out of range"},
           {"2006-01-02", "2017-02-03x", "parsing time \"2017-02-03x\": extra text: \"x\""},
           {"2006 002", "2017 366", "parsing time \"2017 366\": day-of-year out of range"}})
    CHECK(read(layout, text).find(why) != std::string::npos);
}

TEST_CASE("render: addresses and random texts come from the sources") {
  CHECK(render("{{sockaddr \"GetPrivateIP\"}}")->text == "{{ GetPrivateIP }}");
  CHECK(render("{{sprig_uuidv4}}")->text == "07070707-0707-4707-8707-070707070707");
  CHECK(render("{{sprig_randNumeric 4}}")->text == "7777");
  CHECK(render("{{sprig_randAscii 3}}")->text == "'''");
  CHECK(render("{{sprig_randBytes 3}}")->text == "BwcH");
  CHECK(render("{{sprig_randInt 10 20}}")->text == "11");
  CHECK(render("{{sprig_shuffle \"ab\"}}")->text == "ab");
}

TEST_CASE("render: the environment that texts are filled from is the task's") {
  // What Go's os.Expand makes of them.
  for (const auto& [text, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"$NOMAD_TASK_NAME", "web"},
           {"${NOMAD_TASK_NAME}", "web"},
           {"a$NOMAD_TASK_NAME/b", "aweb/b"},
           {"$NOPE", ""},
           {"${NOPE}x", "x"},
           {"$", "$"},
           {"$$", ""},
           {"a$", "a$"},
           {"${", ""},
           {"${}", ""},
           {"${NOMAD_TASK_NAME", "NOMAD_TASK_NAME"},
           {"$/", "$/"},
           {"$ x", "$ x"},
           {"$1", ""},
           {"$12", "2"},
           {"$NOMAD_TASK_NAME_X", ""},
           {"$NOMAD_TASK_NAMEX", ""},
           {"${NOMAD_TASK_NAME}${NOMAD_TASK_NAME}", "webweb"},
           {"$-x", "x"},
           {"${*}", ""},
           {"é$NOMAD_TASK_NAMEé", "éwebé"},
           {"x$NOMAD_TASK_NAME.y", "xweb.y"},
           {"$_x", ""},
           {"${a b}", ""},
           {"{NOMAD_TASK_NAME}", "{NOMAD_TASK_NAME}"}}) {
    const auto& shown = text;
    CAPTURE(shown);
    CHECK(render("{{sprig_expandenv `" + std::string{text} + "`}}")->text == expected);
  }
}

TEST_CASE("render: ends, whatever a template wants") {
  const Limits limits{.steps = 10'000, .output = 10'000, .made = 100'000};
  for (const std::string text :
       {"{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}",
        "{{define \"a\"}}{{executeTemplate \"a\"}}{{end}}{{executeTemplate \"a\"}}",
        "{{range loop 1000000000}}x{{end}}", "{{sprig_repeat 1000000000 \"x\"}}",
        "{{range loop 2000}}0123456789{{end}}", "{{printf \"%1000000d\" 1}}",
        "{{range loop 90}}{{range loop 90}}{{range loop 90}}x{{end}}{{end}}{{end}}",
        "{{indent 1000000000 \"x\"}}",
        "{{replaceAll \"\" (sprig_repeat 1000 \"y\") (sprig_repeat 1000 \"x\")}}",
        "{{sprig_until 1000000000}}", "{{sprig_untilStep 0 9223372036854775807 1}}",
        "{{$x := \"0123456789\"}}{{range loop 100}}{{$x = print $x $x}}{{end}}"}) {
    CAPTURE(text);
    const auto rendered = render(text, {}, limits);
    REQUIRE_FALSE(rendered.has_value());
    CHECK(rendered.error().code == Errc::too_large);
    CHECK(rendered.error().what.starts_with("execute: template: :1:"));
  }
}

// Each would run for hours: what is counted is how often it was asked whether anybody waits.
TEST_CASE("render: ends at the next look once nobody waits for it, whatever it does") {
  const std::string large
      = "{{$x := sprig_repeat 200000 \"a\"}}{{$y := sprig_repeat 200000 \"a\"}}"
        "{{$m := sprig_dict \"a\" 1}}{{$d := sprig_list}}"
        "{{range loop 20}}{{$d = sprig_list $d $d}}{{end}}{{$e := sprig_list}}"
        "{{range loop 20}}{{$e = sprig_list $e $e}}{{end}}"
        "{{range loop 1000}}{{range loop 1000}}{{$z := ";
  for (const std::string body : {"sprig_sha256sum $x",
                                 "sprig_deepEqual $x $y",
                                 "sprig_deepEqual $d $e",
                                 "eq $x $y",
                                 "lt $x $y",
                                 "toLower $x",
                                 "regexMatch \"b\" $x",
                                 "regexReplaceAll \"a.*b|a\" \"\" $x",
                                 "sprig_regexFindAll \"a.*b|a\" $x -1",
                                 "sprig_contains \"ab\" $x",
                                 "in $x $y",
                                 "in (sprig_list $x) $y",
                                 "sprig_has $x (sprig_list $y)",
                                 "sprig_sortAlpha (sprig_list $x $y)",
                                 "sprig_snakecase $x",
                                 "print $x",
                                 "sprig_uniq (sprig_list $x $y)",
                                 "sprig_trimAll $y (print $x \"b\")",
                                 "sprig_hasPrefix $x $y",
                                 "sprig_get $m $x",
                                 "html $x",
                                 "sprig_set $m $x 1",
                                 "toJSON $x"}) {
    CAPTURE(body);
    int looks = 0;
    const Limits limits{.made = std::size_t{1} << 40U,
                        .work = std::uint64_t{1} << 50U,
                        .look = [&looks]() -> Result<void> {
                          if (++looks < 4) return {};
                          return Error{Errc::cancelled, "nobody waits"};
                        }};
    const auto rendered = render(large + body + "}}{{end}}{{end}}", {}, limits);
    REQUIRE_FALSE(rendered.has_value());
    CHECK(rendered.error().what.ends_with("nobody waits"));
    CHECK(rendered.error().code == Errc::cancelled);
    CHECK(looks == 4);
  }
}

TEST_CASE("render: what it may do is counted in bytes, not in steps") {
  const std::string text
      = "{{$x := sprig_repeat 1000000 \"a\"}}{{range loop 10000}}"
        "{{if regexMatch \"b\" $x}}{{end}}{{end}}";

  CHECK(render(text, {}, {.work = 50'000'000}).error().what.find("more work than is allowed")
        != std::string::npos);
}

TEST_CASE("render: a variable that is read again and again is kept once") {
  Context context;

  context.secrets().insert("a");
  context.secrets().insert("a");

  CHECK(context.secrets().size() == 1);
}

TEST_CASE("render: values as deep as a template makes them are shown not at all, and end well") {
  const Limits limits{.steps = 400'000};
  const std::string deep = "{{$l := sprig_list}}{{range loop 30000}}{{$l = sprig_list $l}}{{end}}";

  CHECK(render(deep + "ok", {}, limits)->text == "ok");
  for (const std::string use :
       {"{{$l}}", "{{toJSON $l}}", "{{toYAML $l}}", "{{toTOML $l}}", "{{printf \"%d\" $l}}"}) {
    CAPTURE(use);
    CHECK(render(deep + use, {}, limits).error().code == Errc::too_large);
  }
}

namespace {

/// A template that is too much for its limits, and why.
struct TooMuch {
  std::string text;
  Limits limits;
  const char* error;
};

}  // namespace

TEST_CASE("render: what is too much, too long or too deep is told with its place") {
  const std::string nested
      = "{{$l := sprig_dict \"x\" 1}}{{range loop 300}}{{$l = sprig_dict \"a\" "
        "$l}}{{end}}";
  const TooMuch cases[] = {
      {"{{range loop 20}}{{print 1}}{{end}}",
       {.steps = 10},
       "execute: template: :1:8: executing \"\" at <loop 20>: error calling loop: the template "
       "takes "
       "more than 10 steps"},
      {"{{sprig_repeat 3 \"abc\"}}",
       {.made = 8},
       "execute: template: :1:2: executing \"\" at <sprig_repeat 3 \"abc\">: error calling "
       "sprig_repeat: the text gets too long"},
      {"{{toUpper \"abcdefghi\"}}",
       {.made = 8},
       "execute: template: :1:2: executing \"\" at <toUpper \"abcdefghi\">: error calling toUpper: "
       "the "
       "template takes texts of more than 8 bytes"},
      {"abc{{1}}defghijk",
       {.output = 10},
       "execute: template: :1:8: executing \"\" at <defghijk>: the text gets longer than 10 bytes"},
      {nested + "{{$l}}",
       {},
       "execute: template: :1:79: executing \"\" at <{{$l}}>: the text is too long, or a value is "
       "nested too deep"},
      {nested + "{{toJSON $l}}",
       {},
       "execute: template: :1:79: executing \"\" at <toJSON $l>: error calling toJSON: toJSON: "
       "json: "
       "the text is too long, or nested too deep"},
      {nested + "{{toYAML $l}}",
       {},
       "execute: template: :1:79: executing \"\" at <toYAML $l>: error calling toYAML: toYAML: "
       "yaml: "
       "nested too deep"},
      {nested + "{{toTOML $l}}",
       {},
       "execute: template: :1:79: executing \"\" at <toTOML $l>: error calling toTOML: toTOML: "
       "toml: "
       "the text is too long, or nested too deep"},
      {nested + "{{sprig_deepCopy $l}}",
       {},
       "execute: template: :1:79: executing \"\" at <sprig_deepCopy $l>: error calling "
       "sprig_deepCopy: the value is nested too deep"},
      {nested + "{{sprig_merge (sprig_deepCopy (sprig_dict)) $l $l}}",
       {},
       "execute: template: :1:79: executing \"\" at <sprig_merge (sprig_deepCopy (sprig_dict)) $l "
       "$l>: error calling sprig_merge: the map is nested too deep"},
      {"{{parseJSON (sprig_repeat 300 \"[\")}}",
       {},
       "execute: template: :1:2: executing \"\" at <parseJSON (sprig_repeat 300 \"[\")>: error "
       "calling "
       "parseJSON: exceeded max depth"},
      {"{{parseYAML (sprig_repeat 300 \"[\")}}",
       {},
       "execute: template: :1:2: executing \"\" at <parseYAML (sprig_repeat 300 \"[\")>: error "
       "calling "
       "parseYAML: yaml: nested too deep"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.text);
    const auto rendered = render(each.text, {}, each.limits);
    REQUIRE_FALSE(rendered.has_value());
    CHECK(rendered.error().code != Errc::internal);
    CHECK(rendered.error().what == each.error);
  }
}

TEST_CASE("render: without sources a function that needs one says so") {
  const auto parsed = Template::parse("t", "{{timestamp}}", {.functions = &functions()});
  REQUIRE(parsed.has_value());
  Context context;

  CHECK(parsed->execute(context, Value{}).error().what
        == "template: t:1:2: executing \"t\" at <timestamp>: error calling timestamp: not available "
           "here");
}

TEST_CASE("render: functions are no data") {
  const Value data = case_data();
  const Value function = *data.shared_map()->find("Add");

  const auto map = std::make_shared<Map>();
  map->set("Add", function);
  CHECK(write_toml(Value::map(map), 1'000).error().what == "unsupported type for key 'Add': func");
  CHECK(write_toml(Value::list({function}), 1'000).error().what == "unexpected type: func()");
  CHECK(write_yaml(data, 1'000).error().what == "cannot marshal type: func()");
}

TEST_CASE("render: a map can't come to hold itself") {
  for (const std::string text :
       {"{{$d := sprig_dict}}{{sprig_set $d \"a\" $d}}",
        "{{$d := sprig_dict}}{{$e := sprig_dict \"d\" (sprig_list $d)}}{{sprig_set $d \"e\" $e}}",
        "{{scratch.MapSet \"m\" \"x\" 1}}{{scratch.MapSet \"m\" \"y\" (scratch.Get \"m\")}}",
        "{{$d := sprig_dict}}{{sprig_merge $d (sprig_dict \"x\" $d)}}"}) {
    CAPTURE(text);
    const auto refused = render(text).error().what;
    CHECK(refused.find(": a map can't hold itself: key \"") != std::string::npos);
  }
}

TEST_CASE("render: a template that is damaged ends too, the same way each time") {
  const Limits limits{.steps = 20'000, .output = 100'000, .made = 1'000'000, .depth = 100};
  std::mt19937_64 random{20'231'114};
  const auto below = [&random](std::size_t bound) { return random() % bound; };
  std::vector<Case> cases = load_cases("go.json");
  std::ranges::move(load_cases("consul_template.json"), std::back_inserter(cases));

  for (const Case& each : cases) {
    for (int round = 0; round < 3; ++round) {
      std::string text = each.text + cases[below(cases.size())].text;
      for (std::size_t damage = 1 + below(3); damage > 0 && !text.empty(); --damage) {
        const std::size_t at = below(text.size());
        if (below(2) == 0)
          text.erase(at, 1 + below(4));
        else
          text.insert(at, 1, "{}()|$.\"` -19ax%"[below(17)]);
      }
      CAPTURE(text);
      CHECK(outcome(text_of(text, limits)) == outcome(text_of(text, limits)));
    }
  }
}

TEST_CASE("render: each rendering has a scratch of its own") {
  CaseSources sources;
  const auto parsed
      = TaskTemplate::parse("{{scratch.Key \"a\"}}{{scratch.Set \"a\" 1}}", functions());
  REQUIRE(parsed.has_value());

  CHECK(parsed->render(sources)->text == "false");
  CHECK(parsed->render(sources)->text == "false");
}
