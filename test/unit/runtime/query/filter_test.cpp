#include "runtime/query/filter.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "runtime/query/page.hpp"
#include "runtime/text/number_text.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"

using namespace nomad;
using query::Filter;

namespace {

Object<schema::Node> node() {
  Draft<schema::Node> draft;
  draft->setId("1e3c");
  draft->setName("client-1");
  draft->setSecretId("hush");
  draft->setStatus(schema::NodeStatus::READY);
  draft->setCreateIndex(7);
  draft->setStatusUpdatedAt(-3);
  auto attributes = draft->initAttributes(2);
  attributes[0].setKey("cpu.arch");
  attributes[0].setValue("amd64");
  attributes[1].setKey("kernel.name");
  attributes[1].setValue("linux");
  auto drivers = draft->initDrivers(1);
  drivers[0].setKey("exec");
  drivers[0].initValue().setHealthy(true);
  auto events = draft->initEvents(2);
  events[0].setMessage("Node registered");
  events[1].setMessage("Node drained");
  draft->initNodeResources().initCpu().setReservableCpuCores({0, 1, 3});
  return draft.freeze();
}

/// "yes", "no" or the error.
std::string ask(const std::string& expression) {
  auto filter = Filter::compile(expression);
  if (!filter) return filter.error().what;
  static const auto row = node();
  const auto result = filter->matches(*row);
  nomad::Work work{Filter::row_work};
  REQUIRE(filter->matches(row, {}, work) == result);  // as it lies in memory
  if (!result) return result.error().what;
  return *result ? "yes" : "no";
}

}  // namespace

TEST_CASE("filter: compares fields of every kind by the API's names") {
  const std::pair<const char*, const char*> cases[] = {
      {"Name == \"client-1\"", "yes"},
      {"Name != \"client-1\"", "no"},
      {"Name contains client", "yes"},
      {"Name matches \"^client-[0-9]$\"", "yes"},
      {"Name not matches \"^x\"", "yes"},
      {"Name is not empty", "yes"},
      {"NodeClass is empty", "yes"},
      {"Status == ready", "yes"},
      {"CreateIndex == 7", "yes"},
      {"StatusUpdatedAt == -3", "yes"},
      {"TLSEnabled == false", "yes"},
      {"Attributes[\"kernel.name\"] == linux", "yes"},
      {"\"/Attributes/cpu.arch\" == amd64", "yes"},
      {"\"cpu.arch\" in Attributes", "yes"},
      {"Attributes is not empty", "yes"},
      {"Links is empty", "yes"},
      {"Drivers.exec.Healthy == true", "yes"},
      {"Events.1.Message contains drained", "yes"},
      {"\"3\" in NodeResources.Cpu.ReservableCpuCores", "yes"},
      {"NodeResources.Cpu.ReservableCpuCores contains 2", "no"},
      {"DrainStrategy is empty", "yes"},
      {"any Events as e { e.Message contains drained }", "yes"},
      {"all Events as e { e.Message contains drained }", "no"},
      {"any Attributes as k, v { k == \"cpu.arch\" and v == amd64 }", "yes"},
      {"all Attributes as k { k matches \"\\\\.\" }", "yes"},
      {"any Events as i, e { i == 1 and e.Message contains drained }", "yes"},
      {"any Links as l { l == x }", "no"},
      {"all Links as l { l == x }", "yes"},
      {"not Name == x and (Status == down or Status == ready)", "yes"},
  };
  for (const auto& [expression, expected] : cases) {
    const auto& shown = expression;
    CAPTURE(shown);
    CHECK(ask(expression) == expected);
  }
}

TEST_CASE("filter: a missing map key is no error, everything else missing is one") {
  CHECK(ask("Meta.x == 1") == "no");
  CHECK(ask("Meta.x != 1") == "yes");
  CHECK(ask("Meta.x is empty") == "yes");
  CHECK(ask("Meta.x not matches y") == "yes");
  const std::string begin = "error finding value in datum: ";
  CHECK(ask("Foo == 1")
        == begin + "/Foo at part 0: couldn't find key: struct field with name \"Foo\"");
  CHECK(ask("name == 1")
        == begin + "/name at part 0: couldn't find key: struct field with name \"name\"");
  CHECK(ask("Drivers.foo.Healthy == true")
        == begin + "/Drivers/foo/Healthy at part 1: couldn't find key \"foo\"");
  CHECK(ask("Events.77.Message == x")
        == begin + "/Events/77/Message at part 1: index 77 is out of range (length = 2)");
  CHECK(ask("Events.x.Message == x")
        == begin + "/Events/x/Message at part 1: couldn't convert value \"x\" to type int");
  CHECK(ask("Name.foo == 1") == begin + "/Name/foo: at part 1, invalid value kind: string");
  CHECK(ask("DrainStrategy.Deadline == 1")
        == begin + "/DrainStrategy/Deadline: at part 1, invalid value kind: invalid");
  CHECK(ask("\"/foo~0x\" == 1")
        == begin + "/foo~0x at part 0: couldn't find key: struct field with name \"foo~x\"");
}

