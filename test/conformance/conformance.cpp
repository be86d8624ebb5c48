// Job files with the answers of the real parser: each file accepted must give the expected job,
// each file rejected must be rejected at the expected position.
//
// A folder of cases has, for each case NAME, the files
//   NAME.nomad.hcl      the job file
//   NAME.json           accepted: the canonical job
//   NAME.err            rejected: the answer's text; several right ones are separated by a line
//                       "----- or -----"
//   NAME.varfile.hcl    values for its variables, as a var file
//   NAME.vars           the same, one name=value per line; NAME.output.json is the job then, not
//                       canonical
// What Nomad 1.6 refuses and its later releases take, and so do we, stands in `later_forms`.
// Two folders are run: the project's own cases, and a corpus that is found by the environment's
// NOMADCTL_CORPUS, else beside the source tree; absent, it counts as skipped. Arguments choose
// cases by a part of their names; with -v differences of wording are shown, which do not count.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"

namespace {

namespace fs = std::filesystem;
using boost::json::value;
using nomad::jobspec::ParsedJob;
using nomad::jobspec::ParseOptions;

constexpr std::string_view job_suffix = ".nomad.hcl";
constexpr std::string_view answer_prefix = "Failed to parse job: ";
constexpr std::string_view variant_line = "\n----- or -----\n";

/// Cases that Nomad 1.6 refuses because of what is of a later release: they must be accepted.
constexpr std::array<std::string_view, 9> later_forms{
    "154-immich",                       // actions (1.7)
    "331-traefik",                      // change_mode of an identity (1.7)
    "339-godad",                        // actions
    "381-own-nomad-18-ui-block",        // the ui block (1.8)
    "452-dotnet-api",                   // the ui block
    "462-own-nomad-17-two-identities",  // identities with names (1.7)
    "later-actions",                    // commands that users run by a name (1.7)
    "later-disconnect",                 // what becomes of allocations whose client is away (1.8)
    "later-ui",                         // what the web UI shows of a job (1.8)
};

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

fs::path corpus_folder() {
  if (const char* given = std::getenv("NOMADCTL_CORPUS")) return given;
  return fs::path{NOMADCTL_SOURCE_ROOT}.parent_path() / "shared/corpus/jobspec";
}

double real(const value& number) {
  if (number.is_double()) return number.get_double();
  return number.is_int64() ? static_cast<double>(number.get_int64())
                           : static_cast<double>(number.get_uint64());
}

/// "" when they are equal, else where and how they differ.
std::string difference(const value& expected, const value& given, const std::string& path) {
  if (expected.is_object() && given.is_object()) {
    for (const auto& member : expected.get_object()) {
      const std::string at = path + "." + std::string{member.key()};
      const value* found = given.get_object().if_contains(member.key());
      if (found == nullptr) return at + " is missing";
      if (std::string where = difference(member.value(), *found, at); !where.empty()) return where;
    }
    for (const auto& member : given.get_object())
      if (!expected.get_object().contains(member.key()))
        return path + "." + std::string{member.key()} + " should not be there";
    return {};
  }
  if (expected.is_array() && given.is_array()) {
    const auto& wanted = expected.get_array();
    const auto& got = given.get_array();
    if (wanted.size() != got.size())
      return path + " has " + std::to_string(got.size()) + " elements instead of "
             + std::to_string(wanted.size());
    for (std::size_t at = 0; at < wanted.size(); ++at)
      if (std::string where
          = difference(wanted[at], got[at], path + "[" + std::to_string(at) + "]");
          !where.empty())
        return where;
    return {};
  }
  const bool equal = expected.is_number() && given.is_number() ? real(expected) == real(given)
                                                               : expected == given;
  return equal ? ""
               : path + " is " + boost::json::serialize(given) + " instead of "
                     + boost::json::serialize(expected);
}

/// The position a message starts with: "input.hcl:3,5-8"; "<nil>" when it has none.
std::string position(std::string_view message) {
  if (message.starts_with(answer_prefix)) message.remove_prefix(answer_prefix.size());
  return std::string{message.substr(0, message.find(": "))};
}

std::vector<std::string> variants(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(variant_line, at), text.size());
    std::string one{text.substr(at, end - at)};
    while (one.ends_with('\n'))
      one.pop_back();
    out.push_back(std::move(one));
    at = end + variant_line.size();
  }
  return out;
}

class Runner {
public:
  explicit Runner(bool verbose) : verbose_{verbose} {}

