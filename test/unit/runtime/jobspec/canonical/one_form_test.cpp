// Nothing, null and empty are one thing: whichever of them clients write, the same job is stored.
// Driven by the schema, so that a new field is covered.
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/object/meaning.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

using namespace nomad::jobspec;
using boost::json::array;
using boost::json::object;
using boost::json::value;

namespace {

using Random = std::minstd_rand;

/// The ways to write that a field has no value; none where that is a wish of its own: a single
/// value that may be null has a default, and an object may stand for its defaults.
std::vector<value> ways_to_say_nothing(const Field& field) {
  if (field.has(Trait::nullable | Trait::pointer) && field.is_single()) return {nullptr};
  switch (field.kind) {
    case Kind::text:
    case Kind::bytes:
      return {nullptr, ""};
    case Kind::texts:
    case Kind::blocks:
      return {nullptr, array{}};
    case Kind::block_map:
    case Kind::text_map:
    case Kind::texts_map:
    case Kind::free_map:
      return {nullptr, object{}};
    default:
      return {nullptr};
  }
}

bool says_nothing(const value& member) {
  const auto* text = member.if_string();
  const auto* list = member.if_array();
  const auto* map = member.if_object();
  return member.is_null() || (text != nullptr && text->empty())
         || (list != nullptr && list->empty()) || (map != nullptr && map->empty());
}

/// Whether the member may be replaced by another way to say nothing.
bool is_free(const Field& field, const value* member) {
  if (member == nullptr || member->is_null()) return true;
  if (field.json == "RelativeDest") return false;  // "" is the task's folder, without is "local/"
  return field.kind != Kind::block && says_nothing(*member);
}

void vary(object& block, const BlockType& type, Random& random);

void vary_below(value& member, const Field& field, Random& random) {
  if (field.kind == Kind::block && member.is_object())
    vary(member.get_object(), *field.block, random);
  if (field.kind == Kind::blocks && member.is_array())
    for (value& element : member.get_array())
      if (element.is_object()) vary(element.get_object(), *field.block, random);
  if (field.kind == Kind::block_map && member.is_object())
    for (auto& entry : member.get_object())
      if (entry.value().is_object()) vary(entry.value().get_object(), *field.block, random);
}

/// Writes what has no value in other ways, at random: null, empty, or not at all.
void vary(object& block, const BlockType& type, Random& random) {
  for (const Field& field : type.fields) {
    value* member = block.if_contains(field.json);
    if (member != nullptr) vary_below(*member, field, random);
    if (!is_free(field, member)) continue;
    auto ways = ways_to_say_nothing(field);
    const auto choice = random() % (ways.size() + 1);
    if (choice < ways.size())
      block[field.json] = ways[choice];
    else
      block.erase(field.json);
  }
}

/// What GET /v1/job answers once the job is stored.
object answer_to(const object& job) {
  return tree_of_stored(admitted(job));
}

void check_one_form(const value& name, object job) {
  CAPTURE(name);
  for (const auto* token : {"ConsulToken", "VaultToken"})  // which are never stored
    job.erase(token);
  const auto known = admitted(job).freeze();
  const auto again = admitted(answer_to(job)).freeze();
  CHECK_MESSAGE(::nomad::object::same_meaning(*known, *again), nomad::to_json(*known)
                                                                   << "\n"
                                                                   << nomad::to_json(*again));
  auto parsed = canonical_tree(job);  // what jobs/parse answers, which clients register
  REQUIRE(parsed.has_value());
  complete(*parsed);
  CHECK(admitted(*parsed).freeze().equals(known));
  Random random{42};
  for (int round = 0; round < 20; ++round) {
    object other = round % 2 == 0 ? job : answer_to(job);
    vary(other, block_types().job, random);
    const auto stored = admitted(other).freeze();
    const auto& base = round % 2 == 0 ? known : again;
    CHECK_MESSAGE(stored.equals(base), boost::json::serialize(other)
                                           << "\n"
                                           << nomad::to_json(*base) << "\n"
                                           << nomad::to_json(*stored));
    if (!stored.equals(base)) return;
  }
}

}  // namespace

TEST_CASE("one form: a job is stored alike, however its empty fields are written") {
  const value table = load_json("canonicalize.json");
  for (const value& row : table.at("cases").as_array())
    check_one_form(row.at("name"), row.at("job").as_object());
}

TEST_CASE("one form: so is one of a job file") {
  int checked = 0;
  const std::filesystem::path folder = std::filesystem::path{JOBSPEC_TEST_DATA} / "parse";
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (entry.path().extension() != ".hcl") continue;
    std::ostringstream content;
    content << std::ifstream{entry.path()}.rdbuf();
    const ParsedJob parsed = parse_job("input.hcl", content.str());
    if (!parsed.ok()) continue;
    check_one_form(value(entry.path().filename().string()), parsed.job);
    ++checked;
  }
  CHECK(checked > 50);
}

TEST_CASE("one form: what answers always show as a list is one") {
  object job = small_job();
  job["Periodic"] = {{"Spec", "@daily"}};
  CHECK(answer_to(job).at("Periodic").at("Specs").as_array().empty());
  job["Constraints"] = array{};
  CHECK(answer_to(job).at("Constraints").is_null());
}

TEST_CASE("one form: what was stored before there was one compares by its meaning") {
  nomad::Draft<nomad::schema::Job> old{admitted(small_job()).freeze()};
  auto task = old->getTaskGroups()[0].getTasks()[0];
  task.setUser("");
  task.initConstraints(0);
  task.setConfig("{}");
  old->setStatusDescription("other");

  const auto now = admitted(small_job()).freeze();
  CHECK_FALSE(old.freeze().equals(now));
  CHECK(::nomad::object::same_meaning(old.reader(), *now));
  task.setUser("somebody");
  CHECK_FALSE(::nomad::object::same_meaning(old.reader(), *now));
  task.setUser("");
  nomad::Draft<nomad::schema::Job> other{now};
  const auto configure = [](auto& draft, const char* config) {
    draft->getTaskGroups()[0].getTasks()[0].setConfig(config);
    return draft.freeze();
  };
  const auto same = [&](const char* before, const char* after) {
    return ::nomad::object::same_meaning(*configure(old, before), *configure(other, after));
  };
  CHECK(same(R"({"a": [1, {"c":2,"b":"x"}],"d":null})", R"({"d":null,"a":[1,{"b":"x","c":2}]})"));
  CHECK_FALSE(same(R"({"entrypoint":[]})", "{}"));  // which a driver tells apart
  CHECK_FALSE(same(R"({"a":[1,2]})", R"({"a":[2,1]})"));
}

TEST_CASE("one form: a multiregion block in which nothing stands is none") {
  object job = small_job();
  const auto without = admitted(job).freeze();
  for (const char* empty :
       {"{}", R"({"Regions":[]})", R"({"Strategy":{}})", R"({"Strategy":null,"Regions":null})"}) {
    CAPTURE(empty);
    job["Multiregion"] = boost::json::parse(empty);
    CHECK(admitted(job).freeze().equals(without));
  }
  job["Multiregion"] = boost::json::parse(R"({"Regions":[{"Name":"eu"}]})");
  CHECK_FALSE(admitted(job).freeze().equals(without));
}

TEST_CASE("one form: a number that is absent is not 0") {
  object job = small_job();
  const auto without = admitted(job).freeze();
  job["TaskGroups"].at(0).as_object()["ShutdownDelay"] = 0;
  CHECK_FALSE(::nomad::object::same_meaning(*without, *admitted(job).freeze()));
}
