// Walks the schema, so that no field of a job is forgotten on its way: from job files and requests
// into the store, and from there into a diff.
#include "runtime/jobspec/schema.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <boost/json.hpp>
#include <capnp/any.h>
#include <doctest/doctest.h>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/diff/diff_rules.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/object/plan.hpp"
#include "schema/job.capnp.h"

namespace nomad::jobspec {

namespace json = boost::json;

namespace {

/// A value other than zero for everything that the codec knows.
json::value example(const nomad::object::ValuePlan& plan) {
  using nomad::object::Shape;
  switch (plan.shape) {
    case Shape::boolean:
      return true;
    case Shape::signed_number:
    case Shape::unsigned_number:
    case Shape::real:
    case Shape::duration:
      return 1;
    case Shape::base64:
      return "eA==";
    case Shape::raw_json:
      return json::object{{"k", 1}};
    case Shape::object: {
      json::object out;
      for (const nomad::object::FieldPlan& field : plan.fields->fields)
        out[field.name] = example(field.value);
      return out;
    }
    case Shape::list:
      return json::array{example(*plan.element)};
    case Shape::map:
      return json::object{{"k", example(*plan.element)}};
    case Shape::optional:
      return example(*plan.element);
    case Shape::text:
    case Shape::secret_text:
    case Shape::timestamp:
    case Shape::duration_text:
    case Shape::enumeration:
      break;
  }
  return "x";
}

/// How a job file says a value other than zero.
std::string example_text(const Field& field, const BlockType& type, bool in_task) {
  if (field.hcl == "type" && &type == &block_types().scaling)
    return in_task ? "\"vertical_cpu\"" : "\"horizontal\"";
  if (field.hcl == "static") return "0";  // or it would be no dynamic port
  switch (field.kind) {
    case Kind::text:
      return "\"x\"";
    case Kind::boolean:
      return "true";
    case Kind::duration:
      return "\"1ns\"";
    case Kind::texts:
      return "[\"x\"]";
    default:
      return "1";
  }
}

bool has_label(const BlockType& type) {
  for (const Field& field : type.fields)
    if (field.has(Trait::label)) return true;
  return false;
}

std::string file_body(const BlockType& type, bool in_task) {
  std::string out;
  for (const Field& field : type.fields) {
    if (field.hcl.empty() || field.has(Trait::label)) continue;
    const std::string name{field.hcl};
    if (field.is_attribute()) {
      out += name + " = " + example_text(field, type, in_task) + "\n";
      continue;
    }
    std::string content = field.kind == Kind::text_map    ? "k = \"x\"\n"
                          : field.kind == Kind::texts_map ? "k = [\"x\"]\n"
                                                          : "k = 1\n";
    const bool in_this_task = in_task || field.block == &block_types().task;
    if (field.block != nullptr) content = file_body(*field.block, in_this_task);
    const bool labeled
        = field.block != nullptr
          && (has_label(*field.block) || (field.block == &block_types().scaling && in_task));
    if (field.json == "Identity" && type.name == "Task")  // one without a name, and one with
      content = "env = true\n}\nidentity {\n" + content;
    out += name + (labeled ? " \"cpu\"" : "") + " {\n" + content + "}\n";
  }
  return out;
}

bool is_nothing(const json::value* found) {
  if (found == nullptr || found->is_null()) return true;
  if (found->is_string()) return found->get_string().empty();
  if (found->is_bool()) return !found->get_bool();
  if (found->is_number()) return found->to_number<double>() == 0;
  return found->is_array() && found->get_array().empty();
}

/// Calls `visit(object, type)` for a block and all below it.
void each_block(const json::object& block,
                const BlockType& type,
                const std::function<void(const json::object&, const BlockType&)>& visit) {
  visit(block, type);
  for (const Field& field : type.fields) {
    if (field.block == nullptr) continue;
    const json::value* found = block.if_contains(field.json);
    if (found == nullptr || found->is_null()) continue;
    if (field.kind == Kind::block) each_block(found->get_object(), *field.block, visit);
    if (field.kind == Kind::blocks)
      for (const json::value& element : found->get_array())
        each_block(element.get_object(), *field.block, visit);
    if (field.kind == Kind::block_map)
      for (const auto& entry : found->get_object())
        each_block(entry.value().get_object(), *field.block, visit);
  }
}

/// A block with one empty block for each that may be in it.
json::object empty_blocks(const BlockType& type) {
  json::object out;
  for (const Field& field : type.fields) {
    if (field.block == nullptr || field.has(Trait::api_only)) continue;
    json::object inner = empty_blocks(*field.block);
    if (field.kind == Kind::block) out[field.json] = std::move(inner);
    if (field.kind == Kind::blocks) out[field.json] = json::array{std::move(inner)};
    if (field.kind == Kind::block_map) out[field.json] = json::object{{"k", std::move(inner)}};
  }
  return out;
}

}  // namespace

TEST_CASE("every field that is stored is heard from requests") {
  const auto& plan = nomad::object::plan_of(capnp::Schema::from<schema::Job>());
  const json::value sent = example({nomad::object::Shape::object, {}, &plan});
  const std::string text = json::serialize(sent);
  const auto read = FlatJson::read(text);
  REQUIRE(read.has_value());

  Draft<schema::Job> all;
  const auto decoded = from_json(read->root(), *all);
  REQUIRE_MESSAGE(decoded.has_value(), decoded.error().what);
  const auto heard = JobDraft::decode(sent.get_object());
  REQUIRE_MESSAGE(heard.has_value(), heard.error().what);
  auto expected = json::parse(to_json(all.reader()));
  auto stored = json::parse(to_json(*heard->freeze()));
  // Canonicalization writes the text of these.
  for (auto* job : {&expected, &stored}) {
    job->get_object().erase("Multiregion");
    for (auto* services : {&job->at("TaskGroups").at(0).at("Services"),
                           &job->at("TaskGroups").at(0).at("Tasks").at(0).at("Services")})
      services->at(0).get_object().erase("Connect");
  }
  CHECK(json::serialize(stored) == json::serialize(expected));
}

TEST_CASE("every field can be written in job files that is not said to be none of theirs") {
  const std::string file = "job \"j\" {\n" + file_body(block_types().job, false) + "}\n";

  const ParsedJob parsed = parse_job("job.hcl", file);

  REQUIRE_MESSAGE(parsed.ok(), parsed.error);
  // Ports come sorted into two lists, of which these make one.
  const std::set<std::string_view> merged{"static", "reserved_ports"};
  each_block(parsed.job, block_types().job, [&](const json::object& block, const BlockType& type) {
    for (const Field& field : type.fields) {
      if (field.hcl.empty() || merged.contains(field.hcl)) continue;
      if (type.name == "WorkloadIdentity" && !block.contains("Name") && field.hcl != "env")
        continue;
      CAPTURE(type.name);
      CAPTURE(field.hcl);
      CHECK_FALSE(is_nothing(block.if_contains(field.json)));
    }
  });
}

TEST_CASE("every default of the schema is in canonical jobs") {
  const json::object job = empty_blocks(block_types().job);

  auto canonical = canonical_tree(job);
  REQUIRE_MESSAGE(canonical.has_value(), canonical.error().what);

  std::size_t count = 0;
  each_block(*canonical, block_types().job, [&](const json::object& block, const BlockType& type) {
    for (const Field& field : type.fields) {
      if (field.fallback == nullptr) continue;
      CAPTURE(type.name);
      CAPTURE(field.json);
      const json::value* found = block.if_contains(field.json);
      CHECK((found != nullptr && !found->is_null()));
      ++count;
    }
  });
  CHECK(count > 100);
}

namespace {

/// Changes that plans don't show as objects of their own, as they never did: only the type of the
/// object around them tells that something changed.
const std::set<std::string> unshown{
    "Job.TaskGroups",  // groups and tasks have diffs of a shape of their own
    "Job.Update",      // the groups' own are shown
    "Job.Spreads",
    "Job.Payload",
    "TaskGroup.Tasks",
    "TaskGroup.Spreads",
    "Task.Lifecycle",
    "Task.RestartPolicy",
    "Task.VolumeMounts",
    "Job.VersionTag",
    "Task.CSIPluginConfig",
    "Task.ScalingPolicies",
    "RequestedDevice.Constraints",
    "RequestedDevice.Affinities",
    "ServiceCheck.Args",
    "ConsulSidecarService.Tags",
    "ConsulProxy.Expose",
    "ConsulUpstream.Config",
};

void check_rule(const ObjectRule& rule, const BlockType& type, std::set<std::string>& seen) {
  for (const ChildRule& child : rule.children) {
    const Field* field = type.find(child.member);
    CAPTURE(child.member);
    REQUIRE(field != nullptr);
    if (child.rule != nullptr) check_rule(*child.rule, *field->block, seen);
  }
  for (const std::string_view name : rule.ignored) {
    CAPTURE(name);
    CHECK(type.find(name.substr(0, name.find('['))) != nullptr);
  }
  for (const Field& field : type.fields) {
    if (field.is_single() || field.kind == Kind::text_map || field.has(Trait::api_only)) continue;
    const bool compared
        = std::any_of(rule.children.begin(), rule.children.end(),
                      [&](const ChildRule& child) { return child.member == field.json; });
    const std::string name = std::string{type.name} + "." + std::string{field.json};
    CAPTURE(name);
    CHECK(compared != unshown.contains(name));
    if (!compared) seen.insert(name);
  }
}

}  // namespace

TEST_CASE("every nested object is compared by plans, or known not to be") {
  std::set<std::string> seen;
  check_rule(job_rule, block_types().job, seen);
  check_rule(group_rule, block_types().group, seen);
  check_rule(task_rule, block_types().task, seen);
  CHECK(seen == unshown);
}

}  // namespace nomad::jobspec