TEST_CASE("filter: wrong types are errors in go-bexpr's words") {
  const std::string no_equal = "unable to find suitable primitive comparison function for matching";
  CHECK(ask("Attributes == 1") == no_equal);
  CHECK(ask("NodeResources == 1") == no_equal);
  CHECK(ask("CreateIndex == 1.5")
        == "error getting match value in expression: strconv.ParseUint: parsing \"1.5\": invalid "
           "syntax");
  CHECK(ask("CreateIndex == 18446744073709551616")
        == "error getting match value in expression: strconv.ParseUint: parsing "
           "\"18446744073709551616\": value out of range");
  CHECK(ask("TLSEnabled == maybe")
        == "error getting match value in expression: strconv.ParseBool: parsing \"maybe\": invalid "
           "syntax");
  CHECK(ask("\"5\" in CreateIndex")
        == "Cannot perform in/contains operations on type uint64 for selector: \"CreateIndex\"");
  CHECK(ask("Name matches \"(\"")
        == "Failed to compile regular expression \"(\": error parsing regexp: missing closing ): "
           "`(`");
  CHECK(ask("TLSEnabled is empty")
        == "Cannot perform is empty operations on type bool for selector: \"TLSEnabled\"");
  CHECK(ask("any Name as n { n == x }") == "Name is not a list or a map");
  CHECK(ask("any Attributes as k, v { k.deep == x }")
        == "/k references a string so the path below it is invalid");
  CHECK(ask("x in Events")
        == "unable to find suitable primitive comparison function for \"in\" comparison");
  CHECK(ask("CreateIndex matches \"7\"") == "Value of type uint64 is not convertible to []byte");
  CHECK(ask("any Events as x, x { x == 1 }")
        == "\"x\" cannot be used as a placeholder for both the index and the value");
}

TEST_CASE("filter: secrets and what is ours alone cannot be asked for") {
  CHECK(ask("SecretID == hush").starts_with("error finding value in datum: /SecretID at part 0"));

  const auto filter = Filter::compile("JobVersion == 0");
  Draft<schema::Allocation> alloc;
  CHECK(filter->matches(alloc.reader()).has_error());
}

TEST_CASE("filter: joined objects and values that may be null are found") {
  Draft<schema::Job> job;
  job->setPriority(70);
  Draft<schema::Allocation> alloc;
  alloc->initDeploymentStatus().getHealthy().setValue(true);
  alloc->initDesiredTransition();
  const Filter::Extra extras[] = {{"Job", job.reader()}};
  Work work{1'000'000};
  const auto check = [&](const char* expression) {
    return *Filter::compile(expression)->matches(alloc.reader(), extras, work);
  };

  CHECK(check("Job.Priority == 70"));
  CHECK(check("DeploymentStatus.Healthy == true"));
  CHECK(check("DesiredTransition.Migrate is empty"));
  CHECK(check("ClientStatus == pending"));
}

TEST_CASE("filter: numbers are read as Go reads them") {
  CHECK(*parse_int("-0x10", 0) == -16);
  CHECK(*parse_int("010", 0) == 8);
  CHECK(*parse_int("0b1_0", 0) == 2);
  CHECK(*parse_int("1_000", 0) == 1000);
  CHECK(*parse_int("-9223372036854775808", 0) == INT64_MIN);
  CHECK(parse_int("9223372036854775808", 0).error().what.ends_with("value out of range"));
  for (const auto* bad : {"", "-", "_1", "1_", "0x", "x", "1 ", "0b2", "1__0", "--1"}) {
    CAPTURE(bad);
    CHECK(parse_int(bad, 0).has_error());
  }
  CHECK(*parse_uint("18446744073709551615", 0) == UINT64_MAX);
  CHECK(parse_uint("-1", 0).has_error());
  CHECK(*parse_float("+1.5e3") == 1500.0);
  CHECK(parse_float("1.5x").has_error());
}

TEST_CASE("page: counts rows, and tokens come back as they were") {
  query::Page page{2};
  CHECK_FALSE(page.is_full());
  page.add();
  page.add();
  CHECK(page.is_full());
  page.end_at(query::CreateToken::make(17, "abc"));
  CHECK(page.next_token() == "17.abc");
  CHECK_FALSE(query::Page{0}.is_full());
  CHECK_FALSE(query::Page{-5}.is_full());

  CHECK(query::CreateToken::parse("17.abc")->create_index == 17);
  CHECK(query::CreateToken::parse("17.abc")->id == "abc");
  for (const auto* bad : {"", "17", ".abc", "x.abc", "1x.abc", "99999999999999999999.a"}) {
    CAPTURE(bad);
    CHECK_FALSE(query::CreateToken::parse(bad));
  }
  CHECK(query::NameToken::parse("default.a.b").id == "a.b");
  CHECK(query::NameToken::parse("default").ns == "default");
  CHECK(query::NameToken::make("n", "i") == "n.i");
}

