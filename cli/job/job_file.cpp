#include "cli/job/job_file.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <sodium/randombytes.h>

#include "cli/input.hpp"
#include "cli/job/local_files.hpp"
#include "cli/output/layout.hpp"
#include "cli/programs.hpp"
#include "runtime/artifact/fetch_pool.hpp"
#include "runtime/hcl/functions/functions.hpp"
#include "runtime/host/process/spawn.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/object/flat_json.hpp"

namespace nomad::cli {
namespace {

/// Whether it has to be fetched, as an artifact would be: by an address, or a forced way
/// ("git::…").
bool is_remote(const std::string& path) {
  return path.find("://") != std::string::npos || path.find("::") != std::string::npos;
}

/// What nomadctl-artifact fetches of it, in a directory of its own.
Result<std::string> fetch(const std::string& source) {
  std::error_code missing;
  const auto temporary = std::filesystem::temp_directory_path(missing);
  if (missing) return errno_error("temporary directory", missing.value());
  std::string folder = (temporary / "nomadctl-job-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return errno_error("create " + folder, errno);
  const std::shared_ptr<void> removed{nullptr, [&](void*) {
                                        std::error_code failure;
                                        std::filesystem::remove_all(folder, failure);
                                      }};
  artifact::FetchPool pool{
      {.program = NOMAD_TRY(find_program("nomadctl-artifact", "../runtime/artifact/fetcher")),
       .limits = {.http_max_bytes = most_job_file_bytes},
       .reach = {.link_local = true, .agent = true},
       .disable_filesystem_isolation = true}};  // it is the user's own, with the user's rights
  host::UniqueFd directory{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!directory) return errno_error("open " + folder, errno);
  if (::geteuid() == 0 && ::fchown(directory.get(), pool.uid(), pool.gid()) != 0)
    return errno_error("chown " + folder, errno);
  std::promise<Result<artifact::FetchDone>> outcome;
  pool.start({.source = source, .mode = "file", .directory = std::move(directory)},
             {.progress = [](const artifact::FetchProgress&) {},
              .done = [&](const Result<artifact::FetchDone>& done) { outcome.set_value(done); }});
  NOMAD_TRY(outcome.get_future().get());
  return read_input(fmt::format("{}/{}", folder, artifact::result_name), most_job_file_bytes);
}

Result<std::string> read_source(const std::string& path) {
  std::error_code failure;
  if (is_remote(path) && !std::filesystem::exists(path, failure)) return fetch(path);
  return read_input(path, most_job_file_bytes);
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

/// All that is wrong with a file, as it is shown to people.
Error parse_error(const jobspec::ParsedJob& parsed,
                  const std::string& path,
                  const std::string& name,
                  const std::string& text,
                  bool is_hcl1) {
  hcl::RenderOptions style;
  // On, it is for a terminal, and stderr may be none; or it is forced.
  style.color = color_enabled() && (takes_color(STDERR_FILENO) || isatty(STDOUT_FILENO) == 0);
  auto rendered = hcl::render(parsed.diagnostics, style);
  while (rendered.ends_with('\n'))
    rendered.pop_back();
  if (rendered.empty()) rendered = parsed.error;
  jobspec::ParseOptions older;
  older.hcl1 = true;
  if (!is_hcl1 && jobspec::parse_job(name, text, older).ok())
    return {Errc::invalid_argument,
            as_called(
                "Failed to parse using HCL 2. Use the HCL 1 parser with `nomadctl job run -hcl1`, "
                "or address the following issues:\n")
                + rendered};
  return {Errc::invalid_argument,
          fmt::format("Error parsing job file from {}:\n{}", path, rendered)};
}

}  // namespace

std::string JobFile::text(std::string_view member) const {
  const auto* const value = job.if_contains(member);
  return value == nullptr ? std::string{} : View{*value}.text();
}

JobFileFlags::JobFileFlags(Arguments& arguments)
    : json{arguments.flag("json", "The file is a job in JSON.")},
      hcl1{arguments.flag("hcl1", "The file is HCL1, as before Nomad 1.0.")},
      strict{arguments.flag(
          "hcl2-strict", "Whether a variable that is not declared is an error.", true)},
      variables{arguments.list("var", "A variable's value, name=value; may stand several times.")},
      variable_files{
          arguments.list("var-file", "A file with variables; may stand several times.")} {}

void use_scope_of(const boost::json::object& job, CommonFlags& flags) {
  for (const auto& [name, flag] : {std::pair{"Region", &flags.region}, {"Namespace", &flags.ns}})
    if (const auto* const value = job.if_contains(name);
        value != nullptr && value->is_string() && !value->get_string().empty())
      *flag = View{*value}.text();
}

Result<JobFile> read_job_file(const std::string& path, const JobFileFlags& flags) {
  if (flags.hcl1 && flags.json)
    return Error{Errc::invalid_argument, "cannot parse job file as HCL and JSON"};
  if ((flags.hcl1 || flags.json) && !(flags.variables.empty() && flags.variable_files.empty()))
    return Error{Errc::invalid_argument,
                 fmt::format("cannot use variables with {}", flags.hcl1 ? "HCLv1" : "JSON files")};
  auto text
      = NOMAD_TRY(read_source(path).within(fmt::format("Error getting jobfile from \"{}\"", path)));
  if (flags.json) return from_json_text(text);
  const LocalFiles files;
  const auto functions
      = hcl::job_functions({.files = &files, .random = [](std::array<std::uint8_t, 16>& bytes) {
                              randombytes_buf(bytes.data(), bytes.size());
                            }});
  jobspec::ParseOptions options;
  options.functions = &functions;
  options.hcl1 = flags.hcl1;
  options.strict = flags.strict;
  options.environment = host::own_environment();
  std::string variables;
  for (const auto& name : flags.variable_files) {
    auto content = NOMAD_TRY(read_input(name, most_job_file_bytes));
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
  const std::string name = path == "-" ? "stdin" : std::filesystem::path{path}.filename().string();
  auto parsed = jobspec::parse_job(name, text, options);
  if (!parsed.ok()) return parse_error(parsed, path, name, text, flags.hcl1);
  JobFile file;
  file.job = std::move(parsed.job);
  if (flags.hcl1)
    file.submission = boost::json::object{{"Source", text}, {"Format", "hcl1"}};
  else
    file.submission = boost::json::object{{"Source", text},
                                          {"Format", "hcl2"},
                                          {"VariableFlags", std::move(variable_flags)},
                                          {"Variables", std::move(variables)}};
  for (const auto& diagnostic : parsed.diagnostics)
    file.warnings.push_back(diagnostic.to_string());
  return file;
}

}  // namespace nomad::cli
