#include "test/unit/runtime/jobspec/cases.hpp"

#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

/// The place named by one step of a path.
value& step(value& in, std::string_view name) {
  if (!in.is_array()) {
    if (in.is_null()) in.emplace_object();
    return in.as_object()[name];
  }
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  REQUIRE(error == std::errc{});
  REQUIRE(end == name.data() + name.size());
  array& elements = in.as_array();
  REQUIRE(index <= elements.size());
  if (index == elements.size()) elements.emplace_back(nullptr);
  return elements[index];
}

template <class Drop>
value pruned(const value& tree, Drop&& drop) {
  if (const object* members = tree.if_object()) {
    object out;
    for (const auto& member : *members)
      if (value kept = pruned(member.value(), drop); !drop(kept)) out[member.key()] = kept;
    return out;
  }
  if (const array* elements = tree.if_array()) {
    array out;
    for (const value& element : *elements)
      out.push_back(pruned(element, drop));
    return out;
  }
  return tree;
}

bool is_zero(const value& tree) {
  if (tree.is_object()) return tree.get_object().empty();
  if (tree.is_array()) return tree.get_array().empty();
  if (tree.is_string()) return tree.get_string().empty();
  if (tree.is_bool()) return !tree.get_bool();
  return tree.is_null() || tree.to_number<double>() == 0;
}

}  // namespace

value load_json(std::string_view name) {
  const std::string path = std::string{JOBSPEC_TEST_DATA} + "/" + std::string{name};
  std::ifstream in{path, std::ios::binary};
  REQUIRE_MESSAGE(in, path);
  std::ostringstream text;
  text << in.rdbuf();
  return boost::json::parse(text.str());
}

object edited(const value& base, const array& edits) {
  value tree = base;
  for (const value& edit : edits) {
    const std::string_view path = edit.at("at").as_string();
    value* at = &tree;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      at = &step(*at, path.substr(begin, end - begin));
      begin = end + 1;
    }
    *at = edit.at("to");
  }
  return std::move(tree.as_object());
}

value without_null(const value& tree) {
  return pruned(tree, [](const value& member) { return member.is_null(); });
}

value without_zero(const value& tree) {
  return pruned(tree, is_zero);
}

object small_job() {
  return boost::json::parse(R"({"ID": "j", "TaskGroups": [{"Name": "g", "Tasks": [
      {"Name": "t", "Driver": "exec", "Resources": {"CPU": 100, "MemoryMB": 100}}]}]})")
      .as_object();
}

JobDraft drafted(const object& job) {
  auto draft = JobDraft::decode(job);
  REQUIRE_MESSAGE(draft.has_value(), draft.error().what);
  return std::move(*draft);
}

JobDraft admitted(const object& job) {
  JobDraft draft = drafted(job);
  admit(draft.job());
  return draft;
}

object tree_of_stored(const JobDraft& draft) {
  return boost::json::parse(to_json(*draft.freeze())).as_object();
}

object stored(const object& job) {
  return tree_of_stored(admitted(job));
}

std::string to_text(const value& tree) {
  if (const object* members = tree.if_object()) {
    std::map<std::string_view, const value*> sorted;
    for (const auto& member : *members)
      sorted.emplace(member.key(), &member.value());
    std::string out;
    for (const auto& [name, member] : sorted)
      out += (out.empty() ? "" : ",") + boost::json::serialize(name) + ":" + to_text(*member);
    return "{" + out + "}";
  }
  if (const array* elements = tree.if_array()) {
    std::string out;
    for (const value& element : *elements)
      out += (out.empty() ? "" : ",") + to_text(element);
    return "[" + out + "]";
  }
  if (tree.is_double() && std::trunc(tree.get_double()) == tree.get_double())
    return std::to_string(static_cast<std::int64_t>(tree.get_double()));
  return boost::json::serialize(tree);
}

}  // namespace nomad::jobspec