TEST_CASE("filter: a row takes what its texts and patterns say, and no more than it may") {
  Draft<schema::Allocation> alloc;
  alloc->setName(std::string(1'000'000, 'a'));
  const auto cheap = Filter::compile("Name matches `b`");
  const auto dear = Filter::compile("Name matches `(a|b)*a(a|b){400}c`");
  Work little{100'000};

  CHECK(cheap->matches(alloc.reader()) == false);
  CHECK(dear->matches(alloc.reader()).error().code == Errc::too_large);
  CHECK(cheap->matches(alloc.reader(), {}, little).error().code == Errc::too_large);
}

TEST_CASE("filter: comparing costs the bytes that are compared") {
  const std::string long_text(1'000'000, 'a');
  Draft<schema::Allocation> alloc;
  alloc->setName(long_text);
  Draft<schema::Namespace> ns;
  auto drivers = ns->initCapabilities().initEnabledTaskDrivers(20'000);
  for (unsigned i = 0; i < drivers.size(); ++i)
    drivers.set(i, "exec");
  const auto cost = [](const std::string& text, capnp::DynamicStruct::Reader row) {
    Work work{1U << 30U};
    const auto found = Filter::compile(text)->matches(row, {}, work);
    CHECK(found.has_value());
    return work.used();
  };

  CHECK(cost("Name contains `b`", alloc.reader()) > 1'000'000);
  CHECK(cost("`b` not in Name", alloc.reader()) > 1'000'000);
  CHECK(cost("Name == \"" + long_text + '"', alloc.reader()) > 1'000'000);
  CHECK(cost("Name == `b`", alloc.reader()) < 1'000);
  CHECK(cost("Capabilities.EnabledTaskDrivers contains `java`", ns.reader()) > 20'000 * Work::step);
  std::string many = "Name contains `b`";
  for (int i = 0; i < 100; ++i)
    many += " or Name contains `b`";
  CHECK(Filter::compile(many)->matches(alloc.reader()).error().code == Errc::too_large);
}

TEST_CASE("filter: all its patterns together are bounded") {
  std::string text = "Name matches `\\pL{50}`";
  for (int i = 0; i < 400; ++i)
    text += " or Name matches `\\pL{50}`";
  Draft<schema::Allocation> alloc;
  alloc->setName("b");

  CHECK(Filter::compile(text)->matches(alloc.reader()).error().code == Errc::too_large);
}

TEST_CASE("filter: looks into fields that hold free JSON") {
  Draft<schema::Task> task;
  task->setConfig(R"({"image":"web:1","ports":["http",7],"auth":{"x":true,"n":null},"cpu":1.5})");
  const auto says = [&task](const std::string& expression) -> std::string {
    const auto filter = Filter::compile(expression);
    REQUIRE(filter.has_value());
    const auto result = filter->matches(task.reader());
    if (!result) return result.error().what;
    return *result ? "yes" : "no";
  };

  struct Case {
    std::string expression, expected;
  };

  for (const auto& one : std::vector<Case>{
           {"Config.image == `web:1`", "yes"},
           {"Config.image matches `^web:`", "yes"},
           {"Config.cpu == 1.5", "yes"},
           {"Config.auth.x == true", "yes"},
           {"http in Config.ports", "yes"},
           {"Config.ports.1 == 7", "yes"},
           {"image in Config", "yes"},
           {"any Config.ports as p { p == http }", "yes"},
           {"any Config as k, v { k == image and v == `web:1` }", "yes"},
           {"Config.missing == x", "no"},
           {"Config.missing != x", "yes"},
           {"Config is not empty", "yes"},
           {"Config.image.deep == x",
            "error finding value in datum: /Config/image/deep: at part 2, invalid value kind: "
            "string"}}) {
    CHECK_MESSAGE(says(one.expression) == one.expected, one.expression);
  }
  task->setConfig("");
  CHECK(says("Config is empty") == "yes");
  CHECK(says("Config.image not matches `x`") == "yes");

  task->setConfig("{\"a\":\"" + std::string(100'000, 'x') + "\"}");
  Work little{1'000};
  const auto filter = Filter::compile("Config.a is not empty");
  CHECK(filter->matches(task.reader(), {}, little).error().code == Errc::too_large);
}
