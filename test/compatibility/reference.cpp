// docs/job-file.md and docs/agent-configuration.md: every block of the files that users write, with
// an example that says what each key is, and a table of types, defaults and differences. Made of
// docs/reference/*.hcl, whose examples are parsed as an agent would, and of the tables by which the
// files are read; fails when a page is not current, when an example is refused, and when a key that
// works is in none.
//
// A section of an example begins with "#: <path of the block>[, <what is special>]" and lines of
// text that begin with "# ".
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/config/keys.hpp"
#include "runtime/config/reload.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"
#include "runtime/jobspec/schema.hpp"
#include "test/compatibility/pages.hpp"

namespace {

using nomad::jobspec::BlockType;
using nomad::jobspec::Field;
using nomad::jobspec::Support;
using nomad::jobspec::Trait;

struct Section {
  std::string title;
  std::string path;  ///< The title without what follows a comma.
  std::string text;
  std::string example;
};

std::vector<Section> sections_of(const std::string& source) {
  std::vector<Section> sections;
  std::istringstream lines{source};
  bool is_head = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#: ")) {
      const auto title = line.substr(3);
      sections.push_back({title, title.substr(0, title.find(',')), {}, {}});
      is_head = true;
    } else if (is_head && line.starts_with("# ")) {
      sections.back().text += line.substr(2) + '\n';
    } else if (!sections.empty()) {
      is_head = false;
      sections.back().example += line + '\n';
    }
  }
  for (Section& section : sections)
    section.example.erase(section.example.find_last_not_of('\n') + 1);
  return sections;
}

std::string start_of(const Section& section) {
  return fmt::format("\n## {}\n\n{}{}```hcl\n{}\n```\n", section.title, section.text,
                     section.text.empty() ? "" : "\n", section.example);
}

std::string row(std::string_view key,
                std::string_view type,
                std::string_view fallback,
                std::string_view note) {
  return fmt::format("| `{}` | {} | {} | {} |\n", key, type,
                     fallback.empty() ? std::string{} : fmt::format("`{}`", fallback), note);
}

std::string table_of(const std::string& rows) {
  return rows.empty() ? rows : "\n| key | type | unless it is set | |\n|---|---|---|---|\n" + rows;
}

// -- job files

std::string_view type_of(const Field& field) {
  using enum nomad::jobspec::Kind;
  switch (field.kind) {
    case text:
    case bytes:
      return "string";
    case boolean:
      return "boolean";
    case integer:
    case int64:
    case int8:
    case uint8:
    case uint64:
      return "number";
    case duration:
      return "duration";
    case texts:
      return "list of strings";
    case block:
      return "block";
    case blocks:
      return "blocks";
    case block_map:
      return "blocks with a label";
    case text_map:
      return "map of strings";
    case texts_map:
      return "map of lists";
    case free_map:
      return "map";
  }
  return "";
}

std::string fallback_of(const Field& field) {
  if (field.fallback == nullptr || field.fallback->is_null() || field.block != nullptr) return {};
  const auto& value = *field.fallback;
  if (field.kind == nomad::jobspec::Kind::duration && value.is_int64())
    return nomad::format_duration(nomad::Nanoseconds{value.as_int64()});
  const auto text = boost::json::serialize(value);
  return text == "\"\"" || text == "[]" || text == "{}" ? std::string{} : text;
}

bool works(const Field& field) {
  return !field.hcl.empty()
         && (field.support == Support::works || field.support == Support::partly);
}

/// What examples say of each type of block, and where it stands first.
class JobExamples {
public:
  /// Errors are told, and counted.
  void add(const Section& section) {
    const auto wrapped = wrap(section);
    const auto parsed = nomad::jobspec::parse_job(section.title, wrapped);
    if (!parsed.ok()) tell(section.title + ": " + parsed.error);
    const auto tree = nomad::hcl::parse(section.title, wrapped);
    for (const auto* block : tree.file->body()->blocks)
      if (block->type == "job") note(*block, nomad::jobspec::block_types().job);
  }

  const BlockType* type_at(const std::string& path) const {
    const BlockType* type = &nomad::jobspec::block_types().job;
    for (const auto& step : steps_of(path)) {
      if (step == "job") continue;
      const auto found = std::ranges::find(type->fields, step, &Field::hcl);
      if (found == type->fields.end() || found->block == nullptr) return nullptr;
      type = found->block;
    }
    return type;
  }

