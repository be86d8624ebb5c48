// How the sample plugin misbehaves, and what it writes of each call.
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <thread>

#include <unistd.h>

#include "runtime/csi/sample/options.hpp"

namespace nomad::csi::sample {

std::string Manners::wanted(const std::string& method) const {
  if (options_.misbehave.empty()) return {};
  std::ifstream file{options_.misbehave};
  for (std::string line; std::getline(file, line);)
    if (line.rfind(method + ' ', 0) == 0) return line.substr(method.size() + 1);
  return {};
}

bool Manners::is(const std::string& method, const std::string& manner) const {
  return wanted(method) == manner;
}

grpc::Status Manners::call(const std::string& method,
                           const std::string& words,
                           const std::function<bool()>& is_over,
                           const std::function<grpc::Status()>& work) {
  const auto manner = wanted(method);
  {
    const std::lock_guard lock{guard_};
    if (!options_.log.empty())
      std::ofstream{options_.log, std::ios::app} << method << ' ' << words << std::endl;
  }
  if (manner == "die") ::_exit(7);
  while (manner == "hang" && !is_over())
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  if (manner == "hang") return {grpc::StatusCode::CANCELLED, "nobody waits any more"};
  if (manner.rfind("fail ", 0) == 0) {
    std::istringstream rest{manner.substr(5)};
    int code = 0;
    rest >> code >> std::ws;
    std::string why;
    std::getline(rest, why);
    return {static_cast<grpc::StatusCode>(code), why};
  }
  const std::lock_guard lock{guard_};
  try {
    auto status = work();
    if (manner == "die-after") ::_exit(7);
    return status;
  } catch (const std::exception& failure) {
    return {grpc::StatusCode::INTERNAL, failure.what()};
  }
}

}  // namespace nomad::csi::sample
