#include "actors/client/drivers/machine_programs.hpp"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/host/fingerprint/program_answers.hpp"

namespace nomad::client {

Result<std::string> find_machine_program(std::string_view name) {
  const char* own = std::getenv("PATH");
  const std::string path = own != nullptr && *own != '\0' ? own : std::string{host::system_path};
  const auto found = host::find_program(name, path);
  if (found.empty())
    return Error{Errc::not_found, fmt::format("executable \"{}\" not found in {}", name, path)};
  std::error_code failure;
  const auto real = std::filesystem::canonical(found, failure);
  return failure ? found : real.string();
}

Result<std::string> ask_machine_program(const std::string& cache_dir,
                                        const std::string& program,
                                        const std::vector<std::string>& arguments) {
  const auto ended = NOMAD_TRY(
      host::program_answer(cache_dir, {.program = program,
                                       .arguments = arguments,
                                       .environment = {fmt::format("PATH={}", host::system_path)},
                                       .timeout = std::chrono::seconds{15},
                                       .max_output = 64UL << 10}));
  if (ended.exit_code != 0)
    return Error{Errc::rejected, fmt::format("{} ended with code {}: {}", program, ended.exit_code,
                                             ended.errors.substr(0, 200))};
  return ended.output + ended.errors;
}

}  // namespace nomad::client