  /// Keys that work and are in no example.
  void tell_missing(const BlockType& type, const std::string& path) {
    if (!seen_.insert(&type).second) return;
    for (const Field& field : type.fields) {
      if (!works(field)) continue;
      const auto here = path + " > " + std::string{field.hcl};
      if (!names_[&type].contains(field.hcl)) tell("no example has " + here);
      if (field.block != nullptr) tell_missing(*field.block, here);
    }
  }

  std::string rows_of(const BlockType& type,
                      const std::set<const BlockType*>& apart,
                      const std::string& before = {}) {
    std::string rows;
    if (!shown_.insert(&type).second) return rows;
    for (const Field& field : type.fields) {
      if (!works(field)) continue;
      const auto name = before + std::string{field.hcl};
      rows += row(name, field.has(Trait::label) ? "string, or the label" : type_of(field),
                  fallback_of(field), field.note);
      if (field.block != nullptr && !apart.contains(field.block))
        rows += rows_of(*field.block, apart, name + " > ");
    }
    return rows;
  }

  bool failed() const { return failed_; }

private:
  static std::vector<std::string> steps_of(const std::string& path) {
    std::vector<std::string> steps;
    for (std::size_t at = 0; at != path.npos;) {
      const auto end = path.find(" > ", at);
      steps.push_back(path.substr(at, end == path.npos ? end : end - at));
      at = end == path.npos ? end : end + 3;
    }
    return steps;
  }

  /// The example where its blocks belong.
  static std::string wrap(const Section& section) {
    auto steps = steps_of(section.path);
    steps.pop_back();
    std::string head;
    std::string tail;
    for (const auto& step : steps) {
      const bool has_label = step == "job" || step == "group" || step == "task";
      head += step + (has_label ? " \"example\" {\n" : " {\n");
      tail += "\n}";
    }
    return head + section.example + tail + '\n';
  }

  void note(const nomad::hcl::BlockNode& block, const BlockType& type) {
    auto& names = names_[&type];
    for (const auto& attribute : block.body->attributes)
      names.insert(std::string{attribute.name});
    for (const Field& field : type.fields)
      if (field.has(Trait::label) && !block.labels.empty()) names.insert(std::string{field.hcl});
    for (const auto* inner : block.body->blocks) {
      names.insert(std::string{inner->type});
      const auto field = std::ranges::find(type.fields, inner->type, &Field::hcl);
      if (field != type.fields.end() && field->block != nullptr) note(*inner, *field->block);
    }
  }

  void tell(const std::string& text) {
    std::cerr << text << '\n';
    failed_ = true;
  }

  std::map<const BlockType*, std::set<std::string, std::less<>>> names_;
  std::set<const BlockType*> seen_;
  std::set<const BlockType*> shown_;
  bool failed_ = false;
};

constexpr std::string_view job_head = R"(# Job files

Every block of a job file with an example that has all its keys, and below it a table of types and defaults. Made by `./dev docs` of
`docs/reference/job.hcl`, whose examples are parsed by the suite, and of the tables by which job files are read. What of Nomad's language
has no effect here is in [compatibility](compatibility.md); the language itself (variables, locals, functions, `dynamic`) is HCL2 as Nomad has it.

A duration is a text such as `"1h30m"`; a number of nanoseconds is one, too. Values may hold `${…}` of the
[task's environment and node](https://developer.hashicorp.com/nomad/docs/runtime/interpolation).
)";

/// The page, or nothing when an example is wrong.
std::string job_page(const std::vector<Section>& sections) {
  JobExamples examples;
  std::set<const BlockType*> apart;
  for (const Section& section : sections) {
    examples.add(section);
    apart.insert(examples.type_at(section.path));
  }
  examples.tell_missing(nomad::jobspec::block_types().job, "job");
  std::string page{job_head};
  for (const Section& section : sections) {
    page += start_of(section);
    if (const auto* type = examples.type_at(section.path))
      page += table_of(examples.rows_of(*type, apart));
  }
  return examples.failed() ? std::string{} : page;
}

// -- configuration files

