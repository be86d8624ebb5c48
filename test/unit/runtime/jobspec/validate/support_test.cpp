// What of jobs is not carried out: each row of the schema's table, and how it is told.
#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/validate/rules.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

using namespace nomad::jobspec;

namespace {

/// Blocks from the outermost to the one that is meant, without that of the job.
using Path = std::vector<const Field*>;

/// Calls `visit` for every field of job files that has a row: what is inside of a block that is
/// refused has none, and inside of one that is unheeded only what is refused.
void each_row(const std::function<void(const Field&, const BlockType&, const Path&)>& visit) {
  const std::function<void(const BlockType&, Path&, bool)> walk
      = [&](const BlockType& type, Path& path, bool is_unheeded) {
          for (const Field& field : type.fields) {
            const bool is_of_files = !field.hcl.empty() || field.has(Trait::label);
            if (!is_of_files || (is_unheeded && field.support == Support::unsaid)) continue;
            visit(field, type, path);
            if (field.block == nullptr || field.support == Support::refused) continue;
            path.push_back(&field);
            walk(*field.block, path, is_unheeded || field.support == Support::unheeded);
            path.pop_back();
          }
        };
  Path path;
  walk(block_types().job, path, false);
}

bool is_labelled(const BlockType& type) {
  return std::any_of(type.fields.begin(), type.fields.end(),
                     [](const Field& field) { return field.has(Trait::label); });
}

/// A value that is no default.
std::string value_of(const Field& field, const BlockType* block) {
  if (block == &block_types().scaling && field.hcl == "type") return "\"\"";
  if (!field.only.empty()) return field.hcl == "mode" ? "\"bridge\"" : "\"csi\"";
  switch (field.kind) {
    case Kind::text:
      return "\"other\"";
    case Kind::boolean:
      return field.fallback != nullptr && field.fallback->get_bool() ? "false" : "true";
    case Kind::duration:
      return "\"7s\"";
    case Kind::texts:
      return "[\"other\"]";
    default:
      return "7";
  }
}

/// What a block has to say so that it is one, unless it is what `field` says.
std::string needed(const Field& block, bool in_task, const Field* field) {
  std::string_view name;
  std::string text;
  if (block.hcl == "volume") {
    name = "type";
    text = "type = \"host\"\n";
  }
  if (block.block == &block_types().scaling && !in_task) {
    name = "max";
    text = "max = 9\n";
  }
  return field != nullptr && field->hcl == name ? std::string{} : text;
}

/// How a job file says `field`: in full, or as a block with what it needs.
std::string said(const Field& field, const BlockType* block, bool in_task) {
  const std::string name{field.hcl};
  if (field.is_attribute()) return name + " = " + value_of(field, block) + "\n";
  std::string content = field.kind == Kind::texts_map ? "k = [\"v\"]" : "k = \"v\"";
  std::string label;
  if (field.block != nullptr) {
    content = needed(field, in_task, nullptr);
    if (is_labelled(*field.block) || (field.block == &block_types().scaling && in_task))
      label = " \"cpu\"";
  }
  return fmt::format("{}{} {{\n{}\n}}\n", name, label, content);
}

/// A job file that says nothing but `field`, and what stands around it.
std::string job_file_with(const Field& field, const Path& path) {
  const BlockType* around = path.empty() ? nullptr : path.back()->block;
  std::string content = said(field, around, path.size() > 1);
  for (std::size_t depth = path.size(); depth > 0; --depth) {
    const Field& block = *path[depth - 1];
    const bool in_task = depth > 2;
    std::string label = is_labelled(*block.block) ? " \"x\"" : "";
    if (block.block == &block_types().scaling && in_task) label = " \"cpu\"";
    content = fmt::format("{}{} {{\n{}{}}}\n", block.hcl, label,
                          needed(block, in_task, depth == path.size() ? &field : nullptr), content);
  }
  return "job \"j\" {\n" + content + "}\n";
}

/// A service job, so that its checks are waited for; without task and group it is not complete,
/// which is not what is asked here.
Validation support_of(const std::string& file, bool allow_refused = false) {
  const ParsedJob parsed = parse_job("job.hcl", file);
  REQUIRE_MESSAGE(parsed.ok(), file << parsed.error);
  Mistakes errors;
  Mistakes warnings;
  check_support(admitted(parsed.job).job(), allow_refused, errors, warnings);
  return {.errors = errors.texts(), .warnings = warnings.texts()};
}

std::string texts(const std::vector<std::string>& of) {
  std::string out;
  for (const std::string& text : of)
    out += text + "\n";
  return out;
}

bool any_names(const std::vector<std::string>& texts,
               const Field& field,
               std::string_view verdict) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
    return text.find(verdict) != text.npos && text.ends_with(field.note)
           && text.find(field.hcl) != text.npos;
  });
}

}  // namespace

TEST_CASE("support: every field of job files has a row") {
  int rows = 0;
  each_row([&](const Field& field, const BlockType& type, const Path&) {
    CAPTURE(type.name);
    CAPTURE(field.json);
    CHECK(field.support != Support::unsaid);
    ++rows;
  });
  CHECK(rows > 200);
}

TEST_CASE("support: each row's example is told what the row promises, and nothing else") {
  int told = 0;
  each_row([&](const Field& field, const BlockType&, const Path& path) {
    if (field.has(Trait::label)) return;
    const std::string file = job_file_with(field, path);
    CAPTURE(file);
    const Validation found = support_of(file);
    CAPTURE(texts(found.errors));
    CAPTURE(texts(found.warnings));
    const bool in_unheeded = std::any_of(path.begin(), path.end(), [](const Field* block) {
      return block->support == Support::unheeded;
    });
    if (field.support == Support::refused && !field.note.empty()) {
      CHECK(found.errors.size() == 1);
      CHECK(any_names(found.errors, field, " is not supported yet: "));
      const Validation allowed = support_of(file, true);
      CHECK(allowed.errors.empty());
      CHECK(any_names(allowed.warnings, field, " is not supported yet: "));
      ++told;
    } else {
      CHECK(found.errors.empty());
    }
    const bool is_unheeded = field.support == Support::unheeded;
    CHECK(found.warnings.size() == (in_unheeded || is_unheeded ? 1 : 0));
    if (is_unheeded && !in_unheeded)
      CHECK(any_names(found.warnings, field, " has no effect yet: "));
  });
  CHECK(told > 4);
}

TEST_CASE("support: a finding says where it is") {
  const Validation found = support_of(R"(
    job "j" {
      group "web" {
        service {
          name = "front"
          meta { x = "y" }
          connect { native = true }
        }
        task "server" {
          driver = "raw_exec"
          identity { env = true }
        }
      }
    })");
  CHECK(texts(found.errors)
        == "group \"web\", service \"front\": connect is not supported yet: there is no service "
           "mesh; leave it out\n");
  CHECK(
      texts(found.warnings)
      == "group \"web\", service \"front\": meta has no effect yet: it is of Consul's services\n");
}

TEST_CASE("support: a value that holds anyway is not told of") {
  const Validation found = support_of(R"(job "j" {
    consul_token = ""
    group "g" {
      network { mode = "host" }
      ephemeral_disk { sticky = false }
      restart { render_templates = false }
      volume "v" {
        type   = "host"
        source = "v"
      }
      task "t" {}
    }
  })");
  CHECK(found.ok());
  CHECK(found.warnings.empty());
}
