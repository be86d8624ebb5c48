#include "cli/job/job_file.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <sodium/randombytes.h>

#include "cli/output/layout.hpp"
#include "runtime/hcl/functions/functions.hpp"
#include "runtime/host/process/spawn.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/object/flat_json.hpp"

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{16} << 20;

Result<std::string> read_stream(std::istream& in, const std::string& name) {
  std::string text;
  char piece[65'536];
  while (in.read(piece, sizeof piece) || in.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(in.gcount()));
    if (text.size() > most_bytes)
      return Error{Errc::too_large, fmt::format("{}: larger than 16 MiB", name)};
  }
  return text;
}

Result<std::string> read_text(const std::string& path) {
  if (path == "-") return read_stream(std::cin, "stdin");
  std::error_code failure;
  if (fs::is_directory(path, failure))
    return Error{Errc::io, fmt::format("read {}: is a directory", path)};
  std::ifstream file{path, std::ios::binary};
  if (!file) return errno_error(fmt::format("open {}", path), errno);
  return read_stream(file, path);
}

/// The file functions of the job language, as the user who runs the command sees the disk.
hcl::FileAccess local_files() {
  hcl::FileAccess access;
  access.read = [](std::string_view path) { return read_text(std::string{path}); };
  access.exists = [](std::string_view path) -> Result<bool> {
    std::error_code failure;
    return fs::is_regular_file(path, failure);
  };
  access.absolute = [](std::string_view path) -> Result<std::string> {
    std::error_code failure;
    auto absolute = fs::absolute(path, failure).lexically_normal().string();
    if (failure) return Error{Errc::io, failure.message()};
    return absolute;
  };
  access.expand_home = [](std::string_view path) -> Result<std::string> {
    const char* home = std::getenv("HOME");
    if (!path.starts_with('~') || home == nullptr) return std::string{path};
    return home + std::string{path.substr(1)};
  };
  return access;
}

Result<JobFile> from_json_text(const std::string& text) {
  const auto json = FlatJson::read(text);
  if (!json) return json.error().within("Failed to parse JSON job");
  if (!json->root().is(JsonKind::object))
    return Error{Errc::invalid_argument, "Failed to parse JSON job: expected an object"};
  const JsonNode* job = &json->root();
  for (const auto member : json->root().members())
    if (member.key == "Job" && member.value.is(JsonKind::object)) job = &member.value;
  auto draft = NOMAD_TRY(jobspec::JobDraft::decode(*job));
  JobFile file;
  file.job = jobspec::tree_of(draft.job(), jobspec::block_types().job);
  file.submission = boost::json::object{{"Source", text}, {"Format", "json"}};
  return file;
}

}  // namespace

void JobFileFlags::add_to(Arguments& arguments) {
  arguments.flag("json", json, "The file is a job in JSON.");
  arguments.flag("hcl1", hcl1, "Refused: HCL1 job files are not read.");
  arguments.flag("hcl2-strict", strict, "Whether a variable that is not declared is an error.");
  arguments.option("var", variables, "A variable's value, name=value; may stand several times.");
  arguments.option("var-file", variable_files, "A file with variables; may stand several times.");
}

Result<JobFile> read_job_file(const std::string& path, const JobFileFlags& flags) {
  if (flags.hcl1)
    return Error{Errc::invalid_argument, "HCL1 job files are not read; use HCL2 or -json"};
  auto text
      = NOMAD_TRY(read_text(path).within(fmt::format("Error getting jobfile from \"{}\"", path)));
  if (flags.json) return from_json_text(text);
  const auto files = local_files();
  const auto functions
      = hcl::job_functions({.files = &files, .random = [](std::array<std::uint8_t, 16>& bytes) {
                              randombytes_buf(bytes.data(), bytes.size());
                            }});
  jobspec::ParseOptions options;
  options.functions = &functions;
  options.strict = flags.strict;
  options.environment = host::own_environment();
  std::string variables;
  for (const auto& name : flags.variable_files) {
    auto content = NOMAD_TRY(read_text(name));
    variables += content + '\n';
    options.var_files.push_back({name, std::move(content)});
  }
  // What the job was made of is kept with it: values of the environment, over which flags go, and
  // the files' text.
  boost::json::object variable_flags;
  constexpr std::string_view prefix = "NOMAD_VAR_";
  for (const auto& entry : options.environment)
    if (const auto equals = entry.find('=');
        entry.starts_with(prefix) && equals != std::string::npos && equals > prefix.size())
      variable_flags[entry.substr(prefix.size(), equals - prefix.size())]
          = entry.substr(equals + 1);
  for (const auto& given : flags.variables) {
    const auto equals = given.find('=');
    if (equals == std::string::npos)
      return Error{Errc::invalid_argument, fmt::format("-var {}: expected name=value", given)};
    options.variables.emplace_back(given.substr(0, equals), given.substr(equals + 1));
    variable_flags[given.substr(0, equals)] = given.substr(equals + 1);
  }
  const std::string name = path == "-" ? "stdin" : fs::path{path}.filename().string();
  auto parsed = jobspec::parse_job(name, text, options);
  if (!parsed.ok()) {
    hcl::RenderOptions style;
    // On, it is for a terminal, and stderr may be none; or it is forced.
    style.color = color_enabled() && (isatty(STDERR_FILENO) == 1 || isatty(STDOUT_FILENO) == 0);
    auto rendered = hcl::render(parsed.diagnostics, style);
    while (rendered.ends_with('\n'))
      rendered.pop_back();
    return Error{Errc::invalid_argument, fmt::format("Error parsing job file from {}:\n{}", path,
                                                     rendered.empty() ? parsed.error : rendered)};
  }
  JobFile file;
  file.job = std::move(parsed.job);
  file.submission = boost::json::object{{"Source", text},
                                        {"Format", "hcl2"},
                                        {"VariableFlags", std::move(variable_flags)},
                                        {"Variables", std::move(variables)}};
  for (const auto& diagnostic : parsed.diagnostics)
    file.warnings.push_back(diagnostic.to_string());
  return file;
}

}  // namespace nomad::cli