std::string_view type_of(const nomad::config::Key& key) {
  using enum nomad::config::Kind;
  switch (key.kind) {
    case text:
      return "string";
    case boolean:
      return "boolean";
    case integer:
    case real:
      return "number";
    case duration:
      return "duration";
    case list:
      return "list of strings";
    case map:
      return "map of strings";
    case block:
      return "block";
  }
  return "";
}

struct ShowDefault {
  std::string operator()(std::monostate) const { return {}; }

  std::string operator()(const std::string* text) const {
    return text->empty() ? std::string{} : '"' + *text + '"';
  }

  std::string operator()(const bool* flag) const { return *flag ? "true" : "false"; }

  std::string operator()(const std::int64_t* number) const { return std::to_string(*number); }

  std::string operator()(const double* number) const { return fmt::format("{}", *number); }

  std::string operator()(const nomad::Nanoseconds* duration) const {
    return '"' + nomad::format_duration(*duration) + '"';
  }

  std::string operator()(const std::vector<std::string>*) const { return {}; }

  std::string operator()(const nomad::config::TextMap*) const { return {}; }
};

std::string fallback_of(const nomad::config::Key& key) {
  nomad::config::AgentConfig config;
  // Of drivers' settings their drivers know what holds unless they are set.
  if (key.member == nullptr || key.path.starts_with("plugin.")) return {};
  return std::visit(ShowDefault{}, key.member(config, "example"));
}

/// The paths of what stands in a body, with the label of a block as one more step.
void add_paths(std::vector<std::string>& paths,
               const nomad::hcl::BodyNode& body,
               const std::string& before) {
  for (const auto& attribute : body.attributes)
    paths.push_back(before + std::string{attribute.name});
  for (const auto* block : body.blocks) {
    auto path = before + std::string{block->type};
    for (const auto label : block->labels)
      path.append(".").append(label);
    const auto* key = nomad::config::find_key(path);
    if (key != nullptr && key->kind == nomad::config::Kind::map)
      paths.push_back(path);
    else
      add_paths(paths, *block->body, path + '.');
  }
}

constexpr std::string_view agent_head = R"(# Agent configuration

Every block of a configuration file with an example that has all its keys, and below it a table of types and defaults. Made by `./dev docs` of
`docs/reference/agent.hcl`, whose examples are read by the suite, and of the table by which configuration files are read. Keys of Nomad's that
have no effect here are in [compatibility](compatibility.md).

`nomadctl agent -config FILE|FOLDER` reads files in HCL or JSON; what stands in later ones, and in flags, counts more. `nomadctl config
validate` reads them without an agent. A duration is a text such as `"1h30m"`.
)";

std::string agent_page(const std::vector<Section>& sections) {
  std::string page{agent_head};
  std::set<const nomad::config::Key*> shown;
  bool failed = false;
  const auto tell = [&failed](const std::string& text) {
    std::cerr << text << '\n';
    failed = true;
  };
  for (const Section& section : sections) {
    const auto read = nomad::config::with_file_text({}, section.title, section.example);
    if (!read) tell(section.title + ": " + read.error().what);
    if (read)
      for (const auto& warning : read->warnings)
        tell(section.title + ": " + warning);
    std::vector<std::string> paths;
    add_paths(paths, *nomad::hcl::parse(section.title, section.example).file->body(), "");
    std::string rows;
    for (const auto& path : paths) {
      const auto* key = nomad::config::find_key(path);
      if (key == nullptr || !shown.insert(key).second) continue;
      auto note = std::string{key->note};
      if (nomad::config::is_reloadable(key->path))
        note += note.empty() ? "SIGHUP takes it over" : "; SIGHUP takes it over";
      rows += row(key->path, type_of(*key), fallback_of(*key), note);
    }
    page += start_of(section) + table_of(rows);
  }
  for (const auto& key : nomad::config::keys())
    if (key.member != nullptr && !shown.contains(&key)) tell("no example has " + key.path);
  return failed ? std::string{} : page;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || (std::string_view{argv[1]} != "job" && std::string_view{argv[1]} != "agent")) {
    std::cerr << "usage: reference job|agent EXAMPLES PAGE [-write]\n";
    return 2;
  }
  const auto sections = sections_of(read_page(argv[2]));
  const auto page = std::string_view{argv[1]} == "job" ? job_page(sections) : agent_page(sections);
  return page.empty() ? 1 : keep_page(argv[3], page, argc > 4);
}
