#include "runtime/network/cni_fingerprint.hpp"

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>

#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/fingerprint/program_answers.hpp"
#include "runtime/host/process/run_program.hpp"

namespace nomad::network {
namespace {

constexpr std::chrono::seconds version_patience{3};
constexpr std::size_t most_plugins = 64;

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const auto colon = path.find(':');
    if (colon != 0) parts.emplace_back(path.substr(0, colon));
    path = colon == path.npos ? std::string_view{} : path.substr(colon + 1);
  }
  return parts;
}

/// By name; of two of a name the first, which is the one that is run.
std::map<std::string, std::string> plugins_in(std::string_view path) {
  std::map<std::string, std::string> programs;
  for (const auto& directory : split_path(path))
    for (const auto& name : names_in(std::string{directory}).value_or(std::vector<std::string>{})) {
      auto program = host::find_program(name, directory);
      if (!program.empty() && programs.size() < most_plugins)
        programs.emplace(name, std::move(program));
    }
  return programs;
}

Result<> read_plugins(const host::FingerprintOptions& options, host::NodeFacts& facts) {
  host::ProgramAnswers answers{options.cache_dir};
  const auto tell = [&facts](const std::string& name, const Result<host::ProgramEnded>& ended) {
    if (!ended || ended->exit_code != 0) return;
    if (auto version = version_in(ended->output + ' ' + ended->errors))
      facts.attributes["plugins.cni.version." + name] = std::move(*version);
  };
  std::map<std::string, std::future<Result<host::ProgramEnded>>> asked;
  for (const auto& [name, program] : plugins_in(options.cni_path)) {
    const host::ProgramRun question{.program = program,
                                    .arguments = {},
                                    .environment = {fmt::format("PATH={}", host::system_path)},
                                    .timeout = version_patience,
                                    .max_output = 64UL << 10};
    if (const auto known = answers.find(question))
      tell(name, *known);
    else
      asked.emplace(name, std::async(std::launch::async,
                                     [&answers, question] { return answers.ask(question); }));
  }
  for (auto& [name, answer] : asked)
    tell(name, answer.get());
  if (const auto saved = answers.save(); !saved)
    log::debug("client.fingerprint", "CNI plugins are asked again at the next start",
               {{"error", saved.error()}});
  return {};
}

}  // namespace

std::optional<std::string> version_in(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  for (auto begin = text.find_first_not_of(blanks); begin != text.npos;) {
    const auto end = std::min(text.find_first_of(blanks, begin), text.size());
    auto word = text.substr(begin, end - begin);
    begin = text.find_first_not_of(blanks, end);
    auto digits = word.starts_with('v') ? word.substr(1) : word;
    const auto core = digits.substr(0, digits.find_first_of("-+"));
    const bool fits
        = !core.empty() && core.front() != '.' && core.back() != '.' && core.find("..") == core.npos
          && std::ranges::all_of(core, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    if (fits) return std::string{word};
  }
  return std::nullopt;
}

host::NamedFingerprinter cni_plugins_fingerprinter() {
  return {.name = "plugins_cni", .run = read_plugins};
}

}  // namespace nomad::network