  void run(const fs::path& base) {
    const std::string name = base.filename();
    const std::optional<std::string> text = read_file(base.string() + std::string{job_suffix});
    if (!text) return report(name, "cannot be read");
    ParseOptions options;
    options.var_content = read_file(base.string() + ".varfile.hcl").value_or("");
    ParsedJob parsed = nomad::jobspec::parse_job("input.hcl", *text, options);
    if (const auto expected = read_file(base.string() + ".json")) {
      report(name, compare(*expected, canonical(std::move(parsed)), false));
    } else if (const auto refused = read_file(base.string() + ".err")) {
      report(name, compare_refusal(name, *refused, parsed));
    } else {
      report(name, "has no expectation");
    }
    if (const auto values = read_file(base.string() + ".vars")) run_with(base, *text, *values);
  }

  /// All chosen cases of a folder.
  void run_folder(const fs::path& folder, const std::vector<std::string>& chosen) {
    std::vector<fs::path> cases;
    std::error_code absent;
    for (const fs::directory_entry& entry : fs::directory_iterator{folder, absent}) {
      const std::string file = entry.path().filename();
      const auto in_name = [&](const std::string& part) { return file.find(part) != file.npos; };
      if (file.ends_with(job_suffix)
          && (chosen.empty() || std::any_of(chosen.begin(), chosen.end(), in_name)))
        cases.push_back(folder / file.substr(0, file.size() - job_suffix.size()));
    }
    if (absent) {
      std::cout << "no cases at " << folder.string() << "\n";
      ++skipped_;
    }
    std::sort(cases.begin(), cases.end());
    for (const fs::path& base : cases)
      run(base);
  }

  int finish() const {
    if (wordings_ > 0) std::cout << wordings_ << " refusals differ in wording only\n";
    std::cout << passed_ << " passed, " << failed_ << " failed, " << skipped_ << " skipped\n";
    return failed_ == 0 ? 0 : 1;
  }

private:
  void run_with(const fs::path& base, const std::string& text, const std::string& values) {
    ParseOptions options;
    options.strict = true;
    std::istringstream lines{values};
    for (std::string line; std::getline(lines, line);)
      if (const std::size_t equals = line.find('='); equals != std::string::npos)
        options.variables.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    const ParsedJob parsed = nomad::jobspec::parse_job("input.hcl", text, options);
    const auto expected = read_file(base.string() + ".output.json");
    report(base.filename().string() + " with -var",
           expected ? compare(*expected, parsed, true) : "has no expectation");
  }

  static ParsedJob canonical(ParsedJob parsed) {
    if (!parsed.ok()) return parsed;
    auto job = nomad::jobspec::canonical_tree(parsed.job);
    if (job.has_error()) {
      parsed.error = job.error().what;
      return parsed;
    }
    parsed.job = std::move(*job);
    nomad::jobspec::complete(parsed.job);
    return parsed;
  }

  static std::string compare(const std::string& expected, const ParsedJob& parsed, bool wrapped) {
    if (!parsed.ok()) return "was refused: " + parsed.error;
    const value tree = boost::json::parse(expected);
    return difference(wrapped ? tree.at("Job") : tree, parsed.job, "");
  }

  std::string compare_refusal(const std::string& name,
                              const std::string& expected,
                              const ParsedJob& parsed) {
    if (std::find(later_forms.begin(), later_forms.end(), name) != later_forms.end())
      return parsed.ok() ? "" : "was refused: " + parsed.error;
    if (parsed.ok()) return "was accepted";
    const std::string given = std::string{answer_prefix} + parsed.error;
    const std::vector<std::string> right = variants(expected);
    if (std::find(right.begin(), right.end(), given) != right.end()) return {};
    const bool same_position = std::any_of(right.begin(), right.end(), [&](const auto& text) {
      return position(text) == position(given);
    });
    if (!same_position) return "was refused with\n  " + given + "\ninstead of\n  " + right.front();
    ++wordings_;
    if (verbose_)
      std::cout << name << " differs in wording:\n  " << given << "\n  " << right.front() << "\n";
    return {};
  }

  void report(const std::string& name, const std::string& wrong) {
    ++(wrong.empty() ? passed_ : failed_);
    if (!wrong.empty()) std::cout << name << ": " << wrong << "\n";
  }

  bool verbose_;
  int passed_ = 0;
  int failed_ = 0;
  int skipped_ = 0;
  int wordings_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> chosen{argv + 1, argv + argc};
  const auto flag = std::find(chosen.begin(), chosen.end(), "-v");
  const bool verbose = flag != chosen.end();
  if (verbose) chosen.erase(flag);

  Runner runner{verbose};
  runner.run_folder(fs::path{NOMADCTL_SOURCE_ROOT} / "test/data/jobspec/parse", chosen);
  runner.run_folder(corpus_folder(), chosen);
  return runner.finish();
}
