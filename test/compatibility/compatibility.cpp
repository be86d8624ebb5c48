// docs/compatibility.md: what of Nomad's files this release carries out, made from the tables by
// which it reads them. Called with the page's path it fails if the page is not current; with
// -write it makes it so.
#include <algorithm>
#include <deque>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/config/keys.hpp"
#include "runtime/config/reload.hpp"
#include "runtime/jobspec/schema.hpp"
#include "test/compatibility/later_releases.hpp"
#include "test/compatibility/pages.hpp"

namespace {

using nomad::config::Key;
using nomad::config::KeyState;
using nomad::jobspec::BlockType;
using nomad::jobspec::Field;
using nomad::jobspec::Support;
using nomad::jobspec::Trait;

constexpr std::string_view head = R"(# Compatibility

What of Nomad 1.6's job files and configuration files this release carries out. Made by `./dev docs` from the tables by
which the files are read (`schema/job.capnp`, `runtime/config/keys.def`); a test fails when it is not current.

| state | what happens |
|---|---|
| works | what happens in Nomad |
| partly | the same, but for what is said beside it |
| warning | it has no effect yet. Jobs: registering, planning and validating say so. Configuration: the agent's log does when it starts |
| error | it has no effect yet, and ignoring it would be wrong: tasks would run without what they need, or an agent would be less safe than it was told to be. Such a job is not registered, such an agent does not start |

A value that says what holds anyway (`false`, an empty text, a default) is neither warned of nor refused. What stands in
a block that is a warning or an error is not listed, unless it is an error where its block is a warning. Any other name
that is not in these tables is unknown, which is an error in a file; jobs in JSON may have unknown names, which are
ignored as in Nomad. Parsing alone (`/v1/jobs/parse`) judges nothing. What releases after 1.6 have stands [at the end](#later-releases).

To move jobs over in stages, `server { allow_unsupported_blocks = true }` makes warnings of the errors of jobs; it has to
be set on all servers. Jobs that are registered already run on as they are, whatever a later release thinks of them.

A directory of an allocation is listed in pages of at most 50,000 files (`/v1/client/fs/ls`, an array as in Nomad): `per_page` asks for
fewer, `X-Nomad-NextToken` names what follows, and `next_token` asks for it. Nomad answers with all files at once. Of more than a
million it is an error.

## Job files
)";

std::string row(std::string_view name, std::string_view state, std::string_view note) {
  return fmt::format("| {} | {} | {} |\n", name, state, note);
}

std::string_view word(Support support) {
  switch (support) {
    case Support::unsaid:
      break;
    case Support::works:
      return "works";
    case Support::partly:
      return "partly";
    case Support::unheeded:
      return "warning";
    case Support::refused:
      return "error";
  }
  return "";
}

/// Blocks that have a table, each with the path at which it stands: one of those of fewest steps.
using Homes = std::map<const BlockType*, std::string>;

std::string path_of(const std::string& block, const Field& field) {
  return block + " > " + std::string{field.hcl};
}

bool has_row(const Field& field) {
  return !field.hcl.empty() && field.support != Support::unsaid;
}

/// Whether its block is looked into.
bool is_entered(const Field& field) {
  return field.block != nullptr && !field.hcl.empty() && field.support != Support::refused;
}

Homes find_homes(const BlockType& root) {
  Homes homes{{&root, "job"}};
  std::deque<const BlockType*> next{&root};
  for (; !next.empty(); next.pop_front())
    for (const Field& field : next.front()->fields)
      if (is_entered(field)
          && homes.emplace(field.block, path_of(homes.at(next.front()), field)).second)
        next.push_back(field.block);
  std::erase_if(homes,
                [](const auto& home) { return std::ranges::none_of(home.first->fields, has_row); });
  return homes;
}

/// What is said of a field that stands in the block `path`.
std::string note_of(const Field& field, const std::string& path, const Homes& homes) {
  if (field.support == Support::refused && field.note.empty())
    return "as in every Nomad that is not Enterprise";
  std::string note{field.note};
  for (const auto& value : field.only)
    note += fmt::format("; `\"{}\"` works", value);
  const auto home = is_entered(field) ? homes.find(field.block) : homes.end();
  if (home != homes.end() && home->second != path_of(path, field))
    note += fmt::format("{}as in {}", note.empty() ? "" : "; ", home->second);
  return note;
}

/// The tables of a block and of those in it, each once.
void append_block(std::string& page,
                  const BlockType& type,
                  const std::string& path,
                  const Homes& homes) {
  if (const auto home = homes.find(&type); home != homes.end()) {
    if (home->second != path) return;
    page += fmt::format("\n### {}\n\n| name | state | |\n|---|---|---|\n", path);
  }
  for (const Field& field : type.fields)
    if (has_row(field))
      page += row(fmt::format("`{}{}`", field.hcl, field.block != nullptr ? " {}" : ""),
                  word(field.support), note_of(field, path, homes));
  for (const Field& field : type.fields)
    if (is_entered(field)) append_block(page, *field.block, path_of(path, field), homes);
}

/// Blocks of which the page would say that they work while nothing in them does.
void add_contradictions(std::vector<std::string>& found,
                        const BlockType& type,
                        const std::string& path,
                        const Homes& homes) {
  if (const auto home = homes.find(&type); home == homes.end() || home->second != path) return;
  for (const Field& field : type.fields) {
    if (!is_entered(field)) continue;
    const auto& parts = field.block->fields;
    if (field.support == Support::works && std::ranges::any_of(parts, has_row)
        && std::ranges::none_of(parts, [](const Field& part) {
             return part.support == Support::works || part.support == Support::partly;
           }))
      found.push_back(path_of(path, field));
    add_contradictions(found, *field.block, path_of(path, field), homes);
  }
}

std::string_view word(KeyState state) {
  switch (state) {
    case KeyState::works:
      return "works";
    case KeyState::partly:
      return "partly";
    case KeyState::unheeded:
      return "warning";
    case KeyState::refused:
      return "error";
  }
  return "";
}

void append_keys(std::string& page) {
  std::string section = "-";
  for (const Key& key : nomad::config::keys()) {
    const auto dot = key.path.find('.');
    const auto block = dot == key.path.npos ? std::string{} : key.path.substr(0, dot);
    if (block != section)
      page += fmt::format("\n### {}\n\n| key | state | |\n|---|---|---|\n",
                          block.empty() ? "outside of blocks" : block);
    section = block;
    auto note = std::string{key.note};
    if (!key.idle.empty()) note += fmt::format("; `{}` is not told of", key.idle);
    if (nomad::config::is_reloadable(key.path))
      note += note.empty() ? "SIGHUP takes it over" : "; SIGHUP takes it over";
    page += row(fmt::format("`{}`", key.path), word(key.state), note);
  }
}

std::string make_page() {
  std::string page{head};
  const BlockType& job = nomad::jobspec::block_types().job;
  append_block(page, job, "job", find_homes(job));
  page += "\n## Configuration files\n\nA star stands for a label. Lists of several files add up, and a switch that is on "
          "stays on, as in Nomad.\n";
  append_keys(page);
  page += later_releases;
  return page;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: compatibility PAGE [-write]\n";
    return 2;
  }
  const BlockType& job = nomad::jobspec::block_types().job;
  std::vector<std::string> contradictions;
  add_contradictions(contradictions, job, "job", find_homes(job));
  for (const std::string& path : contradictions)
    std::cerr << path << " is said to work, but nothing in it does\n";
  if (!contradictions.empty()) return 1;
  return keep_page(argv[1], make_page(), argc > 2);
}
